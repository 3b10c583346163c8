// The hardware's own rules, as Amert et al. (RTSS 2017) found them by experiment on NVIDIA GPUs; and what follows from
// them where the tenants are put on the GPU in one of the ways that CUDA offers.
#include <numeric>

#include "sim/dispatch/policy_table.hpp"
#include "sim/dispatch/rules.hpp"

namespace tessera {

namespace {

/// One queue per priority, in order of arrival. Only the head of the most urgent queue dispatches; it leaves when
/// its last block is placed, and what it leaves over goes to the next. A head that finds no room holds everyone up.
class Streams : public DispatchPolicy {
 public:
  [[nodiscard]] Deployment deploy(const TenantSet& tenants) override {
    Deployment deployment = shared_streams(tenants);
    for (TenantDeployment& tenant : deployment.tenants) tenant.priority = 0;
    return deployment;
  }
  [[nodiscard]] Decision next(const DispatchView& view) override {
    return {view.queue.empty() || view.queue.front().blocked ? -1 : 0};
  }
};

/// Streams of the tenants' priorities, and among equals the longer request first, as far as CUDA has levels.
class StreamsPriority final : public Streams {
 public:
  [[nodiscard]] Deployment deploy(const TenantSet& tenants) override {
    constexpr int kLevels = 6;  // cudaDeviceGetStreamPriorityRange of Volta and later
    Deployment deployment = shared_streams(tenants);
    std::vector<double> alone(tenants.tenants.size());
    for (std::size_t t = 0; t < alone.size(); ++t) {
      for (const TenantKernel& kernel : tenants.tenants[t].kernels) alone[t] += kernel.cost.time.p50.value();
    }
    std::vector<std::size_t> order(alone.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      const int pa = tenants.tenants[a].priority, pb = tenants.tenants[b].priority;
      return pa != pb ? pa < pb : alone[a] > alone[b];
    });
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
      deployment.tenants[order[rank]].priority = std::min(static_cast<int>(rank), kLevels - 1) - (kLevels - 1);
    }
    return deployment;
  }
};

/// A process each, without MPS.
class TimeSlice final : public Streams {
 public:
  [[nodiscard]] Deployment deploy(const TenantSet& tenants) override {
    Deployment deployment = shared_streams(tenants);
    std::uint32_t process = 0;
    for (TenantDeployment& tenant : deployment.tenants) tenant.process = process++;
    return deployment;
  }
};

/// A process each under MPS: side by side, each on the SMs of its cap (CUDA_MPS_ACTIVE_THREAD_PERCENTAGE). One that
/// waits for SMs of its own holds up nobody else (assumed).
class Mps final : public Streams {
 public:
  [[nodiscard]] Deployment deploy(const TenantSet& tenants) override {
    Deployment deployment = Streams::deploy(tenants);
    capped_.clear();
    for (std::size_t t = 0; t < deployment.tenants.size(); ++t) {
      deployment.tenants[t].sm_cap = tenants.tenants[t].sm_cap;
      capped_.push_back(tenants.tenants[t].sm_cap < 1);
    }
    return deployment;
  }
  [[nodiscard]] Decision next(const DispatchView& view) override {
    return head_of(view.queue, before_in_queue,
                   [this](const QueuedKernel& kernel) { return !kernel.blocked || !capped_[kernel.stream]; });
  }

 private:
  std::vector<bool> capped_;
};

}  // namespace

std::unique_ptr<DispatchPolicy> make_streams() {
  return std::make_unique<Streams>();
}
std::unique_ptr<DispatchPolicy> make_streams_priority() {
  return std::make_unique<StreamsPriority>();
}
std::unique_ptr<DispatchPolicy> make_timeslice() {
  return std::make_unique<TimeSlice>();
}
std::unique_ptr<DispatchPolicy> make_mps() {
  return std::make_unique<Mps>();
}

}  // namespace tessera
