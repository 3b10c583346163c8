// Random: every free GPU is as likely as any other.
#include <algorithm>

#include "sim/place/jobs/gang.hpp"

namespace tessera {

namespace {

class RandomGpus final : public GangPolicy {
 public:
  [[nodiscard]] std::vector<int> choose(const GpuPool& pool, int gpus, Rng& rng) const override {
    std::vector<int> free;
    for (int node = 0; node < pool.nodes(); ++node) pool.append_free(node, pool.free_in(node), free);
    const auto wanted = static_cast<std::size_t>(gpus);
    for (std::size_t i = 0; i < wanted; ++i)
      std::swap(free[i], free[i + rng.below(static_cast<std::uint32_t>(free.size() - i))]);
    free.resize(wanted);
    std::ranges::sort(free);
    return free;
  }
};

}  // namespace

std::unique_ptr<GangPolicy> make_gang_random(const ClusterSpec&, const Topology&) {
  return std::make_unique<RandomGpus>();
}

}  // namespace tessera
