#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "calibration/microbench/session.hpp"
#include "models/profile.hpp"
#include "models/support.hpp"
#include "sim/app/progress.hpp"
#include "sim/app/verbs.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/cluster/gpu.hpp"
#include "sim/config/json.hpp"

namespace tessera {
namespace {

using microbench::Plan;
using microbench::PlannedCase;

class Microbench final : public Command {
 public:
  explicit Microbench(CLI::App& app) {
    app.add_option("--gpu", gpu_, "name or data sheet of the GPU to measure (`tessera list platforms`)")->required();
    app.add_flag("--plan", plan_only_, "print what would run and how long; needs no GPU");
    app.add_flag("--cases", cases_, "with --plan: every case");
    app.add_option("--only", options_.only, "these benchmarks (--plan names them)")->delimiter(',');
    app.add_option("--dtype", dtypes_, "these number formats")->delimiter(',');
    app.add_option("--minutes", minutes_, "leave out cases, evenly, to stay below")->capture_default_str();
    app.add_option("--out", out_, "folder for the measurements; one that is there is continued");
    app.add_option("--date", date_, "of the measurement, for the record");
    app.add_option("--platform", platform_, "the node, for collectives between its GPUs");
    app.add_option("--device", device_, "index of the CUDA device")->capture_default_str();
    app.add_flag("--retry", retry_, "also what failed in an earlier run");
    app.add_flag("--json", json_, "print the plan or the outcome as JSON");
  }

  int run() override {
    check_options();
    const GpuSpec gpu = find_gpu(gpu_);
    check_machine(gpu);
    const Plan plan = microbench::make_plan(gpu, options_);
    require_cases(gpu, plan);
    if (!plan_only_) return measure(gpu, plan);
    json_ ? print_json(gpu, plan) : print(gpu, plan);
    return 0;
  }

 private:
  void check_options() {
    std::vector<Diagnostic> wrong;
    const auto mistake = [&](std::string_view flag, std::string message) {
      wrong.push_back({.file = std::string(flag), .message = std::move(message)});
    };
    std::vector<std::string> names;
    for (const Dtype dtype : kDtypes) names.emplace_back(to_string(dtype));
    for (const std::string& name : dtypes_) {
      if (const auto dtype = parse_dtype(name))
        options_.dtypes.push_back(*dtype);
      else
        mistake("--dtype", fmt::format("unknown dtype '{}'{}", name, did_you_mean(name, names)));
    }
    if (!(minutes_ > 0 && minutes_ <= 24 * 60))
      mistake("--minutes", fmt::format("expected more than 0 and at most 1440, found {}", minutes_));
    if (!plan_only_ && out_.empty()) mistake("--out", "expected the folder for the measurements (or give --plan)");
    if (!plan_only_ && date_.empty()) mistake("--date", "expected the day of the measurement, such as 2026-05-31");
    if (!date_.empty() && !is_date(date_))
      mistake("--date", fmt::format("expected a date such as 2026-05-31, found '{}'", date_));
    if (device_ < 0) mistake("--device", fmt::format("expected 0 or more, found {}", device_));
    if (cases_ && !plan_only_) mistake("--cases", "goes with --plan");
    if (retry_ && plan_only_) mistake("--retry", "goes with a measurement; drop it or --plan");
    if (!wrong.empty()) throw InputError(std::move(wrong));
    options_.budget = Seconds(60 * minutes_);
  }

  /// What the GPU and the platform cannot be asked for.
  void check_machine(const GpuSpec& gpu) {
    if (gpu.vendor != "NVIDIA")
      throw InputError(Diagnostic{
          .file = "--gpu",
          .message = fmt::format("{} is of {}; the benchmarks are CUDA, for GPUs of NVIDIA", gpu.name, gpu.vendor)});
    for (const Dtype dtype : options_.dtypes)
      if (const auto wrong = dtype_error(dtype, gpu))
        throw InputError(Diagnostic{.file = "--dtype", .message = *wrong});
    if (platform_.empty()) return;
    const ClusterSpec platform = find_cluster(platform_);
    if (platform.gpu.name != gpu.name)
      throw InputError(Diagnostic{
          .file = "--platform",
          .message = fmt::format("{} has {} GPUs, --gpu says {}", platform.name, platform.gpu.name, gpu.name)});
    platform_ = platform.name;
  }

