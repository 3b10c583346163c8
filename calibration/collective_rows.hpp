// Measured collectives in one shape, whatever their source.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "models/collectives/tuner.hpp"

namespace tessera {

/// The first GPUs of each node, equally many; what `n_gpus` over `n_nodes` means in a table of measurements.
std::vector<int> first_gpus(int n_gpus, int n_nodes, const ClusterSpec& cluster);

struct CollectiveSample {
  std::uint32_t machine = 0, shape = 0;  // indices into the data set
  CollectiveKind kind = CollectiveKind::all_reduce;
  Bytes bytes{};
  bool summable = true;  // by a switch
  Seconds time{};
};

/// A set of measurements on a platform; the fit counts each alike.
struct MeasuredMachine {
  std::string set, platform, gpu, machine_class;
};

struct CollectiveDataset {
  std::vector<MeasuredMachine> machines;
  std::vector<GroupShape> shapes;
  std::vector<CollectiveSample> samples;
};

/// Tables of `data`/network, thinned to at most `limit` rows per machine, collective, group, dtype and library, at
/// equal distances. Left out: sizes at which a source's wrapper shows more than the collective, and Vidur's two-node
/// rows, which reach 8 of the 25 GB/s of the NIC that their machine is said to have.
CollectiveDataset load_collectives(const std::filesystem::path& data, std::size_t limit);

}  // namespace tessera
