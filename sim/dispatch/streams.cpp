// The hardware's own rules, as Amert et al. (RTSS 2017) found them by experiment on NVIDIA GPUs.
#include "sim/dispatch/policy_table.hpp"

namespace tessera {

namespace {

/// One queue per priority, in order of arrival. Only the head of the most urgent queue dispatches; it leaves when
/// its last block is placed, and what it leaves over goes to the next. A head that finds no room holds everyone up.
/// Not modelled: time slices between processes, the limit of 32 hardware queues.
class Streams final : public DispatchPolicy {
 public:
  [[nodiscard]] Decision next(const DispatchView& view) override {
    const std::span queue = view.queue;
    int head = -1;
    for (int i = 0; i < static_cast<int>(queue.size()); ++i) {
      if (head < 0 || before(queue[static_cast<std::size_t>(i)], queue[static_cast<std::size_t>(head)])) head = i;
    }
    return {head >= 0 && !queue[static_cast<std::size_t>(head)].blocked ? head : -1};
  }

 private:
  static bool before(const QueuedKernel& a, const QueuedKernel& b) {
    return a.priority != b.priority ? a.priority < b.priority : a.arrival < b.arrival;
  }
};

}  // namespace

std::unique_ptr<DispatchPolicy> make_streams() {
  return std::make_unique<Streams>();
}

}  // namespace tessera
