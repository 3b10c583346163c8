#include "calibration/collective_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/file.hpp"

namespace tessera {

namespace {

constexpr std::size_t kRowsPerSeries = 20;
// Loss per (e-fold)^2 away from the start: smallest error left out for the pool; what one class has plenty of data for.
constexpr double kPooledPull = 0.02, kClassPull = 0.003;
constexpr std::array kSteps{1.5, 1.2, 1.2, 1.08, 1.03};
constexpr int kSweeps = 6;
constexpr Bytes kLargeBytes(16.0 * 1048576);

using Samples = std::vector<const CollectiveSample*>;

CollectiveModel model_of(const CollectiveConstants& constants) {
  CollectiveParameters parameters;
  parameters.pooled = constants;
  return CollectiveModel(std::move(parameters));
}

double log_error(const CollectiveDataset& data, const CollectiveSample& sample, const CollectiveModel& model) {
  const CollectiveCost cost = model.cost(sample.kind, sample.bytes, data.shapes[sample.shape], sample.summable);
  return std::log(sample.time / cost.time);
}

class Descent {
 public:
  Descent(const CollectiveDataset& data, Samples samples, const CollectiveConstants& start, double pull)
      : data_(data), samples_(std::move(samples)), start_(start), now_(start), pull_(pull) {}

  /// The better of the descents from the centre of the pull and from `other`: it is no convex problem.
  CollectiveConstants run(const CollectiveConstants& other) {
    const double centre = descend();
    const CollectiveConstants from_centre = now_;
    now_ = other;
    return descend() < centre ? now_ : from_centre;
  }

 private:
  double descend() {
    double best = loss();
    for (const double step : kSteps) {
      for (int sweep = 0; sweep < kSweeps; ++sweep) {
        const double before = best;
        for (double& value : now_.values) best = descend(value, step, best);
        if (best == before) break;
      }
    }
    return best;
  }

  [[nodiscard]] double loss() const {
    const CollectiveModel model = model_of(now_);
    std::map<std::uint32_t, std::pair<double, double>> machines;  // loss, samples
    for (const CollectiveSample* sample : samples_) {
      auto& [sum, count] = machines[sample->machine];
      sum += std::abs(log_error(data_, *sample, model));
      ++count;
    }
    double total = 0;
    for (const auto& [unused, machine] : machines)
      total += machine.first / machine.second / static_cast<double>(machines.size());
    for (std::size_t i = 0; i < kCollectiveConstants; ++i) {
      const double away = std::log(now_.values[i] / start_.values[i]);
      total += pull_ * away * away;
    }
    return total;
  }

  double descend(double& value, double step, double best) {
    for (const double factor : {step, 1 / step}) {
      const double before = value;
      value = before * factor;
      const double now = loss();
      if (now < best) return now;
      value = before;
    }
    return best;
  }

