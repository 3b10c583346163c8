#include "calibration/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "calibration/constants.hpp"
#include "calibration/error_table.hpp"
#include "models/log_time.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace tessera {

namespace {

const Family& row_of(const Recipe& recipe) {
  return families()[static_cast<std::size_t>(recipe.family)];
}

std::vector<Device> devices_of(const Dataset& data) {
  std::vector<Device> devices;
  for (const std::string& gpu : data.gpus) devices.push_back(derive_device(find_gpu(gpu)));
  return devices;
}

/// The analyses and their inputs, for some samples.
struct Analysed {
  std::vector<float> raw;
  std::vector<Runtime> ran;
  std::vector<KernelAnalysis> kernels;
  TrainingSet set;
};

Analysed analyse_all(const Recipe& recipe, const FamilyWeights& weights, const Dataset& data) {
  const Family& family = row_of(recipe);
  const std::vector<Device> devices = devices_of(data);
  Analysed out;
  out.set.inputs = static_cast<int>(family.inputs.size());
  for (const Sample& sample : data.samples) {
    const KernelAnalysis& a =
        out.kernels.emplace_back(family.analyse(sample.kernel, devices[sample.gpu], sample.context, weights));
    out.raw.insert(out.raw.end(), a.inputs.begin(), a.inputs.begin() + out.set.inputs);
    out.ran.push_back(sample.context.runtime);
    out.set.log_base.push_back(static_cast<float>(std::log(a.base.value())));
    out.set.log_floor.push_back(static_cast<float>(std::log(a.floor.value())));
    out.set.log_target.push_back(static_cast<float>(std::log(sample.time.value())));
  }
  return out;
}

TrainingSet training_set(const Analysed& analysed, const FamilyWeights& weights) {
  TrainingSet set = analysed.set;
  set.x = weights.net_inputs(analysed.raw, analysed.ran);
  set.optional_inputs = static_cast<int>(weights.runtime_inputs());
  set.inputs += set.optional_inputs;
  return set;
}

/// The family's own samples, thinned; those of `leave_out` no longer for fitting.
Dataset prepare(const Recipe& recipe, const Dataset& data, std::span<const std::string> leave_out) {
  const std::vector<Device> devices = devices_of(data);
  Dataset own{data.gpus, {}};
  for (Sample sample : data.samples) {
    if (family_of(sample.kernel, devices[sample.gpu]) != recipe.family) continue;
    if (std::ranges::find(leave_out, data.gpus[sample.gpu]) != leave_out.end()) sample.fit = false;
    own.samples.push_back(sample);
  }
  return thin(own, recipe.rows_per_group);
}

/// 0, 1, ... for the sessions that occur.
void number_sessions(const Dataset& data, TrainingSet& set) {
  std::map<std::pair<std::uint16_t, std::uint16_t>, std::uint16_t> numbers;
  for (const Sample& sample : data.samples) {
    const auto next = static_cast<std::uint16_t>(numbers.size());
    set.session.push_back(numbers.try_emplace({sample.gpu, sample.session}, next).first->second);
  }
}

/// Those that occur, in the order of the enum.
std::vector<Runtime> runtimes_of(const Dataset& data) {
  std::vector<Runtime> some;
  for (const Runtime runtime : kRuntimes) {
    const auto ran = [runtime](const Sample& s) { return s.context.runtime == runtime; };
    if (runtime != Runtime::unspecified && std::ranges::any_of(data.samples, ran)) some.push_back(runtime);
  }
  return some;
}

Dataset where(const Dataset& data, const std::function<bool(const Sample&)>& keep) {
  Dataset some{data.gpus, {}};
  std::ranges::copy_if(data.samples, std::back_inserter(some.samples), keep);
  return some;
}

double quantile(std::vector<double>& values, double q) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::ptrdiff_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + rank, values.end());
  return values[static_cast<std::size_t>(rank)];
}

/// Four digits: what a reader of the file needs.
double rounded(double value) {
  return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr);
}

std::vector<Recipe> chosen(const FitOptions& options) {
  std::vector<Recipe> some;
  std::vector<std::string> names;
  for (const Recipe& recipe : recipes()) names.emplace_back(row_of(recipe).name);
  for (const std::string& wanted : options.families) {
    if (std::ranges::find(names, wanted) == names.end()) {
      throw InputError(Diagnostic{.file = "--family",
                                  .message = fmt::format("unknown family '{}'{}; there are {}", wanted,
                                                         did_you_mean(wanted, names), fmt::join(names, ", "))});
    }
  }
  for (const Recipe& recipe : recipes()) {
    const bool all = options.families.empty();
    if (all || std::ranges::find(options.families, row_of(recipe).name) != options.families.end()) {
      some.push_back(recipe);
    }
  }
  return some;
}

std::string command_line(const FitOptions& options, std::string_view family) {
  std::string text = fmt::format("tessera calibrate --family {}", family);
  for (const std::string& gpu : options.leave_out) text += " --leave-out " + gpu;
  return text;
}

}  // namespace

