#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "calibration/collective_fit.hpp"
#include "calibration/fit.hpp"
#include "calibration/rivals/fit_rivals.hpp"
#include "models/weights.hpp"
#include "sim/app/calibrate_gpu.hpp"
#include "sim/app/output_path.hpp"
#include "sim/app/progress.hpp"
#include "sim/app/training_data.hpp"
#include "sim/app/verbs.hpp"
#include "sim/base/error.hpp"
#include "sim/base/paths.hpp"

namespace tessera {
namespace {

constexpr std::string_view kCollectives = "collectives";  // a model of its own among the families

class Calibrate final : public Command {
 public:
  explicit Calibrate(CLI::App& app) {
    app.add_option("--gpu", gpu_.gpu, "make this GPU's profile from --measurements, instead of fitting weights");
    app.add_option("--measurements", gpu_.files,
                   "kernels measured on that GPU: .csv as validate reads or microbench writes")
        ->delimiter(',');
    app.add_option("--where", gpu_.where, "only rows of the measurements that meet all: timing=graph,latency_ms>0.02");
    app.add_option("--weights", gpu_.weights, "with --gpu: folder of fitted weights, instead of the committed ones");
    app.add_option("--data", data_, "folder of measurements (default: the folder TESSERA_DATA names)");
    app.add_option("--out", out_,
                   "folder for the weights (default: calibration/weights), or file for the profile "
                   "(default: platforms/profiles/GPU.yaml)");
    app.add_option("--leave-out", options_.leave_out, "GPUs to keep out of every fit")->delimiter(',');
    app.add_option("--family", options_.families, "only these families of kernels; collectives: the network's")
        ->delimiter(',');
    app.add_option("--model", model_, "tile (the default), or another fitted model: habitat, li, neusight");
    app.add_option("--net", rival_.nets, "only these of neusight's or habitat's networks: bmm, linear, ...")
        ->delimiter(',');
    app.add_option("--epochs", epochs_, "epochs of those networks (default: the paper's 100)");
    app.add_option("--seed", seed_, "seed of those networks (default: 0)");
    app.add_flag("!--no-error-table", options_.error_table, "skip the refits without each GPU: faster, no error bars");
    app.add_flag("--json", json_, "print the errors on GPUs left out as JSON");
  }

  int run() override {
    if (!gpu_.gpu.empty() || !gpu_.files.empty()) return make_profile();
    if (!gpu_.where.empty() || !gpu_.weights.empty())
      throw InputError(Diagnostic{gpu_.where.empty() ? "--weights" : "--where", 0, 0, "goes with --gpu"});
    check_model_options();
    options_.data = training_data(data_, "calibrate");
    options_.leave_out = left_out_gpus(options_.leave_out);
    if (model_ != "tile") return fit_other();
    if (out_.empty() && !options_.leave_out.empty()) {
      throw InputError(Diagnostic{.file = "--leave-out",
                                  .line = 0,
                                  .column = 0,
                                  .message = "would overwrite the committed weights; give --out DIR"});
    }
    options_.out = out_.empty() ? home() / "calibration" / "weights" : std::filesystem::path(out_);
    require_output_folder(options_.out);
    fit_all();
    report();
    return 0;
  }

 private:
  [[nodiscard]] bool has_net_options() const { return epochs_ || seed_ || !rival_.nets.empty(); }

  /// Options that this model would ignore.
  void check_model_options() const {
    std::vector<Diagnostic> wrong;
    const auto refuse = [&](bool given, const char* flag, const char* why) {
      if (given) wrong.push_back({flag, 0, 0, why});
    };
    const bool nets = model_ != "tile" && model_ != "li", ours = model_ == "tile";
    constexpr const char* kNets = "goes with --model neusight or habitat, which have nets";
    refuse(!nets && !rival_.nets.empty(), "--net", kNets);
    refuse(!nets && epochs_, "--epochs", kNets);
    refuse(!nets && seed_, "--seed", kNets);
    refuse(!ours && !options_.families.empty(), "--family", "goes with --model tile; other models have no families");
    refuse(!ours && !options_.error_table, "--no-error-table", "goes with --model tile; others make no error table");
    refuse(!ours && json_, "--json", "goes with --model tile; others make no error table");
    if (!wrong.empty()) throw InputError(std::move(wrong));
  }

