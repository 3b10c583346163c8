#include "sim/des/network.hpp"

#include <fmt/format.h>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u/Host.hpp>
#include <simgrid/s4u/Link.hpp>

#include <cstddef>
#include <string>
#include <unordered_map>

#include "sim/base/error.hpp"
#include "sim/des/engine_config.hpp"

namespace tessera {

namespace {

namespace s4u = simgrid::s4u;
namespace sgrouting = simgrid::kernel::routing;
using Links = std::vector<simgrid::kernel::resource::StandardLinkImpl*>;

/// A zone that asks our topology for the way. Routes in use are remembered.
class TopologyZone final : public sgrouting::NetZoneImpl {
 public:
  TopologyZone(const std::vector<EngineGpu>& gpus, EngineNetwork network)
      : NetZoneImpl("cluster"), gpus_(gpus), network_(std::move(network)) {
    set_parent(nullptr);
    for (const Link& link : network_.links) {
      links_.push_back(link.bandwidth > BytesPerSec(0.0) ? make_link(link.name, link.bandwidth) : nullptr);
    }
    for (const EngineGpu& gpu : gpus_) {
      hosts_.push_back({create_host(fmt::format("gpu{}", gpu.index), {static_cast<double>(gpu.sms)}), nullptr});
    }
    for (std::size_t g = 0; g < gpus_.size(); ++g) {  // after the SM pools, so that a pool's number is its GPU's
      hosts_[g].hbm = create_host(fmt::format("gpu{}/hbm", gpus_[g].index), {gpus_[g].hbm.value()});
    }
  }

  [[nodiscard]] const std::vector<GpuHosts>& hosts() const { return hosts_; }

  void get_local_route(const sgrouting::NetPoint* from, const sgrouting::NetPoint* to, sgrouting::Route* into,
                       double* /*latency*/) override {
    const Links& route = find_route(from->id(), to->id());
    into->link_list_.insert(into->link_list_.end(), route.begin(), route.end());
  }

 private:
  simgrid::kernel::resource::StandardLinkImpl* make_link(const std::string& name, BytesPerSec bandwidth) {
    return create_link(name, {bandwidth.value() * kPayloadPerByte})->set_latency(0.0)->get_impl();
  }

  const Links& find_route(std::size_t from, std::size_t to) {
    const auto [route, missing] = routes_.try_emplace((std::uint64_t{from} << 32) | to);
    if (missing) {
      for (const LinkId id : network_.path(gpus_[from].index, gpus_[to].index)) {
        auto* link = links_[static_cast<std::size_t>(id)];
        TESSERA_ASSERT(link != nullptr, "a flow takes a link that was left out of the platform");
        route->second.push_back(link);
      }
    }
    return route->second;
  }

  std::vector<EngineGpu> gpus_;
  EngineNetwork network_;
  Links links_;
  std::vector<GpuHosts> hosts_;
  std::unordered_map<std::uint64_t, Links> routes_;
};

}  // namespace

std::vector<GpuHosts> build_platform(const std::vector<EngineGpu>& gpus, EngineNetwork network) {
  auto* zone = new TopologyZone(gpus, std::move(network));  // SimGrid's engine deletes it
  std::vector<GpuHosts> hosts = zone->hosts();
  zone->get_iface()->seal();
  return hosts;
}

}  // namespace tessera
