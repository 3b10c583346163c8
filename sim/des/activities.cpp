#include "sim/des/activities.hpp"

#include <simgrid/s4u/Comm.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Exec.hpp>
#include <simgrid/s4u/Host.hpp>

#include <fmt/format.h>

#include <cmath>

#include "sim/base/error.hpp"
#include "sim/des/engine_config.hpp"

namespace tessera {

namespace s4u = simgrid::s4u;

struct Activities::Running {
  Activities* owner = nullptr;
  std::size_t index = 0;
  s4u::ActivityPtr activity;  // SimGrid does not own what it runs
  s4u::Host* host = nullptr;  // of an execution
  double bound = 0, weight = 0;
  Call ended;
};

// SimGrid's completion signal is one for the whole process and cannot be disconnected; there is one engine as well.
namespace {
constexpr double kMostPayload = 0x1p63;  // SimGrid's payloads are 64-bit integers
}

Activities::Activities(Guard& guard) : guard_(guard) {
  s4u::Activity::on_completion_cb([](const s4u::Activity& activity) {
    if (auto* running = const_cast<s4u::Activity&>(activity).get_data<Running>()) running->owner->finish(*running);
  });
}

Activities::~Activities() = default;

std::size_t Activities::fresh(Call ended) {
  if (free_.empty()) {
    free_.push_back(all_.size());
    all_.push_back(std::make_unique<Running>());
    all_.back()->index = free_.back();
  }
  const std::size_t index = free_.back();
  free_.pop_back();
  all_[index]->owner = this;
  all_[index]->ended = std::move(ended);
  return index;
}

void Activities::finish(Running& running) {
  ++completed_;
  ended_.clear();  // those of earlier call-backs
  ended_.push_back(std::move(running.activity));
  ended_.back()->set_data(nullptr);
  const Call ended = std::move(running.ended);
  free_.push_back(running.index);
  guard_.call(ended, Seconds(simgrid::s4u::Engine::get_clock()));
}

Activities::Execution Activities::execute(s4u::Host& host, double amount, double bound, double weight, Call ended) {
  const std::size_t index = fresh(std::move(ended));
  Running& running = *all_[index];
  running.host = &host;
  running.bound = bound;
  running.weight = weight;
  execute(running, amount);
  return index;
}

void Activities::execute(Running& running, double amount) {
  const s4u::ExecPtr exec = s4u::Exec::init();
  exec->set_flops_amount(amount)->set_bound(running.bound)->set_priority(running.weight);
  exec->set_data(&running);
  running.activity = exec;
  exec->set_host(running.host)->start();
}

void Activities::suspend(Execution execution) {
  all_[execution]->activity->suspend();
}

// 3.32 does not note that an activity was resumed, and would ignore it if it were suspended again: a new one does the
// rest.
void Activities::resume(Execution execution) {
  Running& running = *all_[execution];
  discarded_.push_back(std::move(running.activity));
  s4u::Activity& old = *discarded_.back();
  const double left = old.get_remaining();
  old.set_data(nullptr);
  old.cancel();
  execute(running, left);
}

double Activities::remaining(Execution execution) const {
  return all_[execution]->activity->get_remaining();
}

void Activities::transfer(s4u::Host& from, s4u::Host& to, Bytes size, Call ended) {
  Running& running = *all_[fresh(std::move(ended))];
  const double payload = std::max(1.0, std::round(size.value() * kPayloadPerByte));
  if (payload > kMostPayload)
    throw RunError(fmt::format("a flow of {:.3g} bytes is more than the event loop counts, {:.3g}", size.value(),
                               kMostPayload / kPayloadPerByte));
  const s4u::CommPtr flow = s4u::Comm::sendto_init();
  flow->set_payload_size(static_cast<std::uint64_t>(payload));
  flow->set_data(&running);
  running.activity = flow;
  flow->set_source(&from)->set_destination(&to);  // the destination starts it
}

}  // namespace tessera
