// Orion (EuroSys 2024), by the rule of its published scheduler: kernels of the urgent tenant pass at once; another's
// passes if no urgent request is open, or if it fits beside and is of the other class, and not too much is in flight.
#include "sim/dispatch/policy_table.hpp"
#include "sim/dispatch/rules.hpp"

namespace tessera {

namespace {

class Orion final : public DispatchPolicy {
 public:
  [[nodiscard]] Decision next(const DispatchView& view) override {
    const int urgent = most_urgent(view.streams);
    const bool active = any_busy(view.streams, urgent);
    remember(view, urgent);
    const auto may = [&](const QueuedKernel& kernel) {
      const bool begun = kernel.blocks_left < kernel.kernel->blocks;
      return kernel.priority == urgent || begun || !active || passes(view, kernel);
    };
    const Decision decision = head_of(view.queue, before_in_queue, may);
    if (decision.kernel >= 0) count(view.queue[static_cast<std::size_t>(decision.kernel)], urgent);
    return decision;
  }
  [[nodiscard]] bool lone_stream_is_free() const override { return true; }

 private:
  static constexpr double kInFlight = 0.025;  // of the urgent request's time alone, Orion's default

  void remember(const DispatchView& view, int urgent) {
    double sms = 0;
    for (const StreamView& stream : view.streams) {
      if (stream.priority == urgent) {
        if (stream.resident > 0) last_ = stream.resident_of->kind;
        if (stream.busy && stream.next == 0) alone_ = stream.remaining;
      } else if (stream.resident > 0) {
        sms += stream.resident_of->sms_of(stream.resident);
      }
    }
    others_sms_ = sms;
    if (sms == 0) in_flight_ = Seconds(0.0);  // drained
  }
  [[nodiscard]] bool passes(const DispatchView& view, const QueuedKernel& kernel) const {
    const DeviceKernel& k = *kernel.kernel;
    const double sms = others_sms_ + k.sms_of(std::min(k.blocks, k.full_wave));
    const bool other_class = k.kind != last_ || k.kind == KernelClass::unknown || last_ == KernelClass::unknown;
    return sms <= view.sms && other_class && in_flight_ <= kInFlight * alone_;
  }
  void count(const QueuedKernel& kernel, int urgent) {
    if (kernel.priority != urgent && kernel.blocks_left == kernel.kernel->blocks) in_flight_ += kernel.kernel->time();
  }

  KernelClass last_ = KernelClass::unknown;  // of the urgent kernels
  double others_sms_ = 0;
  Seconds in_flight_, alone_;
};

}  // namespace

std::unique_ptr<DispatchPolicy> make_orion() {
  return std::make_unique<Orion>();
}

}  // namespace tessera
