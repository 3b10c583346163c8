#include <array>
#include <optional>

#include "calibration/aiconfigurator.hpp"
#include "calibration/cells.hpp"

namespace tessera {

namespace {

struct AicGemm {
  std::string_view dtype, source;  // source empty: any
  Dtype ours;
};
constexpr std::array kGemms{
    AicGemm{"bfloat16", "", Dtype::bf16},
    AicGemm{"fp8", "CutlassFP8ScaledMMLinearKernel", Dtype::fp8},
    AicGemm{"nvfp4", "", Dtype::nvfp4},
};

std::optional<Dtype> dtype_of(std::string_view dtype, std::string_view source) {
  for (const AicGemm& gemm : kGemms) {
    if (gemm.dtype == dtype && (gemm.source.empty() || gemm.source == source)) return gemm.ours;
  }
  return std::nullopt;
}

void append(const std::filesystem::path& file, std::string_view gpu, std::uint16_t session, Dataset& data) {
  const CsvTable table = CsvTable::read(file);
  const Runtime runtime = aic_runtime(file);
  const std::size_t source = table.need("kernel_source"), dtype = table.need("gemm_dtype");
  const std::size_t m = table.need("m"), n = table.need("n"), k = table.need("k"), time = table.need("latency");
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto ours = dtype_of(table.cell(row, dtype), table.cell(row, source));
    if (!ours) continue;
    const GemmShape shape{
        .m = dimension_at(table, row, m), .n = dimension_at(table, row, n), .k = dimension_at(table, row, k)};
    data.samples.push_back({.gpu = data.gpu_index(gpu),
                            .session = session,
                            .kernel = {Op::gemm, *ours, shape},
                            .context = {Timing::graph, Residency::rotated, runtime},
                            .time = milliseconds_at(table, row, time)});
  }
}

}  // namespace

Dataset read_aic_gemm(const std::filesystem::path& data) {
  Dataset out;
  for (const AicSystem& system : aic_systems()) {
    std::uint16_t session = 0;
    for (const auto& file : aic_files(data, system, "gemm")) append(file, system.gpu, session++, out);
  }
  return with_rows_to_fit(std::move(out), data / "kernels" / "aiconfigurator");
}

}  // namespace tessera
