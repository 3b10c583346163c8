#include <optional>

#include "calibration/aiconfigurator.hpp"
#include "calibration/cells.hpp"

namespace tessera {

namespace {

struct Columns {
  std::size_t source, batch, q, heads, kv_heads, dim, dtype, cache_dtype, beam, step, time;
  std::optional<std::size_t> window;

  explicit Columns(const CsvTable& table)
      : source(table.need("kernel_source")),
        batch(table.need("batch_size")),
        q(table.need("isl")),
        heads(table.need("num_heads")),
        kv_heads(table.need("num_key_value_heads")),
        dim(table.need("head_dim")),
        dtype(table.need("attn_dtype")),
        cache_dtype(table.need("kv_cache_dtype")),
        beam(table.need("beam_width")),
        step(table.need("step")),
        time(table.need("latency")),
        window(table.column("window_size")) {}
};

// A kernel for head width 512 that no other GPU runs, 3 to 50 times slower at decoding than its neighbours.
constexpr std::string_view kUntunedSource = "vllm_flash_attn_fa4";

// This file's grouped-query rows read their cache at 1.3 to 1.6 times the bandwidth of device memory, and ten times
// what L2 holds: sequences share cache pages there. Not for fitting.
constexpr std::string_view kAliasedGpu = "A100-SXM-80GB", kAliasedFile = "generation_attention__trtllm-1.0.0.csv.gz";

/// bf16 throughout, no sliding window, no beams.
bool plain(const CsvTable& table, std::size_t row, const Columns& c) {
  return table.cell(row, c.dtype) == "bfloat16" && table.cell(row, c.cache_dtype) == "bfloat16" &&
         table.integer(row, c.beam) == 1 && (!c.window || table.integer(row, *c.window).value_or(0) == 0);
}

AttentionShape shape_of(const CsvTable& table, std::size_t row, const Columns& c, Op op) {
  AttentionShape shape{.batch = dimension_at(table, row, c.batch),
                       .q_len = dimension_at(table, row, c.q),
                       .kv_len = table.integer(row, c.step).value_or(0),
                       .heads = dimension_at(table, row, c.heads),
                       .kv_heads = table.integer(row, c.kv_heads).value_or(0),
                       .head_dim = dimension_at(table, row, c.dim)};
  if (shape.kv_heads == 0) shape.kv_heads = shape.heads;  // 0: every head has its own
  if (op == Op::attention_prefill) shape.kv_len += shape.q_len;
  return shape;
}

void append(const std::filesystem::path& file, std::string_view gpu, Op op, std::uint16_t session, Dataset& data) {
  const CsvTable table = CsvTable::read(file);
  const Columns columns(table);
  const Runtime runtime = aic_runtime(file);
  const bool aliased = gpu == kAliasedGpu && file.filename() == kAliasedFile;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (!plain(table, row, columns)) continue;
    const AttentionShape shape = shape_of(table, row, columns, op);
    const Kernel kernel{op, Dtype::bf16, shape};
    const bool alias = aliased && shape.heads != shape.kv_heads;
    const bool untuned = table.cell(row, columns.source) == kUntunedSource;
    if (const auto mistake = shape_error(kernel)) throw InputError(table.at(row, columns.batch, *mistake));
    data.samples.push_back({.gpu = data.gpu_index(gpu),
                            .session = session,
                            .fit = op != Op::attention_decode || !(alias || untuned),
                            .kernel = kernel,
                            .context = {Timing::graph, Residency::rotated, runtime},
                            .time = milliseconds_at(table, row, columns.time)});
  }
}

Dataset read(const std::filesystem::path& data, std::string_view table, Op op) {
  Dataset out;
  for (const AicSystem& system : aic_systems()) {
    std::uint16_t session = 0;
    for (const auto& file : aic_files(data, system, table)) append(file, system.gpu, op, session++, out);
  }
  return with_rows_to_fit(std::move(out), data / "kernels" / "aiconfigurator");
}

}  // namespace

Dataset read_aic_prefill(const std::filesystem::path& data) {
  return read(data, "context_attention", Op::attention_prefill);
}

Dataset read_aic_decode(const std::filesystem::path& data) {
  return read(data, "generation_attention", Op::attention_decode);
}

}  // namespace tessera
