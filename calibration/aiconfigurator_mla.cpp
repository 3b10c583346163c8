#include "calibration/aiconfigurator.hpp"
#include "calibration/cells.hpp"

namespace tessera {

namespace {

struct Columns {
  std::size_t batch, q, heads, dtype, cache_dtype, step, time;

  explicit Columns(const CsvTable& table)
      : batch(table.need("batch_size")),
        q(table.need("isl")),
        heads(table.need("num_heads")),
        dtype(table.need("mla_dtype")),
        cache_dtype(table.need("kv_cache_dtype")),
        step(table.need("step")),
        time(table.need("latency")) {}
};

void append(const std::filesystem::path& file, std::string_view gpu, Op op, Dataset& data) {
  const CsvTable table = CsvTable::read(file);
  const Columns c(table);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.cell(row, c.dtype) != "bfloat16" || table.cell(row, c.cache_dtype) != "bfloat16") continue;
    MlaShape shape{.batch = dimension_at(table, row, c.batch),
                   .q_len = dimension_at(table, row, c.q),
                   .kv_len = table.integer(row, c.step).value_or(0),
                   .heads = dimension_at(table, row, c.heads)};
    if (op == Op::mla_prefill) shape.kv_len += shape.q_len;
    const Kernel kernel{op, Dtype::bf16, shape};
    if (const auto mistake = shape_error(kernel)) throw InputError(table.at(row, c.batch, *mistake));
    data.samples.push_back({.gpu = data.gpu_index(gpu),
                            .kernel = kernel,
                            .context = {Timing::graph, Residency::rotated, aic_runtime(file)},
                            .time = milliseconds_at(table, row, c.time)});
  }
}

Dataset read(const std::filesystem::path& data, std::string_view table, Op op) {
  Dataset out;
  for (const AicSystem& system : aic_systems()) {
    for (const auto& file : aic_files(data, system, table)) append(file, system.gpu, op, out);
  }
  return with_rows_to_fit(std::move(out), data / "kernels" / "aiconfigurator");
}

}  // namespace

Dataset read_aic_mla_prefill(const std::filesystem::path& data) {
  return read(data, "context_mla", Op::mla_prefill);
}

Dataset read_aic_mla_decode(const std::filesystem::path& data) {
  return read(data, "generation_mla", Op::mla_decode);
}

}  // namespace tessera
