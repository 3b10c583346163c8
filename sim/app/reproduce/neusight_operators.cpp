// Operators that the artifact measured one by one inside models.
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "sim/app/reproduce/neusight_experiments.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/cluster/gpu.hpp"
#include "sim/graph/kernel.hpp"

namespace tessera {
namespace {

struct Published {
  std::string_view method, column;
};
constexpr std::array kPublished{Published{"NeuSight", "neusight_ms"}, Published{"Habitat", "habitat_ms"},
                                Published{"Li et al.", "micro_ms"}, Published{"roofline (paper)", "roofline_ms"}};
/// Models that the paper counts as out of distribution.
constexpr std::array<std::string_view, 2> kUnseenModels{"gpt3", "opt"};

std::vector<double> numbers(std::string_view text) {
  std::vector<double> values;
  for (const std::string& part : split(text, ',')) {
    double value = 0;
    std::from_chars(part.data(), part.data() + part.size(), value);
    values.push_back(value);
  }
  return values;
}

/// "linear:b,m,k,n", "add:rows,h", "mem:bytes".
std::optional<Kernel> kernel_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const std::string name = text.substr(0, colon);
  const std::vector<double> v = numbers(std::string_view(text).substr(colon + 1));
  const auto whole = [&](std::size_t i) { return static_cast<std::int64_t>(v[i]); };
  if (name == "mem") return Kernel{Op::memory, Dtype::fp32, MemoryShape{Bytes(v[0] / 2), Bytes(v[0] / 2)}};
  const auto op = parse_op(name == "ln" ? "layernorm" : name);
  if (!op) return std::nullopt;
  if (v.size() == 4) {
    const bool linear = *op == Op::linear;
    return Kernel{*op, Dtype::fp32,
                  GemmShape{.batch = whole(0),
                            .m = whole(1),
                            .n = whole(3),
                            .k = whole(2),
                            .layout = linear ? GemmLayout::tn : GemmLayout::nn,
                            .bias = linear}};
  }
  return v.size() == 2 ? std::optional(Kernel{*op, Dtype::fp32, VectorShape{whole(0), whole(1)}}) : std::nullopt;
}

/// All kernels of a row, or none where one of them is not known or empty.
std::vector<Kernel> kernels_of(std::string_view text) {
  std::vector<Kernel> kernels;
  for (const std::string& part : split(text, ';')) {
    const auto kernel = kernel_of(part);
    if (!kernel || shape_error(*kernel)) return {};
    kernels.push_back(*kernel);
  }
  return kernels;
}

/// A second operand that is broadcast is hardly read: the kernel moves what that of one tensor and a number moves.
void use_real_operands(std::vector<Kernel>& kernels, const std::string& direction, double inputs, double outputs) {
  static constexpr std::array kOneTensor{std::pair{Op::add, Op::addu}, std::pair{Op::mul, Op::mulu},
                                         std::pair{Op::div, Op::divu}, std::pair{Op::pow, Op::powu}};
  constexpr double kBroadcast = 1.5;  // of two full operands the inputs are twice the outputs
  if (kernels.size() != 1 || direction != "fw" || inputs <= 0 || inputs >= kBroadcast * outputs) return;
  for (const auto& [two, one] : kOneTensor) {
    if (kernels.front().op == two) {
      kernels.front().op = one;
      return;
    }
  }
}

/// Our own backward of a node, where the artifact's kernels stand for less than what runs: a norm's moves its operands
/// in one kernel, a softmax's is a product and a kernel over rows.
std::vector<Kernel> own_backward(const std::vector<Kernel>& kernels, std::string_view kind,
                                 std::string_view direction) {
  if (direction != "bw") return kernels;
  if (kind == "VECln") return {{Op::layernorm_backward, Dtype::fp32, kernels.front().shape}};
  if (kind != "VECsoftmax") return kernels;
  return {kernels.front(), {Op::softmax_backward, Dtype::fp32, kernels.front().shape}};
}

/// Models of this program; rebuilt ones know the artifact's kernels only.
bool knows_backwards(std::string_view contender) {
  return contender.starts_with("Tessera") || contender == "roofline";
}

std::string class_of(Op op) {
  if (op == Op::bmm || op == Op::linear || op == Op::softmax || op == Op::layernorm || op == Op::memory) {
    return std::string(to_string(op));
  }
  return "elementwise";
}

/// A call between two events: the first kernel with the launch floor, the others behind it without.
std::optional<Seconds> price(const std::vector<Kernel>& kernels, const GpuSpec& gpu, const LatencyModel& model,
                             std::string& reason) {
  try {
    const std::span<const Kernel> all(kernels);
    Seconds time = model.predict(all.first(1), gpu, {Timing::eager, Residency::warm}).front().time.p50;
    for (const KernelCost& cost : model.predict(all.subspan(1), gpu, {Timing::graph, Residency::warm})) {
      time += cost.time.p50;
    }
    return time;
  } catch (const RunError& error) {
    reason = error.what();
    return std::nullopt;
  }
}

/// Columns by name, of one row.
class Cells {
 public:
  Cells(const CsvTable& table, std::size_t row) : table_(table), row_(row) {}
  [[nodiscard]] std::string text(std::string_view column) const {
    return std::string(table_.cell(row_, table_.need(column)));
  }
  /// Empty where the table has no such column: the public repository's has no `kind`.
  [[nodiscard]] std::string_view text_if_there(std::string_view column) const {
    const auto index = table_.column(column);
    return index ? table_.cell(row_, *index) : std::string_view();
  }
  [[nodiscard]] double number(std::string_view column) const {
    return table_.number(row_, table_.need(column)).value_or(0);
  }
  [[nodiscard]] std::optional<Seconds> time(std::string_view column) const {
    const auto value = table_.number(row_, table_.need(column));
    return value ? std::optional(Seconds(*value * 1e-3)) : std::nullopt;
  }

