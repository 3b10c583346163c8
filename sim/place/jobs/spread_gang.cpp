// Spread: as many nodes as can be, in turns of one GPU, the emptiest nodes first.
#include <algorithm>

#include "sim/place/jobs/gang.hpp"

namespace tessera {

namespace {

class Spread final : public GangPolicy {
 public:
  [[nodiscard]] std::vector<int> choose(const GpuPool& pool, int gpus, Rng&) const override {
    std::vector<std::vector<int>> by_free(static_cast<std::size_t>(pool.gpus_per_node()) + 1);
    for (int node = 0; node < pool.nodes(); ++node)
      by_free[static_cast<std::size_t>(pool.free_in(node))].push_back(node);
    std::vector<int> order;
    for (std::size_t free = by_free.size() - 1; free > 0; --free)
      order.insert(order.end(), by_free[free].begin(), by_free[free].end());
    std::vector<int> count(order.size());
    for (std::size_t i = 0; gpus > 0; i = (i + 1) % order.size()) {
      if (count[i] == pool.free_in(order[i])) continue;
      ++count[i];
      --gpus;
    }
    std::vector<int> chosen;
    for (std::size_t i = 0; i < order.size() && count[i] > 0; ++i) pool.append_free(order[i], count[i], chosen);
    return chosen;
  }
};

}  // namespace

std::unique_ptr<GangPolicy> make_gang_spread(const ClusterSpec&, const Topology&) {
  return std::make_unique<Spread>();
}

}  // namespace tessera
