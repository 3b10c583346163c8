#include "sim/des/engine.hpp"

#include <fmt/format.h>
#include <simgrid/s4u/Engine.hpp>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/des/activities.hpp"
#include "sim/des/clock.hpp"
#include "sim/des/engine_config.hpp"
#include "sim/des/network.hpp"

namespace tessera {

class Engine::Impl {
 public:
  Impl(const std::vector<EngineGpu>& gpu_specs, EngineNetwork network)
      : simgrid(start_simgrid()), platform(build_platform(gpu_specs, std::move(network))) {}

  std::unique_ptr<simgrid::s4u::Engine> simgrid;
  Platform platform;
  Guard guard;
  Clock clock{guard};
  Activities activities{guard};
};

Engine::Engine(const std::vector<EngineGpu>& gpus, EngineNetwork network)
    : impl_(std::make_unique<Impl>(gpus, std::move(network))) {}

Engine::~Engine() = default;

Seconds Engine::now() const {
  return Clock::now();
}

void Engine::at(Seconds date, Call call) {
  impl_->clock.at(date, std::move(call));
}

void Engine::after_this_instant(Call call) {
  impl_->clock.after_this_instant(std::move(call));
}

Engine::Execution Engine::compute(std::size_t gpu, double sm_share, Seconds duration, Call ended) {
  return impl_->activities.execute(*impl_->platform.gpus[gpu].sms, sm_share * duration.value(), sm_share, sm_share,
                                   std::move(ended));
}

Engine::Execution Engine::memory(std::size_t gpu, double sm_share, Bytes size, BytesPerSec rate, Call ended) {
  return impl_->activities.execute(*impl_->platform.gpus[gpu].hbm, size.value(), rate.value(), sm_share,
                                   std::move(ended));
}

void Engine::suspend(Execution execution) {
  impl_->activities.suspend(execution);
}

void Engine::resume(Execution execution) {
  impl_->activities.resume(execution);
}

double Engine::remaining(Execution execution) const {
  return impl_->activities.remaining(execution);
}

void Engine::transfer(std::size_t route, Bytes size, Call ended) {
  const auto [from, to] = impl_->platform.ends(route);
  impl_->activities.transfer(*from, *to, size, std::move(ended));
}

void Engine::run() {
  impl_->simgrid->run();
  try {
    impl_->guard.rethrow();
  } catch (const std::exception& error) {
    throw RunError(fmt::format("the simulation failed at {}: {}", format(impl_->guard.failed_at()), error.what()));
  }
}

std::uint64_t Engine::events() const {
  return impl_->clock.events() + impl_->activities.completed();
}

}  // namespace tessera
