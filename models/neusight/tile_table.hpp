// Which tile a kernel will be cut into: that of the nearest kernel seen in training.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/neusight/law.hpp"
#include "models/neusight/operation.hpp"

namespace tessera::neusight {

/// A measured kernel of the training set: its shape, its GPU and the tile that it ran with.
struct TileRow {
  Operation operation;
  std::string gpu;
  Tile tile;
};

/// Raw and unscaled, so the peak in GFLOP/s decides. Matrices: b, m, k, n, SMs, GFLOP/s, GB, GB/s, MB. Vectors: rows,
/// h, the same five, bytes and operations per output.
std::array<double, 9> raw_features(const Operation& operation, const GpuNumbers& gpu);

class TileTable {
 public:
  explicit TileTable(std::vector<TileRow> rows);

  /// Softmax and LayerNorm: a whole row. Others: the tile of the row of the same operator whose raw features are
  /// nearest by Euclidean distance, the first of equals. RunError where the table holds no such operator.
  [[nodiscard]] Tile nearest(const Operation& operation, const GpuNumbers& gpu) const;
  [[nodiscard]] const std::vector<TileRow>& rows() const { return rows_; }

 private:
  struct Column {
    std::vector<std::array<double, 9>> features;
    std::vector<Tile> tiles;
  };
  std::vector<TileRow> rows_;
  std::map<Op, Column> columns_;
};

/// Columns op, gpu, b, m, n, k, tile_m, tile_n.
TileTable read_tiles(const std::filesystem::path& path);
void write_tiles(const std::filesystem::path& path, std::span<const TileRow> rows);

}  // namespace tessera::neusight
