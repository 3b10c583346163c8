// Abacus (SC 2021): kernels of several tenants run in groups whose predicted, overlapped duration keeps the most urgent
// request within its deadline. A group is chosen when the one before has ended.
#include <vector>

#include "sim/dispatch/policy_table.hpp"
#include "sim/dispatch/rules.hpp"

namespace tessera {

namespace {

class Abacus final : public DispatchPolicy {
 public:
  [[nodiscard]] Decision next(const DispatchView& view) override {
    const bool resident = std::ranges::any_of(view.streams, [](const StreamView& s) { return s.resident > 0; });
    const auto chosen = [this](const QueuedKernel& kernel) {
      return std::ranges::find(group_, kernel.arrival) != group_.end();
    };
    if (!resident && std::ranges::none_of(view.queue, chosen)) choose(view);
    return head_of(view.queue, before_in_queue, chosen);
  }

 private:
  /// Overlapped, a group takes its longest kernel, its SM time or its traffic, whichever is most.
  struct Load {
    Seconds longest, serial;
    double sm_seconds = 0;
    Bytes traffic;
    void add(const DeviceKernel& kernel) {
      longest = max(longest, kernel.time());
      serial += kernel.time();
      sm_seconds += kernel.sms_of(kernel.blocks) * kernel.tile_latency.value();
      traffic += static_cast<double>(kernel.blocks) * kernel.hbm_per_block;
    }
    [[nodiscard]] Seconds time(const DispatchView& view) const {
      return max(longest, max(Seconds(sm_seconds / view.sms), traffic / view.bandwidth));
    }
  };

  void choose(const DispatchView& view) {
    group_.clear();
    std::vector<const QueuedKernel*> order;
    for (const QueuedKernel& kernel : view.queue) order.push_back(&kernel);
    std::ranges::sort(order, [&](const QueuedKernel* a, const QueuedKernel* b) {
      const StreamView &x = view.streams[a->stream], &y = view.streams[b->stream];
      if (x.deadline != y.deadline) return x.deadline < y.deadline;
      return x.arrival != y.arrival ? x.arrival < y.arrival : a->stream < b->stream;
    });
    Load load;
    for (const QueuedKernel* kernel : order) {
      Load with = load;
      with.add(*kernel->kernel);
      if (!group_.empty() && !worth_it(view, *order.front(), with)) continue;
      load = with;
      group_.push_back(kernel->arrival);
    }
  }
  /// Shorter than one after the other, and the most urgent request, slowed like this all along, meets its deadline.
  static bool worth_it(const DispatchView& view, const QueuedKernel& urgent, const Load& load) {
    const StreamView& stream = view.streams[urgent.stream];
    const double stretch = load.time(view) / urgent.kernel->time();
    return load.time(view) < load.serial && view.now + stretch * stream.remaining <= stream.deadline;
  }

  std::vector<std::uint64_t> group_;  // arrivals of its kernels
};

}  // namespace

std::unique_ptr<DispatchPolicy> make_abacus() {
  return std::make_unique<Abacus>();
}

}  // namespace tessera
