// One request after the other, whole, in the order in which they came: what a serving process without streams does.
#include "sim/dispatch/policy_table.hpp"
#include "sim/dispatch/rules.hpp"

namespace tessera {

namespace {

class Sequential final : public DispatchPolicy {
 public:
  [[nodiscard]] Decision next(const DispatchView& view) override {
    if (!still_runs(view)) choose(view);
    if (current_ < 0) return {};
    return head_of(view.queue, before_in_queue,
                   [this](const QueuedKernel& kernel) { return static_cast<int>(kernel.stream) == current_; });
  }

 private:
  [[nodiscard]] bool still_runs(const DispatchView& view) const {
    if (current_ < 0) return false;
    const StreamView& stream = view.streams[static_cast<std::size_t>(current_)];
    return stream.busy && stream.request == request_;
  }
  void choose(const DispatchView& view) {
    current_ = -1;
    for (std::size_t s = 0; s < view.streams.size(); ++s) {
      const StreamView& stream = view.streams[s];
      if (!stream.busy) continue;
      if (current_ >= 0 && view.streams[static_cast<std::size_t>(current_)].arrival <= stream.arrival) continue;
      current_ = static_cast<int>(s);
      request_ = stream.request;
    }
  }

  int current_ = -1;
  std::uint64_t request_ = 0;
};

}  // namespace

std::unique_ptr<DispatchPolicy> make_sequential() {
  return std::make_unique<Sequential>();
}

}  // namespace tessera
