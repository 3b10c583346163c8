#include "calibration/cells.hpp"
#include "calibration/neusight.hpp"
#include "calibration/neusight_repository.hpp"

namespace tessera {

namespace {

constexpr std::string_view kSlowLinearGpu = "P4";

void append(const std::filesystem::path& folder, Op op, Dataset& data) {
  const CsvTable table = read_neusight(folder, to_string(op));
  const std::size_t gpu = table.need("gpu"), split = table.need("split"), time = table.need("latency_ms");
  const std::size_t b = table.need("b"), m = table.need("m"), n = table.need("n"), k = table.need("k");
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const bool train = is_train(table, row, split);
    if (op == Op::linear && train && table.cell(row, gpu) == kSlowLinearGpu) continue;
    GemmShape shape{.batch = dimension_at(table, row, b),
                    .m = dimension_at(table, row, m),
                    .n = dimension_at(table, row, n),
                    .k = dimension_at(table, row, k),
                    .layout = op == Op::linear ? GemmLayout::tn : GemmLayout::nn,
                    .bias = op == Op::linear};
    data.samples.push_back({.gpu = data.gpu_index(table.cell(row, gpu)),
                            .session = static_cast<std::uint16_t>(op),
                            .fit = train,
                            .kernel = {op, Dtype::fp32, shape},
                            .context = {Timing::eager, Residency::warm, Runtime::pytorch},
                            .time = milliseconds_at(table, row, time)});
  }
}

}  // namespace

Dataset read_neusight_gemm(const std::filesystem::path& data) {
  Dataset out;
  append(data, Op::linear, out);
  append(data, Op::bmm, out);
  return with_rows_to_fit(std::move(out), data / "neusight");
}

}  // namespace tessera