  const CollectiveDataset& data_;
  Samples samples_;
  CollectiveConstants start_, now_;
  double pull_;
};

Samples some(const CollectiveDataset& data, const std::function<bool(const MeasuredMachine&)>& wanted) {
  Samples samples;
  for (const CollectiveSample& sample : data.samples) {
    if (wanted(data.machines[sample.machine])) samples.push_back(&sample);
  }
  return samples;
}

bool contains(std::span<const std::string> names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::set<std::string> classes_of(const CollectiveDataset& data, std::span<const std::string> leave_out) {
  std::set<std::string> classes;
  for (const MeasuredMachine& machine : data.machines) {
    if (!contains(leave_out, machine.gpu)) classes.insert(machine.machine_class);
  }
  return classes;
}

CollectiveConstants pooled(const CollectiveDataset& data, std::span<const std::string> leave_out,
                           const std::string& without_class = {}) {
  return Descent(data,
                 some(data,
                      [&](const MeasuredMachine& m) {
                        return !contains(leave_out, m.gpu) && m.machine_class != without_class;
                      }),
                 initial_constants(), kPooledPull)
      .run(initial_constants());
}

CollectiveBar bar_of(std::vector<double>& errors) {
  std::ranges::sort(errors);
  const auto at = [&](double q) {
    return errors[static_cast<std::size_t>(q * static_cast<double>(errors.size() - 1))];
  };
  return {at(0.1), at(0.9)};
}

/// Four digits: what a reader of the file needs.
double rounded(double value) {
  return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr);
}

void round(CollectiveConstants& constants) {
  for (double& value : constants.values) value = rounded(value);
}

}  // namespace

CollectiveParameters fit_collective_constants(const CollectiveDataset& data, std::span<const std::string> leave_out) {
  CollectiveParameters parameters;
  parameters.pooled = pooled(data, leave_out);
  for (const std::string& name : classes_of(data, leave_out)) {
    const Samples own =
        some(data, [&](const MeasuredMachine& m) { return m.machine_class == name && !contains(leave_out, m.gpu); });
    parameters.classes[name] = Descent(data, own, parameters.pooled, kClassPull).run(initial_constants());
    round(parameters.classes[name]);
  }
  round(parameters.pooled);
  return parameters;
}

std::vector<CollectiveError> collective_errors(const CollectiveDataset& data, const CollectiveParameters& parameters,
                                               std::span<const std::string> only_gpus) {
  const CollectiveModel model(parameters);
  std::vector<CollectiveError> errors;
  for (const MeasuredMachine& machine : data.machines)
    errors.push_back({.set = machine.set, .platform = machine.platform});
  for (const CollectiveSample& sample : data.samples) {
    CollectiveError& error = errors[sample.machine];
    const double ratio = std::abs(std::exp(-log_error(data, sample, model)) - 1);
    ++error.rows;
    error.mean += ratio;
    if (sample.bytes < kLargeBytes) continue;
    ++error.large_rows;
    error.large_mean += ratio;
  }
  std::vector<CollectiveError> kept;
  for (std::size_t m = 0; m < errors.size(); ++m) {
    CollectiveError& error = errors[m];
    if (!only_gpus.empty() && !contains(only_gpus, data.machines[m].gpu)) continue;
    if (error.rows > 0) error.mean /= static_cast<double>(error.rows);
    if (error.large_rows > 0) error.large_mean /= static_cast<double>(error.large_rows);
    kept.push_back(error);
  }
  return kept;
}

CollectiveParameters fit_collectives(const CollectiveDataset& data, std::span<const std::string> leave_out) {
  CollectiveParameters parameters = fit_collective_constants(data, leave_out);
  std::vector<double> seen, unseen;
  for (const std::string& name : classes_of(data, leave_out)) {
    const CollectiveModel own = model_of(parameters.of(name)), other = model_of(pooled(data, leave_out, name));
    for (const CollectiveSample& sample : data.samples) {
      const MeasuredMachine& machine = data.machines[sample.machine];
      if (machine.machine_class != name || contains(leave_out, machine.gpu)) continue;
      seen.push_back(log_error(data, sample, own));
      unseen.push_back(log_error(data, sample, other));
    }
  }
  parameters.seen = bar_of(seen);
  parameters.unseen = bar_of(unseen);
  for (double* q : {&parameters.seen.p10, &parameters.seen.p90, &parameters.unseen.p10, &parameters.unseen.p90})
    *q = rounded(*q);
  return parameters;
}

void fit_collectives_file(const std::filesystem::path& data, const std::filesystem::path& out,
                          std::span<const std::string> leave_out) {
  const CollectiveParameters parameters = fit_collectives(load_collectives(data, kRowsPerSeries), leave_out);
  Json json = Json::object();
  json["command"] = leave_out.empty() ? std::string("tessera calibrate --family collectives")
                                      : fmt::format("tessera calibrate --family collectives --leave-out {}",
                                                    fmt::join(leave_out, ","));
  json["data"] =
      "NCCL tables of AIConfigurator 095f58a (Apache-2.0), vTrain f8dda84, APEX+ 8769096 and Vidur 7d47513 (MIT), "
      "nccl-tests of awsome-distributed-training 7217859";
  const Json fitted = to_json(parameters);
  for (const auto& [key, value] : fitted.fields()) json[key] = value;
  std::filesystem::create_directories(out);
  write_file(out / kCollectiveWeightsFile, json.dump() + "\n");
}

}  // namespace tessera
