#include <optional>

#include "calibration/aiconfigurator.hpp"
#include "calibration/cells.hpp"

namespace tessera {

namespace {

constexpr std::string_view kNotGated = "moe_torch_flow_nongated";

/// Block-scaled fp8 and 4-bit weights are other kernels.
std::optional<Dtype> dtype_of(std::string_view name) {
  if (name == "bfloat16") return Dtype::bf16;
  return name == "fp8" ? std::optional(Dtype::fp8) : std::nullopt;
}

void append(const std::filesystem::path& file, std::string_view gpu, std::uint16_t session, Dataset& data) {
  const CsvTable table = CsvTable::read(file);
  const std::size_t source = table.need("kernel_source"), dtype = table.need("moe_dtype"),
                    tokens = table.need("num_tokens"), hidden = table.need("hidden_size"),
                    inter = table.need("inter_size"), topk = table.need("topk"), experts = table.need("num_experts"),
                    tensor = table.need("moe_tp_size"), expert = table.need("moe_ep_size"),
                    time = table.need("latency");
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto format = dtype_of(table.cell(row, dtype));
    // With expert parallelism a rank holds some experts and sees an unstated share of the tokens.
    if (!format || table.integer(row, expert) != 1) continue;
    const MoeShape shape{.tokens = dimension_at(table, row, tokens),
                         .hidden = dimension_at(table, row, hidden),
                         .inter = dimension_at(table, row, inter) / dimension_at(table, row, tensor),
                         .topk = dimension_at(table, row, topk),
                         .experts = dimension_at(table, row, experts),
                         .gated = table.cell(row, source) != kNotGated};
    const Kernel kernel{Op::moe, *format, shape};
    if (const auto mistake = shape_error(kernel)) throw InputError(table.at(row, tokens, *mistake));
    data.samples.push_back({.gpu = data.gpu_index(gpu),
                            .session = session,
                            .kernel = kernel,
                            .context = {Timing::graph, Residency::rotated, aic_runtime(file)},
                            .time = milliseconds_at(table, row, time)});
  }
}

}  // namespace

Dataset read_aic_moe(const std::filesystem::path& data) {
  Dataset out;
  for (const AicSystem& system : aic_systems()) {
    for (const auto& file : aic_files(data, system, "moe")) append(file, system.gpu, 0, out);
  }
  return with_rows_to_fit(std::move(out), data / "kernels" / "aiconfigurator");
}

}  // namespace tessera
