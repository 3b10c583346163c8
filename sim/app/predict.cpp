#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "models/support.hpp"
#include "sim/app/profiles.hpp"
#include "sim/app/run.hpp"
#include "sim/app/scenario.hpp"
#include "sim/app/validation/kernel_rows.hpp"
#include "sim/app/verbs.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/report/outputs.hpp"

namespace tessera {
namespace {

struct Dimension {
  const char *column, *what;
};
/// Dimensions of operators, by the columns of a file of measurements; `--q-len` sets q_len.
constexpr std::array kDimensions{
    Dimension{"m", "gemm, linear, bmm: rows of C[m,n] = A[m,k] B[k,n]"},
    Dimension{"n", "gemm, linear, bmm: columns of C"},
    Dimension{"k", "gemm, linear, bmm: what is summed over"},
    Dimension{"b", "bmm: matrices; conv2d: images"},
    Dimension{"rows", "elementwise, softmax, norms, embedding: rows"},
    Dimension{"h", "elementwise, softmax, norms, embedding: elements of a row"},
    Dimension{"q-len", "attention: new tokens per sample"},
    Dimension{"kv-len", "attention: tokens attended to"},
    Dimension{"heads", "attention: query heads"},
    Dimension{"kv-heads", "attention: key and value heads"},
    Dimension{"head-dim", "attention: elements of a head"},
    Dimension{"tokens", "moe: tokens"},
    Dimension{"hidden", "moe: width of the model"},
    Dimension{"inter", "moe: width of an expert"},
    Dimension{"topk", "moe: experts per token"},
    Dimension{"experts", "moe: experts"},
    Dimension{"c-in", "conv2d: channels in"},
    Dimension{"c-out", "conv2d: channels out"},
    Dimension{"ksize", "conv2d: kernel, squared"},
    Dimension{"hw", "conv2d: image, squared"},
    Dimension{"stride", "conv2d: stride"},
    Dimension{"pad", "conv2d: padding"},
};

std::string column_of(std::string flag) {
  for (char& c : flag)
    if (c == '-') c = '_';
  return flag;
}

/// What an operator needs, then what it may be given.
struct Dimensions {
  std::vector<std::string> needed, optional{};
};
Dimensions dimensions_of(Op op) {
  switch (op) {
    case Op::gemm:
    case Op::linear:
      return {{"m", "n", "k"}};
    case Op::bmm:
      return {{"b", "m", "n", "k"}};
    case Op::conv2d:
    case Op::conv2d_dgrad:
    case Op::conv2d_wgrad:
      return {{"b", "c_in", "c_out", "ksize", "hw"}, {"stride", "pad"}};
    case Op::attention_prefill:
    case Op::attention_decode:
      return {{"batch", "q_len", "kv_len", "heads", "kv_heads", "head_dim"}};
    case Op::moe:
      return {{"tokens", "hidden", "inter", "topk", "experts"}};
    default:
      return {{"rows", "h"}};
  }
}

std::string flag_of(std::string column) {
  std::ranges::replace(column, '_', '-');
  return "--" + column;
}

/// Mistakes in the flags have no position; those in a file that a flag names keep theirs.
[[noreturn]] void rethrow_as_usage(const InputError& error) {
  std::vector<Diagnostic> diagnostics;
  for (const Diagnostic& d : error.diagnostics()) {
    const bool flag = d.file.empty() || d.file == "predict";
    diagnostics.push_back(flag ? Diagnostic{"", 0, 0, "predict: " + d.message} : d);
  }
  throw InputError(std::move(diagnostics));
}

class Predict final : public Command {
 public:
  explicit Predict(CLI::App& app) {
    app.add_option("OPERATOR", operator_,
                   "gemm, softmax, attention_prefill, ... (`tessera list operators`); or --model");
    app.add_option("--gpu", gpu_, "name or data sheet (`tessera list platforms`)")->required();
    app.add_option("--dtype", dtype_, "fp32, tf32, fp16, bf16, fp8, int8, nvfp4")->capture_default_str();
    app.add_option("--latency-model", latency_model_, "`tessera list latency-models`")->capture_default_str();
    app.add_option("--profile", profile_, "shift predictions by this profile of the GPU (`tessera calibrate --gpu`)");
    app.add_flag("--json", json_, "print as JSON");
    const std::string operator_group = "Dimensions of an operator";
    for (const auto& [name, what] : kDimensions)
      app.add_option(fmt::format("--{}", name), dimensions_[column_of(name)], what)
          ->type_name("N")
          ->group(operator_group);
    app.add_option("--timing", timing_, "graph: device time alone; eager: with a launch between two events")
        ->group(operator_group);
    const std::string model_group = "A model instead of an operator";
    app.add_option("--model", model_, "built-in name or config.json")->group(model_group);
    app.add_option("--mode", mode_, "inference or training (default: inference)")->group(model_group);
    app.add_option("--batch", batch_, "samples (of attention too)")->group(model_group);
    app.add_option("--seq", sequence_, "tokens per sample")->group(model_group);
    app.add_option("--attention", attention_, "eager or flash")->group(model_group);
    app.add_option("--optimizer", optimizer_, "none or adam")->group(model_group);
    app.add_flag("--fused", fused_, "chains of elementwise operators as one kernel")->group(model_group);
    app.add_flag("--cuda-graph", cuda_graph_, "no host launches")->group(model_group);
  }

