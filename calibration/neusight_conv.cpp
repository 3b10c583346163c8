#include "calibration/cells.hpp"
#include "calibration/neusight.hpp"
#include "calibration/neusight_repository.hpp"

namespace tessera {

Dataset read_neusight_conv(const std::filesystem::path& data) {
  Dataset out;
  const CsvTable table = read_neusight(data, "conv");
  const std::size_t gpu = table.need("gpu"), split = table.need("split"), b = table.need("b"), in = table.need("c_in"),
                    c_out = table.need("c_out"), kernel = table.need("ksize"), image = table.need("hw"),
                    stride = table.need("stride"), pad = table.need("pad"), time = table.need("latency_ms");
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const ConvShape shape{.batch = dimension_at(table, row, b),
                          .c_in = dimension_at(table, row, in),
                          .c_out = dimension_at(table, row, c_out),
                          .kernel = dimension_at(table, row, kernel),
                          .image = dimension_at(table, row, image),
                          .stride = dimension_at(table, row, stride),
                          .pad = table.integer(row, pad).value_or(0)};
    out.samples.push_back({.gpu = out.gpu_index(table.cell(row, gpu)),
                           .fit = is_train(table, row, split),
                           .kernel = {Op::conv2d, Dtype::fp32, shape},
                           .context = {Timing::eager, Residency::warm, Runtime::pytorch},
                           .time = milliseconds_at(table, row, time)});
  }
  return with_rows_to_fit(std::move(out), data / "neusight");
}

}  // namespace tessera
