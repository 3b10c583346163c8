// Packed: the fewest nodes; of those that hold the job, or what is left of it, the fullest.
#include <algorithm>
#include <numeric>

#include "sim/place/jobs/gang.hpp"

namespace tessera {

namespace {

constexpr int kNowhere = -1;

/// The node with the fewest free GPUs that are enough, the first of several.
int best_fit(const GpuPool& pool, std::span<const int> among, int gpus) {
  int best = kNowhere, least = pool.gpus_per_node() + 1;
  if (gpus >= least) return kNowhere;
  for (const int node : among) {
    const int here = pool.free_in(node);
    if (here >= gpus && here < least) best = node, least = here;
  }
  return best;
}

class Packed final : public GangPolicy {
 public:
  explicit Packed(int nodes) : all_(static_cast<std::size_t>(nodes)) { std::iota(all_.begin(), all_.end(), 0); }

  [[nodiscard]] std::vector<int> choose(const GpuPool& pool, int gpus, Rng&) const override {
    std::vector<int> chosen;
    pack_into(pool, all_, gpus, chosen);
    return chosen;
  }

 private:
  std::vector<int> all_;
};

}  // namespace

int pack_into(const GpuPool& pool, std::span<const int> among, int gpus, std::vector<int>& chosen) {
  if (const int node = best_fit(pool, among, gpus); node != kNowhere) {
    pool.append_free(node, gpus, chosen);
    return 0;
  }
  std::vector<int> order;
  for (const int node : among)
    if (pool.free_in(node) > 0) order.push_back(node);
  std::ranges::stable_sort(order, std::greater(), [&](int node) { return pool.free_in(node); });
  for (std::size_t i = 0; i < order.size() && gpus > 0; ++i) {
    const std::span rest = std::span(order).subspan(i);
    const int last = best_fit(pool, rest, gpus);
    const int node = last == kNowhere ? order[i] : last;
    const int here = std::min(gpus, pool.free_in(node));
    pool.append_free(node, here, chosen);
    gpus -= here;
  }
  return gpus;
}

std::unique_ptr<GangPolicy> make_gang_packed(const ClusterSpec& cluster, const Topology&) {
  return std::make_unique<Packed>(cluster.nodes);
}

}  // namespace tessera