  int run() override {
    if (operator_.empty() == model_.empty())
      throw InputError(Diagnostic{"", 0, 0, "predict: give an operator or --model, one of them"});
    try {
      return operator_.empty() ? predict_model() : predict_operator();
    } catch (const InputError& error) {
      rethrow_as_usage(error);
    }
  }

 private:
  /// Options of a model that were given, and `--batch`, which attention takes too.
  [[nodiscard]] std::map<std::string, bool> model_options() const {
    return {{"mode", !mode_.empty()},           {"batch", !batch_.empty()},         {"seq", !sequence_.empty()},
            {"attention", !attention_.empty()}, {"optimizer", !optimizer_.empty()}, {"fused", fused_},
            {"cuda_graph", cuda_graph_}};
  }

  void check_flags(const Dimensions& dimensions) const {
    std::vector<Diagnostic> mistakes;
    const auto add = [&](const char* message, const std::string& column) {
      mistakes.push_back({"", 0, 0, fmt::format("{} {} {}", operator_, message, flag_of(column))});
    };
    std::map<std::string, bool> given = model_options();
    for (const auto& [column, value] : dimensions_) given[column] = !value.empty();
    for (const std::string& column : dimensions.needed) {
      if (!given[column]) add("needs", column);
      given.erase(column);
    }
    for (const std::string& column : dimensions.optional) given.erase(column);
    for (const auto& [column, is_given] : given)
      if (is_given) add("does not take", column);
    if (!mistakes.empty()) throw InputError(std::move(mistakes));
  }

  void check_model_flags() const {
    std::vector<Diagnostic> mistakes;
    const auto refuse = [&](const std::string& column) {
      mistakes.push_back({"", 0, 0, fmt::format("--model does not take {}, an option of operators", flag_of(column))});
    };
    for (const auto& [column, value] : dimensions_)
      if (!value.empty()) refuse(column);
    if (!timing_.empty()) refuse("timing");
    const auto dtype = parse_dtype(dtype_);
    if (mode_ == "training" && dtype && element_size(*dtype) < Bytes(2))
      mistakes.push_back(
          {"", 0, 0, fmt::format("training in {} is not supported; use fp32, tf32, fp16, bf16", dtype_)});
    if (!mistakes.empty()) throw InputError(std::move(mistakes));
  }

  int predict_operator() {
    if (const auto op = parse_op(operator_)) check_flags(dimensions_of(*op));
    const CsvTable table = CsvTable::parse("op\n" + operator_ + "\n", "predict");
    std::map<std::string, std::string> cells = dimensions_;
    cells["gpu"] = gpu_;
    cells["dtype"] = dtype_;
    cells["timing"] = timing_;
    cells["batch"] = batch_;
    Mistakes mistakes;
    Catalogue catalogue;
    RowReader reader(table, 0, cells, mistakes);
    const KernelRow row = read_kernel_row(reader, catalogue);
    mistakes.check();
    if (const auto wrong = shape_error(row.kernel)) throw InputError(Diagnostic{"", 0, 0, *wrong});
    if (const auto wrong = dtype_error(row.kernel.dtype, *row.gpu))
      throw InputError(Diagnostic{.message = "--dtype: " + *wrong});
    const auto latency = make_latency_model(latency_model_);
    std::vector<Profile> profiles;
    if (!profile_.empty()) profiles.push_back(load_profile_for(*row.gpu, profile_, latency_model_));
    const KernelCost cost =
        CalibratedModel(*latency, profiles).predict(std::span(&row.kernel, 1), *row.gpu, row.context).front();
    if (json_)
      fmt::print("{}\n", operator_json(row, cost).dump());
    else
      print_operator(row, cost);
    return 0;
  }

