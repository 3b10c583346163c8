// Which component fails next, and when.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/rng.hpp"
#include "sim/base/units.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/place/jobs/job.hpp"

namespace tessera {

struct Failure {
  enum class Kind : std::uint8_t { gpu, node, link } kind = Kind::gpu;
  std::uint32_t component = 0;  // GPU, node or directed link
};

/// The failures of all components, whether in service or not, are one Poisson process (exponential intervals have no
/// memory); whoever is out of service does not notice. Not modelled: ageing, infant mortality, failures that come
/// together (a rack's power), silent data corruption.
class FailureProcess {
 public:
  FailureProcess(const ClusterSpec& cluster, const Topology& topology, const FaultSpec& faults, Rng rng);

  /// Date of the next failure; infinite where nothing fails.
  [[nodiscard]] Seconds next() const { return next_; }
  /// The component that fails at `next`, which moves on.
  Failure take();
  /// Of a job on so many components.
  static Hertz rate(const FaultSpec& faults, int gpus, int nodes, std::size_t directed_links);

 private:
  void draw(Seconds from);

  std::uint32_t gpus_, nodes_;
  std::vector<std::uint32_t> links_;
  double gpu_rate_, node_rate_, link_rate_;  // of all of a kind, per second
  Rng rng_;
  Seconds next_;
};

}  // namespace tessera