 private:
  const CsvTable& table_;
  std::size_t row_;
};

std::string where_of(std::string_view gpu, std::string_view graph) {
  if (gpu.starts_with("MI")) return "amd";
  for (const std::string_view model : kUnseenModels) {
    if (graph.starts_with(model)) return "out";
  }
  return seen_by_neusight(gpu) ? "in" : "out";
}

}  // namespace

Comparison compare_operators(NeuSightData& data, const Contenders& contenders, const ReproduceOptions& options) {
  options.progress("operators inside models");
  const CsvTable table = data.operators();
  Comparison all;
  for (const Published& published : kPublished) all.methods.emplace_back(published.method);
  for (const Contender& contender : contenders.list) all.methods.push_back(contender.name);
  std::map<std::string, GpuSpec> gpus;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const Cells cells(table, row);
    const std::string gpu = cells.text("gpu");
    const auto measured = cells.time("measured_ms");
    std::vector<Kernel> kernels = kernels_of(cells.text("ops"));
    use_real_operands(kernels, cells.text("dir"), cells.number("in_elems"), cells.number("out_elems"));
    if (!data.known(gpu) || kernels.empty() || !measured || *measured <= Seconds(0) || cells.text("suspect") == "1")
      continue;
    if (!gpus.contains(gpu)) gpus[gpu] = find_gpu(gpu);
    const std::string op = class_of(kernels.front().op), kind(cells.text_if_there("kind"));
    Entry entry{{{"gpu", gpu},
                 {"op", op},
                 {"kind", kind.empty() ? op : kind},
                 {"graph", cells.text("graph")},
                 {"repeat", cells.text("repeat")},
                 {"direction", cells.text("dir")},
                 {"where", where_of(gpu, cells.text("graph"))}},
                *measured,
                {}};
    for (const Published& published : kPublished) entry.predicted.push_back(cells.time(published.column));
    const std::vector<Kernel> own = own_backward(kernels, kind, entry.key("direction"));
    for (const Contender& contender : contenders.list) {
      std::string reason;
      entry.predicted.push_back(
          price(knows_backwards(contender.name) ? own : kernels, gpus[gpu], *contender.model, reason));
      if (!entry.predicted.back()) ++all.not_run[contender.name + ": " + reason];
    }
    all.entries.push_back(std::move(entry));
  }
  return all;
}

namespace {

/// Of one run and class: how many nodes it has, and how many of them each method prices.
struct Total {
  Entry sum;
  std::size_t nodes = 0;
  std::vector<std::size_t> priced;
};

double repeats(const Entry& entry) {
  const std::string_view text = entry.key("repeat");
  double value = 1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void add_node(Total& total, const Entry& node) {
  if (total.nodes++ == 0) {
    total.sum = {node.keys, Seconds(0), std::vector<std::optional<Seconds>>(node.predicted.size(), Seconds(0))};
    total.priced.resize(node.predicted.size());
  }
  const double repeat = repeats(node);
  total.sum.measured += repeat * node.measured;
  for (std::size_t m = 0; m < node.predicted.size(); ++m) {
    if (!node.predicted[m]) continue;
    *total.sum.predicted[m] += repeat * *node.predicted[m];
    ++total.priced[m];
  }
}

}  // namespace

Comparison totals_per_run(const Comparison& operators) {
  std::map<std::array<std::string_view, 3>, Total> totals;
  for (const Entry& node : operators.entries)
    add_node(totals[{node.key("gpu"), node.key("graph"), node.key("op")}], node);
  Comparison runs{operators.methods, {}, {}};
  for (auto& [key, total] : totals) {
    for (std::size_t m = 0; m < total.priced.size(); ++m) {
      if (total.priced[m] < total.nodes) total.sum.predicted[m].reset();
    }
    runs.entries.push_back(std::move(total.sum));
  }
  return runs;
}

}  // namespace tessera
