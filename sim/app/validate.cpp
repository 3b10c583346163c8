#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "models/latency_model.hpp"
#include "sim/app/input_files.hpp"
#include "sim/app/output_path.hpp"
#include "sim/app/profiles.hpp"
#include "sim/app/progress.hpp"
#include "sim/app/training_data.hpp"
#include "sim/app/validation/refit.hpp"
#include "sim/app/validation/render.hpp"
#include "sim/app/validation/validation.hpp"
#include "sim/app/verbs.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/cluster/gpu.hpp"
#include "sim/config/gzip.hpp"

namespace tessera {
namespace {

constexpr double kLongestLaunch = 1e6;  // us

class Validate final : public Command {
 public:
  explicit Validate(CLI::App& app) {
    app.add_option("FILE", options_.files, "measurements: .csv or .csv.gz (kernels, whole models or collectives)")
        ->required();
    app.add_option("--where", options_.where, "only rows that meet all: split=headline,suspect=0,latency_ms>0.02");
    app.add_option("--measure", options_.measure, "another measured column: fw_ms, bw_ms");
    app.add_option("--by", options_.by, "columns to group by; none: overall alone (default: set, or gpu,op,dtype)")
        ->delimiter(',');
    app.add_option("--out", out_, "write every row with prediction, band and provenance: .csv or .csv.gz");
    app.add_option("--fail-above", fail_above_text_, "exit 1 where the overall mean abs % error is above this");
    app.add_option("--leave-out", leave_out_, "refit without the rows of these GPUs first")->delimiter(',');
    app.add_option("--data", data_, "training data for --leave-out (default: the folder TESSERA_DATA names)");
    app.add_option("--weights", weights_, "folder of fitted weights, instead of the committed ones");
    app.add_option("--profile", profiles_, "shift predictions by these profiles (`tessera calibrate --gpu`)")
        ->delimiter(',');
    app.add_option("--latency-model", latency_model_, "one of `tessera list latency-models`");
    app.add_option("--gpu", gpu_, "the GPU of rows that name none");
    app.add_option("--platform", platform_, "the platform of rows that name none");
    app.add_option("--host-launch", host_launch_, "CPU time of a launch in training rows, us, for all platforms");
    app.add_flag_callback(
        "--any-runtime", [this] { options_.runtime = RuntimeColumn::ignored; },
        "ignore the `runtime` column: predict as where nobody says whose kernels run");
    app.add_flag("--json", json_, "print the result as JSON");
  }

  int run() override {
    check_options();
    if (host_launch_) options_.host_launch = Seconds(*host_launch_ * 1e-6);
    if (!gpu_.empty()) options_.defaults["gpu"] = gpu_;
    if (!platform_.empty()) options_.defaults["platform"] = platform_;
    if (!weights_.empty() && std::filesystem::exists(std::filesystem::path(weights_) / kCollectiveWeightsFile))
      options_.collectives = load_collective_parameters(weights_);
    const ValidationReport report = leave_out_.empty() ? with_weights(weights_) : without_gpus();
    if (!out_.empty()) write_rows(report);
    fmt::print("{}", json_ ? to_json(report).dump() + '\n' : text_table(report));
    return verdict(report.overall);
  }

 private:
  void check_options() {
    if (!gpu_.empty()) (void)find_gpu(gpu_);
    if (!platform_.empty()) (void)find_cluster(platform_);
    for (const auto& file : options_.files) {
      std::error_code absent;
      if (std::filesystem::equivalent(file, out_, absent))
        throw InputError(Diagnostic{"--out", 0, 0, fmt::format("would overwrite the measurements in {}", out_)});
    }
    require_different(options_.files, "FILE");
    require_output_file(out_);
    if (leave_out_.empty() && !data_.empty())
      throw InputError(Diagnostic{"--data", 0, 0, "goes with --leave-out, whose fits read it"});
    if (!leave_out_.empty() && latency_model_ != kCalibratedModel)
      throw InputError(Diagnostic{
          "--leave-out", 0, 0, fmt::format("fits the latency model '{}', not '{}'", kCalibratedModel, latency_model_)});
    if (host_launch_ && !(*host_launch_ >= 0 && *host_launch_ <= kLongestLaunch))
      throw InputError(Diagnostic{"--host-launch", 0, 0,
                                  fmt::format("expected 0 to {} us, found {}", kLongestLaunch, *host_launch_)});
    if (fail_above_text_) fail_above_ = percentage(*fail_above_text_);
  }