  static Json operator_json(const KernelRow& row, const KernelCost& cost) {
    return Json(Json::Object{
        {"gpu", row.gpu->name},
        {"kernel", describe_kernel(row.kernel)},
        {"time_s",
         Json(Json::Object{
             {"p10", cost.time.p10.value()}, {"p50", cost.time.p50.value()}, {"p90", cost.time.p90.value()}})},
        {"flops", flops(row.kernel).value()},
        {"compulsory_bytes", traffic(row.kernel).total().value()},
        {"hbm_bytes", cost.hbm_bytes.value()},
        {"energy_j", cost.energy.value()},
        {"blocks", cost.blocks},
        {"blocks_per_sm", cost.blocks_per_sm},
        {"waves", cost.waves},
        {"provenance", to_string(cost.provenance)},
        {"out_of_range", cost.out_of_range},
    });
  }

  static std::string distance_outside(double widths) {
    if (widths < 0.1) return "just outside";
    if (widths < 1) return fmt::format("outside, by {:.0f} % of the width of", 100 * widths);
    return fmt::format("outside, by {:.1f} times the width of", widths);
  }

  static void print_operator(const KernelRow& row, const KernelCost& cost) {
    fmt::print("{} on {}\n", describe_kernel(row.kernel), row.gpu->name);
    fmt::print("  time        {}, p10 - p90: {} - {}, {}\n", format(cost.time.p50), format(cost.time.p10),
               format(cost.time.p90), to_string(cost.provenance));
    fmt::print("  arithmetic  {}, {}\n", format(flops(row.kernel)), format(flops(row.kernel) / cost.time.p50));
    fmt::print("  memory      {} from or to HBM, {}\n", format(cost.hbm_bytes), format(cost.hbm_bytes / cost.time.p50));
    fmt::print("  blocks      {} in {} wave{}, {} per {}\n", cost.blocks, cost.waves, cost.waves == 1 ? "" : "s",
               cost.blocks_per_sm, row.gpu->vendor == "AMD" ? "compute unit" : "SM");
    fmt::print("  energy      {}\n", format(cost.energy));
    if (cost.out_of_range > 0)
      fmt::print("  {} what the model was fitted on: trust it less\n", distance_outside(cost.out_of_range));
  }

  int predict_model() {
    check_model_flags();
    const Scenario scenario = read<Scenario>(as_scenario());
    const RunSpec spec = resolve(scenario, scenario.runs.front());
    const RunResult result = tessera::run(spec, *make_latency_model(latency_model_));
    if (json_)
      fmt::print("{}\n", summary_json(result.summary).dump());
    else
      fmt::print("{}", text_report(result.summary));
    return 0;
  }

  /// The flags as a scenario of one run, so that they get its checks.
  [[nodiscard]] Document as_scenario() const {
    Node workload{.kind = Node::Kind::map};
    const auto set = [](Node& map, std::string key, const std::string& value) {
      if (value.empty()) return;
      map.fields.emplace_back(std::move(key), Node{.kind = Node::Kind::scalar, .scalar = value});
    };
    set(workload, "model", model_);
    set(workload, "mode", mode_.empty() ? "inference" : mode_);
    set(workload, "dtype", dtype_);
    set(workload, "sequence", sequence_);
    for (const char* key : mode_ == "training" ? std::vector{"global_batch", "micro_batch"} : std::vector{"batch"})
      set(workload, key, batch_);
    set(workload, "attention", attention_);
    set(workload, "optimizer", optimizer_);
    set(workload, "fused", fused_ ? "true" : "");
    set(workload, "cuda_graph", cuda_graph_ ? "true" : "");
    Node item{.kind = Node::Kind::map};
    set(item, "name", "model");
    set(item, "gpu", gpu_);
    set(item, "profile", profile_);
    item.fields.emplace_back("workload", std::move(workload));
    Document document{"predict", {.kind = Node::Kind::map}};
    set(document.root, "name", "predict");
    set(document.root, "latency_model", latency_model_);
    document.root.fields.emplace_back("runs", Node{.kind = Node::Kind::sequence, .items = {std::move(item)}});
    return document;
  }

  std::string operator_, gpu_, dtype_ = "bf16", latency_model_ = "tile", profile_, timing_;
  std::map<std::string, std::string> dimensions_;
  std::string model_, mode_, batch_, sequence_, attention_, optimizer_;
  bool json_ = false, fused_ = false, cuda_graph_ = false;
};

}  // namespace

std::unique_ptr<Command> make_predict(CLI::App& app) {
  return std::make_unique<Predict>(app);
}

}  // namespace tessera
