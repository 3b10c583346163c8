#include "sim/app/validation/kernel_rows.hpp"

#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace tessera {
namespace {

/// Operators of the contract; those after them exist only inside models.
constexpr Op kLastOp = Op::moe;

std::optional<Op> read_op(RowReader& row) {
  const std::string_view name = row.need("op");
  const std::optional<Op> op = parse_op(name);
  if (op && *op <= kLastOp) return op;
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(kLastOp); ++i) names.emplace_back(to_string(static_cast<Op>(i)));
  if (!name.empty()) row.mistake("op", fmt::format("unknown operator '{}'{}", name, did_you_mean(name, names)));
  return std::nullopt;
}

Dtype read_dtype(RowReader& row) {
  const std::string_view name = row.need("dtype");
  if (const auto dtype = parse_dtype(name)) return *dtype;
  std::vector<std::string> names;
  for (const Dtype dtype : kDtypes) names.emplace_back(to_string(dtype));
  if (!name.empty()) row.mistake("dtype", fmt::format("unknown dtype '{}'{}", name, did_you_mean(name, names)));
  return Dtype::fp32;
}

/// torch.bmm multiplies row-major matrices; a linear layer stores its weight transposed.
GemmLayout read_layout(RowReader& row, bool batched) {
  const std::string_view layout = row.text("layout");
  if (layout.empty()) return batched ? GemmLayout::nn : GemmLayout::tn;
  if (layout == "nn") return GemmLayout::nn;
  if (layout == "nt") return GemmLayout::nt;
  if (layout != "tn") row.mistake("layout", fmt::format("expected nn, tn or nt, found '{}'", layout));
  return GemmLayout::tn;
}

Shape read_gemm(RowReader& row, Op op) {
  const bool batched = op == Op::bmm;
  return GemmShape{.batch = batched ? row.need_integer("b") : 1,
                   .m = row.need_integer("m"),
                   .n = row.need_integer("n"),
                   .k = row.need_integer("k"),
                   .layout = read_layout(row, batched),
                   .bias = op == Op::linear};
}

Shape read_conv(RowReader& row) {
  return ConvShape{.batch = row.need_integer("b"),
                   .c_in = row.need_integer("c_in"),
                   .c_out = row.need_integer("c_out"),
                   .kernel = row.need_integer("ksize"),
                   .image = row.need_integer("hw"),
                   .stride = row.integer("stride", 1),
                   .pad = row.integer("pad", 0)};
}

Shape read_attention(RowReader& row) {
  return AttentionShape{.batch = row.need_integer("batch"),
                        .q_len = row.need_integer("q_len"),
                        .kv_len = row.need_integer("kv_len"),
                        .heads = row.need_integer("heads"),
                        .kv_heads = row.need_integer("kv_heads"),
                        .head_dim = row.need_integer("head_dim")};
}

Shape read_moe(RowReader& row) {
  return MoeShape{.tokens = row.need_integer("tokens"),
                  .hidden = row.need_integer("hidden"),
                  .inter = row.need_integer("inter"),
                  .topk = row.need_integer("topk"),
                  .experts = row.need_integer("experts")};
}

Shape read_shape(RowReader& row, Op op) {
  switch (op) {
    case Op::gemm:
    case Op::linear:
    case Op::bmm:
      return read_gemm(row, op);
    case Op::conv2d:
    case Op::conv2d_dgrad:
    case Op::conv2d_wgrad:
      return read_conv(row);
    case Op::attention_prefill:
    case Op::attention_decode:
      return read_attention(row);
    case Op::moe:
      return read_moe(row);
    default:
      return VectorShape{.rows = row.need_integer("rows"), .h = row.need_integer("h")};
  }
}

Outcome outcome_of(const KernelCost& cost) {
  return {.prediction = Prediction{cost.time, cost.provenance}, .unsupported = {}};
}

/// A batch fails as a whole; then its kernels are asked one by one, so that only those that cannot run are left out.
void predict_batch(std::span<const KernelRow> all, std::span<const std::size_t> batch, const LatencyModel& model,
                   std::vector<Outcome>& outcomes) {
  std::vector<Kernel> kernels;
  kernels.reserve(batch.size());
  for (const std::size_t i : batch) kernels.push_back(all[i].kernel);
  const KernelRow& first = all[batch.front()];
  try {
    const std::vector<KernelCost> costs = model.predict(kernels, *first.gpu, first.context);
    for (std::size_t i = 0; i < batch.size(); ++i) outcomes[batch[i]] = outcome_of(costs[i]);
  } catch (const RunError& error) {
    if (batch.size() == 1) {
      outcomes[batch.front()].unsupported = error.what();
      return;
    }
    predict_batch(all, batch.first(batch.size() / 2), model, outcomes);
    predict_batch(all, batch.subspan(batch.size() / 2), model, outcomes);
  }
}

}  // namespace

PredictContext read_kernel_context(RowReader& row) {
  const std::string_view timing = row.text("timing");
  const Runtime runtime = parse_runtime(row.text("runtime"));
  if (timing == "eager") return {.timing = Timing::eager, .residency = Residency::warm, .runtime = runtime};
  if (!timing.empty() && timing != "graph") {
    row.mistake("timing", fmt::format("expected graph or eager, found '{}'", timing));
  }
  return {.timing = Timing::graph, .residency = Residency::rotated, .runtime = runtime};
}

KernelRow read_kernel_row(RowReader& row, Catalogue& catalogue) {
  KernelRow result;
  result.kernel.dtype = read_dtype(row);
  if (const std::optional<Op> op = read_op(row)) {
    result.kernel.op = *op;
    result.kernel.shape = read_shape(row, *op);
  }
  result.context = read_kernel_context(row);
  result.gpu = catalogue.gpu(row);
  return result;
}

std::vector<Outcome> predict_kernel_rows(const CsvTable& table, std::span<const std::size_t> rows,
                                         const std::map<std::string, std::string>& defaults, Catalogue& catalogue,
                                         const LatencyModel& model, RuntimeColumn runtime, Mistakes& mistakes) {
  std::vector<KernelRow> kernels;
  kernels.reserve(rows.size());
  std::map<std::tuple<std::string, Timing, Runtime>, std::vector<std::size_t>> batches;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t before = mistakes.count();
    RowReader reader(table, rows[i], defaults, mistakes);
    kernels.push_back(read_kernel_row(reader, catalogue));
    if (runtime == RuntimeColumn::ignored) kernels.back().context.runtime = Runtime::unspecified;
    if (mistakes.count() != before) continue;
    if (const auto wrong = shape_error(kernels.back().kernel)) {
      reader.mistake("op", *wrong);
      continue;
    }
    const PredictContext& context = kernels.back().context;
    batches[{kernels.back().gpu->name, context.timing, context.runtime}].push_back(i);
  }
  std::vector<Outcome> outcomes(rows.size());
  for (const auto& [key, batch] : batches) predict_batch(kernels, batch, model, outcomes);
  return outcomes;
}

}  // namespace tessera
