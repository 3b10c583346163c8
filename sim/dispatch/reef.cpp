// REEF (OSDI 2022): an urgent kernel that finds no room has the others killed, which start anew later; beside an urgent
// kernel that is fully placed, blocks that end no later than its own pad the SMs left over.
#include "sim/dispatch/policy_table.hpp"
#include "sim/dispatch/rules.hpp"

namespace tessera {

namespace {

class Reef final : public DispatchPolicy {
 public:
  [[nodiscard]] Decision next(const DispatchView& view) override {
    const int urgent = most_urgent(view.streams);
    const auto is_urgent = [&](const QueuedKernel& kernel) { return kernel.priority == urgent; };
    const int first = first_of(view.queue, before_in_queue, is_urgent);
    if (first >= 0) {
      if (!view.queue[static_cast<std::size_t>(first)].blocked) return {first};
      return kill(view, urgent);
    }
    const bool active = any_busy(view.streams, urgent);
    const auto pads = [&](const QueuedKernel& kernel) {
      return !active || kernel.kernel->tile_latency <= shortest_tile(view, urgent);
    };
    return head_of(view.queue, before_in_queue, pads);
  }

 private:
  static Decision kill(const DispatchView& view, int urgent) {
    for (std::size_t s = 0; s < view.streams.size(); ++s) {
      const StreamView& stream = view.streams[s];
      if (stream.priority == urgent || stream.resident == 0 || stream.leaving) continue;
      Decision decision;
      decision.interrupt = static_cast<int>(s);
      decision.reset = true;
      return decision;
    }
    return {};
  }
  static Seconds shortest_tile(const DispatchView& view, int urgent) {
    Seconds shortest(0.0);
    for (const StreamView& stream : view.streams) {
      if (stream.priority != urgent || stream.resident == 0) continue;
      const Seconds tile = stream.resident_of->tile_latency;
      shortest = shortest > Seconds(0.0) ? min(shortest, tile) : tile;
    }
    return shortest;
  }
};

}  // namespace

std::unique_ptr<DispatchPolicy> make_reef() {
  return std::make_unique<Reef>();
}

}  // namespace tessera
