#include "sim/place/jobs/failures.hpp"

#include <cmath>
#include <limits>

#include "sim/place/jobs/traffic.hpp"

namespace tessera {

namespace {

double rate_of(const std::optional<Seconds>& mtbf, double components) {
  return mtbf ? components / mtbf->value() : 0;
}

}  // namespace

Hertz FailureProcess::rate(const FaultSpec& faults, int gpus, int nodes, std::size_t directed_links) {
  return Hertz(rate_of(faults.gpu_mtbf, gpus) + rate_of(faults.node_mtbf, nodes) +
               rate_of(faults.link_mtbf, static_cast<double>(directed_links) / 2));
}

FailureProcess::FailureProcess(const ClusterSpec& cluster, const Topology& topology, const FaultSpec& faults, Rng rng)
    : gpus_(static_cast<std::uint32_t>(cluster.gpus())), nodes_(static_cast<std::uint32_t>(cluster.nodes)), rng_(rng) {
  for (std::uint32_t link = 0; faults.link_mtbf && link < topology.links().size(); ++link)
    if (joins_nodes(topology.links()[link])) links_.push_back(link);
  gpu_rate_ = rate_of(faults.gpu_mtbf, gpus_);
  node_rate_ = rate_of(faults.node_mtbf, nodes_);
  link_rate_ = rate_of(faults.link_mtbf, static_cast<double>(links_.size()) / 2);  // a cable is two directed links
  draw(Seconds());
}

void FailureProcess::draw(Seconds from) {
  const double rate = gpu_rate_ + node_rate_ + link_rate_;
  next_ = rate > 0 ? from + Seconds(-std::log(1 - rng_.uniform()) / rate)
                   : Seconds(std::numeric_limits<double>::infinity());
}

Failure FailureProcess::take() {
  draw(next_);
  const double at = rng_.uniform() * (gpu_rate_ + node_rate_ + link_rate_);
  if (at < gpu_rate_) return {Failure::Kind::gpu, rng_.below(gpus_)};
  if (at < gpu_rate_ + node_rate_) return {Failure::Kind::node, rng_.below(nodes_)};
  return {Failure::Kind::link, links_[rng_.below(static_cast<std::uint32_t>(links_.size()))]};
}

}  // namespace tessera
