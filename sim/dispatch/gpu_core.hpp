// The rules of one GPU as a value without a clock: what starts, freezes and ends when something happened. Whoever has
// a clock (SimGrid in sim/des, a heap of dates in this folder) executes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "sim/cluster/gpu.hpp"
#include "sim/dispatch/block_scheduler.hpp"
#include "sim/dispatch/deployment.hpp"
#include "sim/dispatch/device_kernel.hpp"
#include "sim/dispatch/interference.hpp"
#include "sim/dispatch/policy.hpp"
#include "sim/dispatch/timeline.hpp"

namespace tessera {

/// Two dates nearer than this are one, as for SimGrid (surf/precision).
inline constexpr Seconds kSameInstant(1e-12);
/// Whether what was to be at `date` is now.
inline bool due(Seconds date, Seconds now) {
  return date <= now + kSameInstant;
}

/// What a cohort, blocks of one kernel that started together, asks of the GPU: both parts at once, until both end.
struct CohortWork {
  double sms = 0;     // of the pool; where the pool is short all slow down in proportion
  Seconds duration;   // of the SMs' part, undisturbed
  BytesPerSec rate;   // of the memory part, undisturbed; 0: it has none
  double weight = 0;  // where bandwidth is short, every SM gets the same unless it wants less
};

/// What a clock does for the rules. Nothing calls back from inside these.
class GpuExecutor {
 public:
  virtual ~GpuExecutor() = default;
  [[nodiscard]] virtual Seconds now() const = 0;
  /// Calls GpuCore::cohort_ended when both parts have ended.
  virtual void start(std::uint32_t cohort, const CohortWork& work) = 0;
  virtual void suspend(std::uint32_t cohort) = 0;
  virtual void resume(std::uint32_t cohort) = 0;
  /// Calls GpuCore::settle at that date.
  virtual void wake(Seconds date) = 0;
  /// What is left of a cohort's parts.
  struct Left {
    Seconds sms;  // at full speed
    Bytes memory;
  };
  [[nodiscard]] virtual Left left(std::uint32_t cohort) const = 0;
};

/// Whoever submitted the kernels.
class GpuListener {
 public:
  virtual ~GpuListener() = default;
  /// A kernel ran from the dispatch of its first block to the end of its last. May submit more.
  virtual void kernel_ended(std::uint32_t stream, std::uint32_t task, Seconds start, Seconds end) = 0;
  /// Everything that ends at this instant has ended, nothing has started yet. May submit.
  virtual void instant() {}
};

struct StreamSpec {
  int priority = 0;
  std::uint32_t process = 0;  // processes without MPS take turns
  SmRange range{};            // of a process with an MPS cap; empty: all SMs
};

struct GpuCoreOptions {
  bool coalesce = true;  // while one stream has the GPU to itself its kernels need no blocks
  SharingTerms terms{};
  Seconds time_slice{2e-3};
  double grain = 0;
  bool record_usage = false;
};

/// Taken from all kernels by what is no kernel of a stream: collectives.
struct Occupation {
  double sms = 0;
  BytesPerSec hbm{};
};

/// Kernels of a stream run in order; those at the heads of streams share the GPU by the policy's rules.
class GpuCore {
 public:
  GpuCore(const GpuSpec& gpu, DispatchPolicy& policy, const GpuCoreOptions& options);
  /// Before anything else; again for copies, which go on under another clock.
  void bind(GpuExecutor& executor, GpuListener& listener, DispatchPolicy& policy);
  /// Hands what runs and what is to come to the bound clock, which does not know it yet.
  using Adopt = std::function<void(std::uint32_t cohort, const CohortWork& work, GpuExecutor::Left left, bool running)>;
  void hand_over(const GpuExecutor& from, const Adopt& adopt);

  std::uint32_t add_stream(const StreamSpec& spec);
  /// `kernel` must outlive its run. It starts after `release` and the stream's earlier kernels. Where `observed`, the
  /// listener hears of its end when it ends, otherwise no later than of the next that is.
  void submit(std::uint32_t stream, const DeviceKernel& kernel, Seconds release, std::uint32_t task, bool observed);

  /// From now on kernels have so much less: sim/des/README.md, "What collectives take". `settle` must follow.
  void occupy(const Occupation& taken);

  void cohort_ended(std::uint32_t cohort);
  /// Once after all that happened at an instant, and when asked to wake.
  void settle();
  [[nodiscard]] std::int64_t running() const { return running_; }  // cohorts on the clock
  [[nodiscard]] bool idle() const;

  StreamView& view(std::uint32_t stream) { return views_[stream]; }
  void set_forecast(const Forecast* forecast) { forecast_ = forecast; }
  /// Adds what only the GPU knows: usage, bytes, energy.
  void report(Timeline& into) const;
  [[nodiscard]] Bytes hbm_carried() const { return hbm_carried_; }

 private:
  struct Queued {
    const DeviceKernel* kernel;
    Seconds release;
    std::uint32_t task;
    bool observed;
    Seconds start, end;  // planned while it runs alone; start also of a running kernel
  };
  struct Stream {
    StreamSpec spec{};
    std::vector<Queued> queue{};
    std::size_t head = 0;   // of the queue
    bool enlisted = false;  // the head competes for SMs, or its last blocks run
    std::int64_t undispatched = 0, cohorts = 0;
    Seconds free_from{}, armed{-1.0};  // when the next kernel can follow; a wake-up is set for this date
    std::uint64_t arrival = 0;         // of the head
    bool interrupting = false, reset = false;
    Seconds freezes{};  // when its blocks leave their SMs, if it is interrupted
    Seconds owed{};     // what its waves were shortened by so far (README.md, "Grain")

