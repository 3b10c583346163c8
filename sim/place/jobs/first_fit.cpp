// First fit: the free GPUs of the lowest numbers.
#include <algorithm>

#include "sim/place/jobs/gang.hpp"

namespace tessera {

namespace {

class FirstFit final : public GangPolicy {
 public:
  [[nodiscard]] std::vector<int> choose(const GpuPool& pool, int gpus, Rng&) const override {
    std::vector<int> chosen;
    for (int node = 0; gpus > 0; ++node) {
      const int here = std::min(gpus, pool.free_in(node));
      pool.append_free(node, here, chosen);
      gpus -= here;
    }
    return chosen;
  }
};

}  // namespace

std::unique_ptr<GangPolicy> make_gang_first_fit(const ClusterSpec&, const Topology&) {
  return std::make_unique<FirstFit>();
}

}  // namespace tessera
