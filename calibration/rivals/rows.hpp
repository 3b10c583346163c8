// NeuSight's training rows: kernels of its five NVIDIA training GPUs, with the tiles they ran with.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "models/neusight/tile_table.hpp"

namespace tessera {

struct RivalRow {
  neusight::TileRow kernel;
  Seconds time;
};

/// The rows of one net under `data`/neusight that NeuSight trains on: split=train of bmm and linear, neusight_train=1
/// of the others, AMD left out. Tiles of matrices from the kernels' names; of elementwise kernels the next power of two
/// of elements per launched block; of softmax and LayerNorm a row. InputError where a file is not there.
std::vector<RivalRow> read_rival_rows(const std::filesystem::path& data, neusight::Kind net,
                                      std::span<const std::string> leave_out);

}  // namespace tessera