    [[nodiscard]] bool empty() const { return head == queue.size(); }
    [[nodiscard]] Queued& front() { return queue[head]; }
    [[nodiscard]] const Queued& front() const { return queue[head]; }
    void pop();
  };
  struct Cohort {
    std::uint32_t stream = 0;
    std::uint64_t serial = 0;
    const DeviceKernel* kernel = nullptr;
    std::int64_t blocks = 0;
    std::vector<int> on_sm{};
    CohortWork work{};
    Seconds started{}, redo{};  // redo: work lost by a reset
    enum State : std::uint8_t { free, running, suspended, frozen } state = free;
  };
  static constexpr Seconds kNoEnd{-1.0};
  struct Process {
    SmPool pool;
    std::vector<QueuedKernel> queue{};  // kernels with blocks to send, in the order of DispatchView

    QueuedKernel& join(const QueuedKernel& kernel);
  };

  // cohorts.cpp
  std::uint32_t place(std::uint32_t stream, std::int64_t blocks);
  void launch(std::uint32_t cohort, Seconds duration);
  void launch_placed();
  [[nodiscard]] Seconds with_others(const Cohort& cohort, Seconds duration);
  [[nodiscard]] double coarseness(const Cohort& cohort, double part) const;
  void finish_head(std::uint32_t stream, Seconds start, Seconds end);
  void count(const Cohort& cohort, int sign);
  void leave_sms(Cohort& cohort);
  std::uint32_t fresh_cohort();
  void record_usage(Seconds at);
  // gpu_core.cpp: who sends blocks
  void await_head(std::uint32_t stream);
  void enlist(std::uint32_t stream);
  void enlist_released();
  void dispatch();
  void send(std::uint32_t process, std::size_t entry, std::int64_t most);
  void arm_releases();
  [[nodiscard]] Seconds release_of(const Stream& stream) const;
  [[nodiscard]] bool released(const Stream& stream) const;
  [[nodiscard]] bool has_company(std::uint32_t stream) const;
  void open_gaps();
  [[nodiscard]] bool at_head_of_hardware_queue(std::uint32_t stream) const;
  void leave_hardware_queue(std::uint32_t stream);
  // slices.cpp: processes take turns; interrupted blocks
  bool take_turns();
  [[nodiscard]] bool has_work(std::uint32_t process) const;
  void switch_to(std::uint32_t process);
  void count_and_set(Cohort& cohort, int sign, Cohort::State state);
  void interrupt(std::uint32_t stream, bool reset);
  void freeze_due();
  bool thaw(std::uint32_t process, std::size_t entry);
  // solo.cpp: one stream alone
  [[nodiscard]] int lone_stream() const;
  void plan_solo();
  void plan_again();
  [[nodiscard]] double stretch(const DeviceKernel& kernel, const Occupation& taken) const;
  void finish_planned(std::uint32_t stream, Seconds until);
  void count_alone(std::uint32_t stream);
  void account(const DeviceKernel& kernel, std::int64_t blocks);
  void split_solo();

  GpuExecutor* executor_ = nullptr;
  GpuListener* listener_ = nullptr;
  DispatchPolicy* policy_;
  const Forecast* forecast_ = nullptr;
  GpuCoreOptions options_;
  int sms_;
  SmLimits limits_;
  BytesPerSec bandwidth_;
  Interference interference_;
  Occupation taken_{}, to_take_{};

  std::vector<Stream> streams_;
  std::vector<StreamView> views_;
  std::vector<Process> processes_;
  std::vector<std::deque<std::uint32_t>> hardware_queues_;  // streams in order of submission, if there are many
  std::uint64_t arrivals_ = 0;
  std::vector<std::uint32_t> pending_;  // streams whose head is not enlisted, ascending
  std::vector<Cohort> cohorts_;
  std::vector<std::uint32_t> free_cohorts_;
  std::vector<Seconds> ends_;          // of running cohorts, if nothing comes in between; others: kNoEnd
  std::vector<std::uint32_t> placed_;  // cohorts on SMs that are not yet on the clock
  std::uint64_t serials_ = 0;
  std::int64_t running_ = 0;                // cohorts that are not suspended or frozen
  int busy_ = 0;                            // streams with kernels
  int resident_streams_ = 0;                // streams with blocks on SMs
  std::vector<std::uint32_t> just_ended_;   // streams whose gap begins at this instant
  std::vector<std::uint32_t> interrupted_;  // streams whose blocks are to leave

  std::uint32_t active_ = 0;  // the process whose turn it is
  Seconds slice_end_{-1.0}, slice_armed_{-1.0}, switched_{};
  bool switching_ = false;

  int solo_ = -1;            // the stream that has the GPU alone
  std::size_t planned_ = 0;  // kernels of its queue that have dates

  double resident_sms_ = 0;
  BytesPerSec demand_;
  Watts power_;
  Seconds sm_time_;
  Bytes hbm_carried_;
  Joules energy_;
  std::vector<UsageStep> usage_;
};

}  // namespace tessera
