// One GPU in the event loop: streams of kernels, whose blocks share SM slots and memory bandwidth.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "sim/cluster/gpu.hpp"
#include "sim/des/engine.hpp"
#include "sim/des/simulate.hpp"
#include "sim/dispatch/block_scheduler.hpp"
#include "sim/dispatch/device_kernel.hpp"
#include "sim/dispatch/policy.hpp"

namespace tessera {

/// Kernels of a stream run in order; those at the heads of streams share the GPU by the policy's rules. Whole waves,
/// kernels and runs of kernels of one stream are a single timer while nothing else can touch the GPU, unless the
/// fidelity is `wave`. Not modelled: SMs, HBM and L2 taken by collectives; the wave quantum below a block.
class GpuDevice {
 public:
  /// A kernel of `stream` ran from the dispatch of its first block to the end of its last.
  using Observer = std::function<void(std::uint32_t stream, std::uint32_t task, Seconds start, Seconds end)>;

  GpuDevice(Engine& engine, std::size_t gpu, const GpuSpec& spec, DispatchPolicy& policy, Fidelity fidelity,
            Observer observer);

  /// CUDA's convention: a smaller priority is more urgent.
  std::uint32_t add_stream(int priority = 0);
  /// `kernel` must outlive its run. It starts after `release` and the stream's earlier kernels. `task` is for the
  /// observer. Without `on_done` nobody wakes up when it ends, and it is cheaper.
  void submit(std::uint32_t stream, const DeviceKernel& kernel, Seconds release = Seconds(0.0), std::uint32_t task = 0,
              std::function<void()> on_done = {});

  [[nodiscard]] bool idle() const;
  [[nodiscard]] Bytes hbm_carried() const { return hbm_carried_; }

 private:
  struct Queued {
    const DeviceKernel* kernel;
    Seconds release;
    std::uint32_t task;
    std::function<void()> on_done;
    Seconds start, end;  // planned while it runs alone; start also of a running kernel
  };
  struct Stream {
    int priority = 0;
    std::deque<Queued> queue{};
    bool enlisted = false;  // the head competes for SMs, or its last blocks run
    std::int64_t undispatched = 0, cohorts = 0;
    Seconds armed{-1.0};  // a call is set for the head's release at this date
  };
  /// Blocks of one kernel that started together.
  struct Cohort {
    std::uint32_t stream = 0;
    int open = 0;  // of its activities
    BlockFootprint footprint;
    SmPool::Placed placed;
  };

  // gpu.cpp: cohorts
  void start_cohort(std::uint32_t stream, SmPool::Placed placed, Seconds duration);
  void end_part(Cohort& cohort);
  void finish_head(std::uint32_t stream, Seconds start, Seconds end);
  // dispatcher.cpp: who sends blocks
  void request_settle();
  void settle();
  void enlist(std::uint32_t stream);
  void enlist_released();
  void dispatch();
  void arm_releases();
  // coalescing.cpp: one stream alone
  [[nodiscard]] int lone_stream() const;
  void begin_solo(std::uint32_t stream);
  void plan_solo();
  void wake_solo(std::uint64_t plan);
  void split_solo();
  [[nodiscard]] bool released(const Stream& stream) const;

  Engine& engine_;
  std::size_t gpu_;
  int sms_;
  BytesPerSec bandwidth_;
  DispatchPolicy& policy_;
  Fidelity fidelity_;
  Observer observer_;

  std::vector<Stream> streams_;
  SmPool pool_;
  std::vector<QueuedKernel> queue_;  // kernels with blocks to send
  std::uint64_t arrivals_ = 0;
  std::vector<std::unique_ptr<Cohort>> cohorts_;
  std::vector<Cohort*> free_cohorts_;
  std::int64_t running_cohorts_ = 0;
  bool settling_ = false;  // settle() is under way or asked for

  int solo_ = -1;                // the stream that has the GPU alone
  std::size_t planned_ = 0;      // kernels of its queue that have dates
  Seconds free_since_;           // when a kernel last ended
  std::uint64_t solo_plan_ = 0;  // tells the current plan's wake-up from older ones

  Bytes hbm_carried_;
};

}  // namespace tessera
