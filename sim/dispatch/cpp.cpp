// Critical-path priority packing: blocks of the tenant with the longest way to go come first (or with the least slack,
// where there are deadlines), and the others fill what is left without starving it of bandwidth or SMs. No barriers,
// so an error in one duration stalls nobody.
#include "sim/dispatch/cpp.hpp"

#include <algorithm>
#include <cmath>

#include "sim/dispatch/policy_table.hpp"
#include "sim/dispatch/rules.hpp"

namespace tessera {

namespace {

class Cpp final : public DispatchPolicy {
 public:
  explicit Cpp(CppSettings settings) : settings_(std::move(settings)) {}

  [[nodiscard]] Decision next(const DispatchView& view) override {
    const int critical = critical_stream(view);
    const auto before = [&](const QueuedKernel& a, const QueuedKernel& b) {
      const Key x = key(view, a.stream), y = key(view, b.stream);
      return x.priority != y.priority ? x.priority < y.priority
             : x.urgency != y.urgency ? x.urgency < y.urgency
                                      : a.arrival < b.arrival;
    };
    const auto free = [this](const QueuedKernel& kernel) { return settings_.hold || !kernel.blocked; };
    std::int64_t blocks = 0;
    const auto may = [&](const QueuedKernel& kernel) { return free(kernel) && allowed(view, kernel, critical) > 0; };
    Decision decision = head_of(view.queue, before, may);
    if (decision.kernel < 0) return decision;
    blocks = allowed(view, view.queue[static_cast<std::size_t>(decision.kernel)], critical);
    decision.blocks = std::max<std::int64_t>(blocks, 1);
    return decision;
  }

 private:
  struct Key {
    int priority;
    double urgency;  // smaller is more urgent
  };
  [[nodiscard]] Key key(const DispatchView& view, std::size_t stream) const {
    const StreamView& s = view.streams[stream];
    const double bias = stream < settings_.bias.size() ? settings_.bias[stream] : 1.0;
    const double remaining = bias * s.remaining.value();
    const int priority = settings_.priorities ? s.priority : 0;
    switch (settings_.order) {
      case CppSettings::Order::longest:
        return {priority, -remaining};
      case CppSettings::Order::shortest:
        return {priority, remaining};
      case CppSettings::Order::deadline:  // slack; without a deadline after all others, the longest first
        return {priority,
                std::isinf(s.deadline.value()) ? 1e6 - remaining : s.deadline.value() - view.now.value() - remaining};
      case CppSettings::Order::arrival:
        break;
    }
    return {priority, s.arrival.value()};
  }
  [[nodiscard]] int critical_stream(const DispatchView& view) const {
    int critical = -1;
    for (std::size_t s = 0; s < view.streams.size(); ++s) {
      if (!view.streams[s].busy) continue;
      if (critical >= 0) {
        const Key a = key(view, s), b = key(view, static_cast<std::size_t>(critical));
        if (a.priority > b.priority || (a.priority == b.priority && a.urgency >= b.urgency)) continue;
      }
      critical = static_cast<int>(s);
    }
    return critical;
  }
  /// Blocks that it may start beside the critical tenant.
  [[nodiscard]] std::int64_t allowed(const DispatchView& view, const QueuedKernel& kernel, int critical) const {
    // Interrupted by the policy before this one: its blocks come back together, with or without new ones.
    if (kernel.frozen) return std::max<std::int64_t>(kernel.blocks_left, 1);
    if (critical < 0 || static_cast<int>(kernel.stream) == critical || kernel.kernel == nullptr)
      return kernel.blocks_left;
    double most = static_cast<double>(kernel.blocks_left);
    const DeviceKernel& k = *kernel.kernel;
    const StreamView& first = view.streams[static_cast<std::size_t>(critical)];
    if (settings_.bandwidth_cap > 0 && first.resident > 0 && k.hbm_per_block > Bytes(0.0)) {
      BytesPerSec demand;
      for (const StreamView& s : view.streams) {
        if (s.resident > 0) demand += s.resident_of->demand_of(s.resident);
      }
      most = std::min(most, (settings_.bandwidth_cap * view.bandwidth - demand) / k.demand_of(1));
    }
    if (settings_.reserve && first.resident_of != nullptr && first.resident == 0) {
      double sms = 0;  // while the critical tenant is between kernels: leave as much as its last one filled
      for (const StreamView& s : view.streams) sms += s.resident > 0 ? s.resident_of->sms_of(s.resident) : 0;
      const DeviceKernel& last = *first.resident_of;
      const double kept = last.sms_of(std::min(last.blocks, last.full_wave));
      most = std::min(most, (view.sms - kept - sms) * k.blocks_per_sm);
    }
    // Somebody must run where nothing else does.
    const bool empty = std::ranges::none_of(view.streams, [](const StreamView& s) { return s.resident > 0; });
    return std::max<std::int64_t>(static_cast<std::int64_t>(most), empty ? 1 : 0);
  }

  CppSettings settings_;
};

}  // namespace

std::unique_ptr<DispatchPolicy> make_cpp_with(CppSettings settings) {
  return std::make_unique<Cpp>(std::move(settings));
}

std::unique_ptr<DispatchPolicy> make_cpp() {
  return make_cpp_with({});
}

}  // namespace tessera