FamilyWeights fit_family(const Recipe& recipe, const Dataset& data, std::span<const std::string> leave_out) {
  const Family& family = row_of(recipe);
  FamilyWeights weights = unfitted(family);
  const Dataset mine = where(data, [&](const Sample& s) {
    return s.fit && std::ranges::find(leave_out, data.gpus[s.gpu]) == leave_out.end();
  });
  if (recipe.fit_constants) {
    fit_constants(recipe, mine, weights);
    for (auto& [name, value] : weights.constants) value = rounded(value);
  }
  weights.runtimes = runtimes_of(mine);
  if (family.inputs.empty()) return weights;
  const Analysed analysed = analyse_all(recipe, weights, mine);
  weights.inputs = fit_ranges(analysed.raw, family.inputs);
  TrainingSet set = training_set(analysed, weights);
  if (recipe.session_offsets) number_sessions(mine, set);
  weights.nets = train_ensemble(set, recipe.train, recipe.members);
  round_weights(weights.nets);
  return weights;
}

void fit_seen_nets(const Recipe& recipe, const Dataset& data, FamilyWeights& weights) {
  if (recipe.seen_members == 0) return;
  const Analysed analysed = analyse_all(recipe, weights, where(data, &Sample::fit));
  weights.seen_nets = train_ensemble(training_set(analysed, weights), recipe.train_seen, recipe.seen_members);
  round_weights(weights.seen_nets);
}

std::vector<Residue> residues_of(const FamilyWeights& weights, const Recipe& recipe, const Dataset& data, bool seen) {
  const Analysed analysed = analyse_all(recipe, weights, data);
  const std::vector<NetAnswer> nets = weights.evaluate(analysed.raw, analysed.ran, seen);
  std::vector<Residue> residues;
  for (std::size_t i = 0; i < nets.size(); ++i) {
    const Sample& sample = data.samples[i];
    const NetAnswer net = analysed.kernels[i].corrected ? nets[i] : NetAnswer{};
    const double predicted = log_time(analysed.set.log_base[i], net.value, analysed.set.log_floor[i]);
    residues.push_back({sample.gpu, bar_inputs(analysed.kernels[i], predicted, net, sample.kernel.dtype),
                        analysed.set.log_target[i] - predicted});
  }
  return residues;
}

std::vector<LeftOut> errors_on(const FamilyWeights& weights, const Recipe& recipe, const Dataset& data,
                               std::string_view gpu, bool seen) {
  std::map<std::string, Dataset> per_op;
  for (const Sample& sample : data.samples) {
    if (data.gpus[sample.gpu] != gpu) continue;
    Dataset& own = per_op[fmt::format("{} {}{}", to_string(sample.kernel.op), to_string(sample.kernel.dtype),
                                      sample.fit ? "" : " (test)")];
    own.gpus = data.gpus;
    own.samples.push_back(sample);
  }
  std::vector<LeftOut> rows;
  for (const auto& [op, own] : per_op) {
    LeftOut row{Protocol::L, std::string(gpu), op, own.samples.size()};
    std::vector<double> magnitudes;
    for (const Residue& residue : residues_of(weights, recipe, own, seen)) {
      const double relative = std::exp(-residue.error) - 1;
      row.mean_error += std::abs(relative) / static_cast<double>(row.rows);
      row.bias += relative / static_cast<double>(row.rows);
      magnitudes.push_back(std::abs(relative));
    }
    row.median_error = rounded(quantile(magnitudes, 0.5));
    row.mean_error = rounded(row.mean_error);
    row.bias = rounded(row.bias);
    rows.push_back(std::move(row));
  }
  return rows;
}

void fit(const FitOptions& given) {
  FitOptions options = given;
  if (!options.progress) options.progress = [](std::string_view) {};
  for (const Recipe& recipe : chosen(options)) {
    const Family& family = row_of(recipe);
    options.progress(fmt::format("{}: reading {}", family.name, recipe.source));
    const Dataset data = prepare(recipe, recipe.load(options.data), options.leave_out);
    if (std::ranges::none_of(data.samples, &Sample::fit)) {
      throw InputError(
          Diagnostic{.file = "--leave-out", .message = fmt::format("leaves no row to fit {} on", family.name)});
    }
    options.progress(fmt::format("{}: fitting on {} rows", family.name,
                                 std::ranges::count_if(data.samples, [](const Sample& s) { return s.fit; })));
    FamilyWeights weights = fit_family(recipe, data, {});
    fit_seen_nets(recipe, data, weights);
    if (options.error_table) {
      fill_error_table(recipe, data, options, weights);
    } else {
      estimate_bars(recipe, data, weights);
    }
    weights.command = command_line(options, family.name);
    weights.data = recipe.source;
    write_weights(options.out / fmt::format("{}.json", family.name), weights);
  }
}

}  // namespace tessera