  int make_profile() {
    if (gpu_.gpu.empty() || gpu_.files.empty())
      throw InputError(Diagnostic{gpu_.gpu.empty() ? "--measurements" : "--gpu", 0, 0,
                                  gpu_.gpu.empty() ? "needs --gpu, the GPU that was measured"
                                                   : "needs --measurements, files of kernels measured on it"});
    if (!data_.empty() || !options_.families.empty() || !options_.leave_out.empty() || model_ != "tile" ||
        !options_.error_table || has_net_options())
      throw InputError(Diagnostic{"--gpu", 0, 0,
                                  "makes a profile; --data, --epochs, --family, --leave-out, --model, --net, "
                                  "--no-error-table and --seed fit weights"});
    gpu_.out = out_;
    gpu_.json = json_;
    calibrate_gpu(gpu_);
    return 0;
  }

  /// NeuSight and its baselines: a folder of their own, next to our weights.
  int fit_other() {
    if (epochs_) rival_.epochs = *epochs_;
    if (seed_) rival_.seed = *seed_;
    rival_.data = options_.data;
    rival_.leave_out = options_.leave_out;
    rival_.out = out_.empty() ? home() / "calibration" / "rivals" / model_ : std::filesystem::path(out_);
    require_output_folder(rival_.out);
    std::optional<Progress> line;
    rival_.progress = [&](std::string_view step) {
      line.reset();
      line.emplace(step);
    };
    fit_rival(model_, rival_);
    line.reset();
    fmt::print("Weights in {}\n", rival_.out.string());
    return 0;
  }

  /// Every family's file is written once it is done: an interrupted run keeps those that are.
  void fit_all() {
    std::optional<Progress> line;
    options_.progress = [&](std::string_view step) {
      line.reset();
      line.emplace(step);
    };
    auto& families = options_.families;
    const auto named = std::ranges::find(families, kCollectives);
    if (families.empty() || named != families.end()) {
      options_.progress(kCollectives);
      fit_collectives_file(options_.data, options_.out, options_.leave_out);
    }
    const bool only = families.size() == 1 && named != families.end();
    if (named != families.end()) families.erase(named);
    if (!only) fit(options_);
    if (only) families.emplace_back(kCollectives);
  }

  /// What this run wrote.
  [[nodiscard]] std::vector<FamilyWeights> fitted() const {
    std::vector<FamilyWeights> all;
    for (const auto& entry : std::filesystem::directory_iterator(options_.out)) {
      const bool asked = options_.families.empty() ||
                         std::ranges::find(options_.families, entry.path().stem().string()) != options_.families.end();
      if (asked && entry.path().extension() == ".json" && entry.path().filename() != kCollectiveWeightsFile)
        all.push_back(read_weights(entry.path()));
    }
    std::ranges::sort(all, {}, &FamilyWeights::family);
    return all;
  }

  void report() const {
    Json json = Json::array();
    if (!json_)
      fmt::print("{:<12} {} {:<20} {:<20} {:>7} {:>8} {:>9} {:>8}\n", "family", "*", "GPU", "operator", "rows",
                 "mean %", "median %", "bias %");
    for (const FamilyWeights& weights : fitted()) {
      for (const LeftOut& row : weights.left_out) {
        if (json_) {
          json.push(as_json(weights.family, row));
        } else {
          fmt::print("{:<12} {} {:<20} {:<20} {:>7} {:>8.2f} {:>9.2f} {:>+8.2f}\n", weights.family,
                     to_string(row.protocol), row.gpu, row.op, row.rows, 100 * row.mean_error, 100 * row.median_error,
                     100 * row.bias);
        }
      }
    }
    if (json_) fmt::print("{}\n", Json(Json::Object{{"left_out", std::move(json)}}).dump());
    if (!json_)
      fmt::print("* not seen by the fit: L the GPU and its architecture, N the GPU, S the shapes\nWeights in {}\n",
                 options_.out.string());
  }

  static Json as_json(const std::string& family, const LeftOut& row) {
    return Json(Json::Object{{"family", family},
                             {"protocol", std::string(to_string(row.protocol))},
                             {"gpu", row.gpu},
                             {"op", row.op},
                             {"n", row.rows},
                             {"mape", 100 * row.mean_error},
                             {"median_ape", 100 * row.median_error},
                             {"bias", 100 * row.bias}});
  }

  FitOptions options_;
  RivalFit rival_;
  GpuCalibration gpu_;
  std::optional<int> epochs_;
  std::optional<std::uint64_t> seed_;
  std::string data_, out_, model_ = "tile";
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_calibrate(CLI::App& app) {
  return std::make_unique<Calibrate>(app);
}

}  // namespace tessera
