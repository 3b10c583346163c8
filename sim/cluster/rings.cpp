// Rings for collectives where GPUs have links of their own to each other, as NCCL's topology search lays them.
#include <algorithm>
#include <numeric>

#include "sim/cluster/interconnect.hpp"

namespace tessera {

namespace {

constexpr std::size_t kMostGpus = 8;  // 2,520 ways around; beyond, the search is too long

using Ring = std::vector<std::size_t>;  // positions in the group, beginning with 0

/// Free links per pair; the same in both directions.
struct Lanes {
  std::size_t size;
  std::vector<int> free;
  int& operator()(std::size_t a, std::size_t b) { return free[a * size + b]; }

  /// Takes (`count` -1) or gives back (1) a link of every pair of the ring; false, and nothing taken, if one lacks.
  bool change(const Ring& ring, int count) {
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const std::size_t a = ring[i], b = ring[(i + 1) % ring.size()];
      (*this)(a, b) += count;
      (*this)(b, a) += count;
      if ((*this)(a, b) >= 0) continue;
      for (std::size_t j = 0; j <= i; ++j) {
        const std::size_t c = ring[j], d = ring[(j + 1) % ring.size()];
        (*this)(c, d) -= count;
        (*this)(d, c) -= count;
      }
      return false;
    }
    return true;
  }
  /// No more rings than half of the links of the GPU that has fewest.
  [[nodiscard]] std::size_t most_rings() const {
    int fewest = std::accumulate(free.begin(), free.end(), 0);
    for (std::size_t a = 0; a < size; ++a) {
      const auto row = free.begin() + static_cast<std::ptrdiff_t>(a * size);
      fewest = std::min(fewest, std::accumulate(row, row + static_cast<std::ptrdiff_t>(size), 0));
    }
    return static_cast<std::size_t>(fewest / 2);
  }
};

/// Every way around all GPUs, one direction each.
std::vector<Ring> ways_around(Lanes& lanes) {
  std::vector<Ring> rings;
  Ring ring(lanes.size);
  std::iota(ring.begin(), ring.end(), 0);
  do {
    if (ring[1] > ring.back() || !lanes.change(ring, -1)) continue;
    lanes.change(ring, 1);
    rings.push_back(ring);
  } while (std::next_permutation(ring.begin() + 1, ring.end()));
  return rings;
}

/// Extends `chosen` by rings from `first` on; keeps the longest list in `best`, up to `most`.
void pack(const std::vector<Ring>& rings, std::size_t first, std::size_t most, Lanes& lanes, std::vector<Ring>& chosen,
          std::vector<Ring>& best) {
  if (chosen.size() > best.size()) best = chosen;
  for (std::size_t i = first; i < rings.size() && best.size() < most; ++i) {
    if (!lanes.change(rings[i], -1)) continue;
    chosen.push_back(rings[i]);
    pack(rings, i, most, lanes, chosen, best);
    chosen.pop_back();
    lanes.change(rings[i], 1);
  }
}

}  // namespace

std::vector<std::vector<int>> Interconnect::rings(const std::vector<int>& gpus) const {
  const std::size_t size = gpus.size();
  const bool mesh = kind_ == IntraNode::hybrid_cube_mesh || kind_ == IntraNode::full_mesh;
  if (!mesh || size < 2 || size > kMostGpus) return {gpus};
  if (size == 2) return std::vector(at(std::max(1, lanes(gpus[0], gpus[1]))), gpus);
  Lanes free{size, {}};
  for (const int a : gpus) {
    for (const int b : gpus) free.free.push_back(lanes(a, b));
  }
  std::vector<Ring> chosen, best;
  pack(ways_around(free), 0, free.most_rings(), free, chosen, best);
  std::vector<std::vector<int>> rings;
  for (const Ring& ring : best) {
    std::vector<int> forth;
    for (const std::size_t position : ring) forth.push_back(gpus[position]);
    rings.emplace_back(forth.rbegin(), forth.rend());
    rings.push_back(std::move(forth));
  }
  if (rings.empty()) rings.push_back(gpus);
  return rings;
}

}  // namespace tessera