  static double percentage(const std::string& text) {
    double value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    if (error == std::errc() && end == last && std::isfinite(value) && value >= 0) return value;
    throw InputError(Diagnostic{"--fail-above", 0, 0, fmt::format("expected a percentage, found '{}'", text)});
  }

  [[nodiscard]] ValidationReport with_weights(const std::filesystem::path& weights) {
    for (const std::string& name : profiles_) options_.profiles.push_back(load_profile(name, latency_model_, weights));
    const auto latency = make_latency_model(latency_model_, weights);
    std::optional<Progress> line;
    return validate(options_, *latency, [&](std::size_t done, std::size_t total) {
      line.reset();
      line.emplace(fmt::format("{} of {} rows", done, total));
    });
  }

  [[nodiscard]] ValidationReport without_gpus() {
    if (!profiles_.empty())
      throw InputError(Diagnostic{"--leave-out", 0, 0,
                                  "fits new weights, which no profile is relative to; fit with "
                                  "calibrate --leave-out, then give --weights and --profile"});
    if (!weights_.empty()) throw InputError(Diagnostic{"--leave-out", 0, 0, "fits its own weights; drop --weights"});
    const ValidationReport dry =
        validate(options_, *make_latency_model("roofline"));  // mistakes, before minutes of fits
    std::optional<Progress> line;
    const Refit refit(training_data(data_, "--leave-out"), left_out_gpus(leave_out_), parts_of(dry),
                      [&](std::string_view step) {
                        line.reset();
                        line.emplace(step);
                      });
    line.reset();
    options_.collectives =
        parts_of(dry).collectives ? load_collective_parameters(refit.weights()) : std::optional<CollectiveParameters>();
    return with_weights(parts_of(dry).kernels ? refit.weights() : std::filesystem::path());
  }

  /// Collectives have parameters of their own; whole models need both.
  static FittedParts parts_of(const ValidationReport& report) {
    const auto has = [&](MeasurementKind kind) {
      return std::ranges::any_of(report.files, [&](const ValidatedFile& f) { return f.kind == kind; });
    };
    const bool runs = has(MeasurementKind::model) || has(MeasurementKind::training);
    return {.kernels = runs || has(MeasurementKind::kernel), .collectives = runs || has(MeasurementKind::collective)};
  }

  void write_rows(const ValidationReport& report) const {
    const std::string rows = rows_csv(report);
    write_file(out_, out_.ends_with(".gz") ? gzip(rows) : rows);
  }

  /// No row at all cannot hold a bound.
  [[nodiscard]] int verdict(const Metrics& overall) const {
    if (!fail_above_) return 0;
    if (overall.n == 0) throw RunError("--fail-above: no row was predicted");
    if (overall.mape <= *fail_above_) return 0;
    fmt::print(stderr, "error: mean abs error {:.2f} % is above {} %\n", overall.mape, *fail_above_);
    return 1;
  }

  ValidationOptions options_;
  std::optional<std::string> fail_above_text_;
  std::optional<double> fail_above_, host_launch_;
  std::vector<std::string> leave_out_, profiles_;
  std::string out_, data_, weights_, latency_model_ = "tile", gpu_, platform_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_validate(CLI::App& app) {
  return std::make_unique<Validate>(app);
}

}  // namespace tessera
