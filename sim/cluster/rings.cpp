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

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// The GPUs that a ring passes, those that only hand on included; `relays`: by pair, kNone where it has links of its
/// own or nobody hands on.
Ring walk(const Ring& ring, const std::vector<std::size_t>& relays) {
  if (relays.empty()) return ring;
  Ring passed;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    passed.push_back(ring[i]);
    const std::size_t via = relays[ring[i] * ring.size() + ring[(i + 1) % ring.size()]];
    if (via != kNone) passed.push_back(via);
  }
  return passed;
}

/// Every way around all GPUs, one direction each.
std::vector<Ring> ways_around(Lanes& lanes, const std::vector<std::size_t>& relays) {
  std::vector<Ring> rings;
  Ring ring(lanes.size);
  std::iota(ring.begin(), ring.end(), 0);
  do {
    if (ring[1] > ring.back()) continue;
    const Ring passed = walk(ring, relays);
    if (!lanes.change(passed, -1)) continue;
    lanes.change(passed, 1);
    rings.push_back(ring);
  } while (std::next_permutation(ring.begin() + 1, ring.end()));
  return rings;
}

/// The most rings that share no link.
class Packing {
 public:
  Packing(Lanes lanes, std::vector<std::size_t> relays)
      : lanes_(std::move(lanes)), relays_(std::move(relays)), most_(lanes_.most_rings()) {}
  std::vector<Ring> best() {
    rings_ = ways_around(lanes_, relays_);
    extend(0);
    return best_;
  }

 private:
  void extend(std::size_t first) {
    if (chosen_.size() > best_.size()) best_ = chosen_;
    for (std::size_t i = first; i < rings_.size() && best_.size() < most_; ++i) {
      const Ring passed = walk(rings_[i], relays_);
      if (!lanes_.change(passed, -1)) continue;
      chosen_.push_back(rings_[i]);
      extend(i);
      chosen_.pop_back();
      lanes_.change(passed, 1);
    }
  }

  Lanes lanes_;
  std::vector<std::size_t> relays_;
  std::size_t most_;
  std::vector<Ring> rings_, chosen_, best_;
};

}  // namespace

/// Who hands on between two positions of the group that are no neighbours, where it is in the group itself.
std::vector<std::size_t> Interconnect::relays_within(const std::vector<int>& gpus) const {
  std::vector<std::size_t> relays;
  for (const int a : gpus) {
    for (const int b : gpus) {
      const std::size_t pair = at(a) * gpus_ + at(b);
      const bool neighbours = a == b || pair_[pair] != kNone;
      const auto via = neighbours ? gpus.end() : std::ranges::find(gpus, static_cast<int>(relay_[pair]));
      relays.push_back(via == gpus.end() ? kNone : static_cast<std::size_t>(via - gpus.begin()));
    }
  }
  return relays;
}

std::vector<std::vector<int>> Interconnect::rings(const std::vector<int>& gpus) const {
  const std::size_t size = gpus.size();
  const bool mesh = kind_ == IntraNode::hybrid_cube_mesh || kind_ == IntraNode::full_mesh;
  if (!mesh || size < 2 || size > kMostGpus) return {gpus};
  if (size == 2) return std::vector(at(std::max(1, lanes(gpus[0], gpus[1]))), gpus);
  Lanes free{size, {}};
  for (const int a : gpus) {
    for (const int b : gpus) free.free.push_back(lanes(a, b));
  }
  std::vector<Ring> best = Packing(free, {}).best();
  if (best.empty()) best = Packing(free, relays_within(gpus)).best();
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
