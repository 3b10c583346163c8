#include "calibration/error_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

namespace tessera {

namespace {

constexpr double kUnseen = 2;
constexpr std::size_t kHeldOut = 5;  // one shape in

double rounded(double value) {
  return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr);
}

Bar rounded_bar(std::span<const Residue> residues, double factor = 1) {
  Bar bar = fit_bar(residues);
  for (double* v : {&bar.p10, &bar.p90, &bar.shared, &bar.own}) *v = rounded(*v * factor);
  for (double& v : bar.log_scale) v = rounded(v);
  return bar;
}

/// "Ampere" of "Ampere GA100".
std::string generation_of(const std::string& gpu) {
  const std::string architecture = find_gpu(gpu).architecture;
  return architecture.substr(0, architecture.find(' '));
}

class ErrorTable {
 public:
  ErrorTable(const Recipe& recipe, const Dataset& data, const FitOptions& options, FamilyWeights& weights)
      : recipe_(recipe), data_(data), options_(options), weights_(weights) {}

  void fill() {
    std::map<std::string, std::vector<std::string>> generations;
    for (const std::string& gpu : data_.gpus) generations[generation_of(gpu)].push_back(gpu);
    for (const auto& [name, gpus] : generations) leave_out(gpus);
    for (const std::string& gpu : data_.gpus) {
      if (!has(gpu, true) && !asked_for(gpu)) add_rows(weights_, data_, gpu, Protocol::N);
    }
    hold_out_shapes();
  }

 private:
  [[nodiscard]] bool asked_for(const std::string& gpu) const {
    return std::ranges::find(options_.leave_out, gpu) != options_.leave_out.end();
  }

  /// Whether it has rows, or rows to fit on.
  [[nodiscard]] bool has(const std::string& gpu, bool to_fit) const {
    return std::ranges::any_of(data_.samples,
                               [&](const Sample& s) { return data_.gpus[s.gpu] == gpu && (s.fit || !to_fit); });
  }

  template <class Keep>
  [[nodiscard]] Dataset where(Keep keep) const {
    Dataset some{data_.gpus, {}};
    std::ranges::copy_if(data_.samples, std::back_inserter(some.samples), keep);
    return some;
  }

  void leave_out(const std::vector<std::string>& mates) {
    const auto of_mates = [&](const Sample& s) { return std::ranges::find(mates, data_.gpus[s.gpu]) != mates.end(); };
    const Dataset own = where(of_mates);
    const bool others = std::ranges::any_of(data_.samples, [&](const Sample& s) { return s.fit && !of_mates(s); });
    if (own.samples.empty() || !others) return;
    const bool fitted = std::ranges::any_of(own.samples, &Sample::fit);
    const FamilyWeights without = fitted ? fit_family(recipe_, data_, mates) : weights_;
    for (const std::string& gpu : mates) add_rows(without, own, gpu, Protocol::L);
    for (const Residue& residue : residues_of(without, recipe_, own)) {
      if (!asked_for(data_.gpus[residue.gpu])) unseen_.push_back(residue);
    }
    if (!unseen_.empty()) weights_.unseen = rounded_bar(unseen_);
  }

  void hold_out_shapes() {
    const Dataset kept = where([](const Sample& s) { return s.fit && !held_out(s.kernel); });
    const Dataset asked = where([](const Sample& s) { return s.fit && held_out(s.kernel); });
    if (kept.samples.empty() || asked.samples.empty()) return;
    FamilyWeights fitted = fit_family(recipe_, kept, {});
    fit_seen_nets(recipe_, kept, fitted);
    for (const std::string& gpu : data_.gpus) add_rows(fitted, asked, gpu, Protocol::S);
    weights_.seen = rounded_bar(residues_of(fitted, recipe_, asked, true));
  }

  void add_rows(const FamilyWeights& used, const Dataset& data, const std::string& gpu, Protocol protocol) {
    for (LeftOut& row : errors_on(used, recipe_, data, gpu, protocol == Protocol::S)) {
      row.protocol = protocol;
      options_.progress(fmt::format("{} {} {}: {} rows, mean error {:.1f} %, median {:.1f} %, bias {:+.1f} %",
                                    weights_.family, to_string(protocol), gpu + " " + row.op, row.rows,
                                    100 * row.mean_error, 100 * row.median_error, 100 * row.bias));
      weights_.left_out.push_back(std::move(row));
    }
  }

  const Recipe& recipe_;
  const Dataset& data_;
  const FitOptions& options_;
  FamilyWeights& weights_;
  std::vector<Residue> unseen_;
};

}  // namespace

bool held_out(const Kernel& kernel) {
  return KernelHash{}(kernel) % kHeldOut == 0;
}

void fill_error_table(const Recipe& recipe, const Dataset& data, const FitOptions& options, FamilyWeights& weights) {
  estimate_bars(recipe, data, weights);
  ErrorTable(recipe, data, options, weights).fill();
}

void estimate_bars(const Recipe& recipe, const Dataset& data, FamilyWeights& weights) {
  Dataset fitted{data.gpus, {}};
  std::ranges::copy_if(data.samples, std::back_inserter(fitted.samples), &Sample::fit);
  const std::vector<Residue> residues = residues_of(weights, recipe, fitted);
  weights.seen = rounded_bar(residues);
  weights.unseen = rounded_bar(residues, kUnseen);
}

}  // namespace tessera
