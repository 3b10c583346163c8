#include "sim/des/activities.hpp"

#include <simgrid/s4u/Comm.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Exec.hpp>
#include <simgrid/s4u/Host.hpp>

#include <cmath>

#include "sim/des/engine_config.hpp"

namespace tessera {

namespace s4u = simgrid::s4u;

struct Activities::Running {
  Activities* owner = nullptr;
  s4u::ActivityPtr activity;  // SimGrid does not own what it runs
  Call ended;
};

// SimGrid's completion signal is one for the whole process and cannot be disconnected; there is one engine as well.
Activities::Activities(Guard& guard) : guard_(guard) {
  s4u::Activity::on_completion_cb([](const s4u::Activity& activity) {
    if (auto* running = const_cast<s4u::Activity&>(activity).get_data<Running>()) running->owner->finish(*running);
  });
}

Activities::~Activities() = default;

Activities::Running& Activities::fresh(Call ended) {
  if (free_.empty()) {
    all_.push_back(std::make_unique<Running>());
    free_.push_back(all_.back().get());
  }
  Running& running = *free_.back();
  free_.pop_back();
  running.owner = this;
  running.ended = std::move(ended);
  return running;
}

void Activities::finish(Running& running) {
  ++completed_;
  ended_.clear();  // those of earlier call-backs
  ended_.push_back(std::move(running.activity));
  ended_.back()->set_data(nullptr);
  const Call ended = std::move(running.ended);
  free_.push_back(&running);
  guard_.call(ended, Seconds(simgrid::s4u::Engine::get_clock()));
}

void Activities::execute(s4u::Host& host, double amount, double bound, double weight, Call ended) {
  Running& running = fresh(std::move(ended));
  const s4u::ExecPtr exec = s4u::Exec::init();
  exec->set_flops_amount(amount)->set_bound(bound)->set_priority(weight);
  exec->set_data(&running);
  running.activity = exec;
  exec->set_host(&host)->start();
}

void Activities::transfer(s4u::Host& from, s4u::Host& to, Bytes size, Call ended) {
  Running& running = fresh(std::move(ended));
  const double payload = std::max(1.0, std::round(size.value() * kPayloadPerByte));
  const s4u::CommPtr flow = s4u::Comm::sendto_init();
  flow->set_payload_size(static_cast<std::uint64_t>(payload));
  flow->set_data(&running);
  running.activity = flow;
  flow->set_source(&from)->set_destination(&to);  // the destination starts it
}

}  // namespace tessera
