#include "calibration/neusight.hpp"
#include "sim/config/csv.hpp"

namespace tessera {

Dataset read_neusight_conv(const std::filesystem::path& data) {
  Dataset out;
  const CsvTable table = CsvTable::read(data / "neusight" / "conv.csv.gz");
  const std::size_t gpu = table.need("gpu"), split = table.need("split"), b = table.need("b"), in = table.need("c_in"),
                    c_out = table.need("c_out"), kernel = table.need("ksize"), image = table.need("hw"),
                    stride = table.need("stride"), pad = table.need("pad"), time = table.need("latency_ms");
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const ConvShape shape{.batch = table.integer(row, b).value_or(0),
                          .c_in = table.integer(row, in).value_or(0),
                          .c_out = table.integer(row, c_out).value_or(0),
                          .kernel = table.integer(row, kernel).value_or(0),
                          .image = table.integer(row, image).value_or(0),
                          .stride = table.integer(row, stride).value_or(1),
                          .pad = table.integer(row, pad).value_or(0)};
    out.samples.push_back({.gpu = out.gpu_index(table.cell(row, gpu)),
                           .fit = table.cell(row, split) == "train",
                           .kernel = {Op::conv2d, Dtype::fp32, shape},
                           .context = {Timing::eager, Residency::warm},
                           .time = Seconds(table.number(row, time).value_or(0) * 1e-3)});
  }
  return out;
}

}  // namespace tessera