  void require_cases(const GpuSpec& gpu, const Plan& plan) const {
    if (!plan.cases.empty()) return;
    if (plan.left_out == 0)
      throw InputError(
          Diagnostic{.file = "--only",
                     .message = fmt::format("these benchmarks have no case in these number formats on {}", gpu.name)});
    throw InputError(Diagnostic{
        .file = "--minutes", .message = fmt::format("no case takes less than {:g} minutes on {}", minutes_, gpu.name)});
  }

  int measure(const GpuSpec& gpu, const Plan& plan) {
    const auto device = microbench::open_device(microbench::device_library(), device_);
    microbench::ResultFolder folder(out_, {.gpu = gpu.name, .platform = platform_, .date = date_}, device->machine());
    std::optional<Progress> line;
    const auto report =
        microbench::run_session(*device, plan, folder, {.retry = retry_, .progress = [&](std::string_view text) {
                                                          line.reset();
                                                          line.emplace(text);
                                                        }});
    line.reset();
    if (json_) {
      fmt::print("{}\n", Json(Json::Object{{"out", out_},
                                           {"measured", report.measured},
                                           {"already_there", report.already_there},
                                           {"unsupported", report.unsupported},
                                           {"wrong", report.wrong}})
                             .dump());
    } else {
      fmt::print("{} measured, {} already there, {} not possible here, {} wrong; in {}\n", report.measured,
                 report.already_there, report.unsupported, report.wrong, out_);
    }
    return report.wrong == 0 ? 0 : 1;
  }

  void print(const GpuSpec& gpu, const Plan& plan) const {
    fmt::print("{}: {} cases, about {:.0f} s ({} left out to stay below {:g} minutes)\n", gpu.name, plan.cases.size(),
               plan.expected().value(), plan.left_out, minutes_);
    fmt::print("{:<12} {:>5} {:>8}  {:<16} {}\n", "benchmark", "cases", "seconds", "needs", "what");
    for (const microbench::Benchmark& row : microbench::benchmarks()) {
      std::size_t count = 0;
      Seconds time;
      for (const PlannedCase& c : plan.cases) {
        if (c.what.benchmark != row.name) continue;
        ++count;
        time += c.expected;
      }
      if (count > 0)
        fmt::print("{:<12} {:>5} {:>8.1f}  {:<16} {}\n", row.name, count, time.value(), row.needs, row.what);
    }
    if (!cases_) return;
    for (const PlannedCase& c : plan.cases)
      fmt::print("{:<12} {:>8.2f}  {}\n", c.what.benchmark, c.expected.value(), c.id);
  }

  static void print_json(const GpuSpec& gpu, const Plan& plan) {
    Json cases = Json::array();
    for (const PlannedCase& c : plan.cases) {
      cases.push(
          Json(Json::Object{{"benchmark", c.what.benchmark}, {"case", c.id}, {"expected_s", c.expected.value()}}));
    }
    fmt::print("{}\n", Json(Json::Object{{"gpu", gpu.name},
                                         {"expected_s", plan.expected().value()},
                                         {"left_out", plan.left_out},
                                         {"cases", std::move(cases)}})
                           .dump());
  }

  microbench::PlanOptions options_;
  std::string gpu_, out_, date_, platform_;
  std::vector<std::string> dtypes_;
  double minutes_ = 9;
  int device_ = 0;
  bool plan_only_ = false, cases_ = false, retry_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_microbench(CLI::App& app) {
  return std::make_unique<Microbench>(app);
}

}  // namespace tessera
