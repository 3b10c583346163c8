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

/// The fewest hosts with so many ordered pairs.
std::size_t ports_for(std::size_t routes) {
  std::size_t ports = 0;
  while (routes > 0 && ports * (ports == 0 ? 0 : ports - 1) < routes) ++ports;
  return ports;
}

/// A zone that asks for the links of a route. Those in use are remembered.
class TopologyZone final : public sgrouting::NetZoneImpl {
 public:
  TopologyZone(const std::vector<EngineGpu>& gpus, EngineNetwork network)
      : NetZoneImpl("cluster"), network_(std::move(network)) {
    set_parent(nullptr);
    for (const Link& link : network_.links) {
      links_.push_back(link.bandwidth > BytesPerSec(0.0) ? make_link(link.name, link.bandwidth) : nullptr);
    }
    const std::size_t ports = ports_for(network_.routes);  // the first hosts, so that a port's number is its place
    for (std::size_t p = 0; p < ports; ++p) platform_.ports.push_back(create_host(fmt::format("port{}", p), {1.0}));
    for (const EngineGpu& gpu : gpus) {
      platform_.gpus.push_back({create_host(fmt::format("gpu{}", gpu.index), {static_cast<double>(gpu.sms)}),
                                create_host(fmt::format("gpu{}/hbm", gpu.index), {gpu.hbm.value()})});
    }
  }

  [[nodiscard]] const Platform& platform() const { return platform_; }

  void get_local_route(const sgrouting::NetPoint* from, const sgrouting::NetPoint* to, sgrouting::Route* into,
                       double* /*latency*/) override {
    const std::size_t source = from->id(), target = to->id();
    const Links& route = find_route(source * (platform_.ports.size() - 1) + (target < source ? target : target - 1));
    into->link_list_.insert(into->link_list_.end(), route.begin(), route.end());
  }

 private:
  simgrid::kernel::resource::StandardLinkImpl* make_link(const std::string& name, BytesPerSec bandwidth) {
    return create_link(name, {bandwidth.value() * kPayloadPerByte})->set_latency(0.0)->get_impl();
  }

  const Links& find_route(std::size_t number) {
    const auto [route, missing] = routes_.try_emplace(number);
    if (missing) {
      for (const LinkId id : network_.links_of(number)) {
        auto* link = links_[static_cast<std::size_t>(id)];
        TESSERA_ASSERT(link != nullptr, "a flow takes a link that was left out of the platform");
        route->second.push_back(link);
      }
    }
    return route->second;
  }

  EngineNetwork network_;
  Links links_;
  Platform platform_;
  std::unordered_map<std::size_t, Links> routes_;
};

}  // namespace

Platform build_platform(const std::vector<EngineGpu>& gpus, EngineNetwork network) {
  auto* zone = new TopologyZone(gpus, std::move(network));  // SimGrid's engine deletes it
  Platform platform = zone->platform();
  zone->get_iface()->seal();
  return platform;
}

}  // namespace tessera
