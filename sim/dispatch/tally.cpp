// Tally (ASPLOS 2025): best-effort kernels run as slices of blocks, and only while no urgent request is open, so that
// an urgent kernel waits for one slice at most. A slice is what one turnaround bound holds, at least a wave of blocks.
#include "sim/dispatch/policy_table.hpp"
#include "sim/dispatch/rules.hpp"

namespace tessera {

namespace {

constexpr Seconds kTurnaround(31.6e-6);  // the bound of its published runs

class Tally final : public DispatchPolicy {
 public:
  [[nodiscard]] Decision next(const DispatchView& view) override {
    const int urgent = most_urgent(view.streams);
    const bool active = any_busy(view.streams, urgent);
    const auto may = [&](const QueuedKernel& kernel) {
      return kernel.priority == urgent || (!active && view.streams[kernel.stream].resident == 0);
    };
    Decision decision = head_of(view.queue, before_in_queue, may);
    if (decision.kernel < 0) return decision;
    const QueuedKernel& kernel = view.queue[static_cast<std::size_t>(decision.kernel)];
    if (kernel.priority == urgent) return decision;
    // A slice's blocks must all have found room when the next urgent kernel comes: no more than a wave.
    const double share = std::min(1.0, kTurnaround / kernel.kernel->tile_latency);
    decision.blocks =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(share * static_cast<double>(kernel.kernel->full_wave)));
    return decision;
  }
  [[nodiscard]] bool lone_stream_is_free() const override { return false; }
};

}  // namespace

std::unique_ptr<DispatchPolicy> make_tally() {
  return std::make_unique<Tally>();
}

}  // namespace tessera
