// Measured kernels in one shape, whatever their source.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/latency_model.hpp"
#include "sim/graph/kernel.hpp"

namespace tessera {

struct Sample {
  std::uint16_t gpu = 0;      // index into Dataset::gpus
  std::uint16_t session = 0;  // of one GPU: its files, runtimes and operators apart
  bool fit = true;            // false: only to measure errors on
  Kernel kernel{};
  PredictContext context{};
  Seconds time{};
};

struct Dataset {
  std::vector<std::string> gpus;  // names in platforms/gpus
  std::vector<Sample> samples;

  /// Index of a GPU; added where new.
  std::uint16_t gpu_index(std::string_view gpu);
};

/// At most `limit` samples per GPU, operator and use, taken at equal distances: the same ones every time.
Dataset thin(const Dataset& data, std::size_t limit);

}  // namespace tessera
