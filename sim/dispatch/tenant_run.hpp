// Requests of tenants on one GPU or slice: when they come, what they submit, when they end. No clock of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/dispatch/gpu_core.hpp"
#include "sim/dispatch/program.hpp"
#include "sim/dispatch/timeline.hpp"

namespace tessera {

/// Copies go on by themselves, after `bind`.
class TenantRun final : public GpuListener {
 public:
  TenantRun(const SliceProgram& program, DispatchPolicy& policy, const SharingOptions& options, bool coalesce = true);

  void bind(GpuExecutor& executor, DispatchPolicy& policy);
  GpuCore& core() { return core_; }
  /// The first settle of the core begins it; when the clock has run dry this is what happened.
  [[nodiscard]] Timeline take();
  /// For a look ahead: nobody new arrives. Afterwards `ends` are those of the open requests, by tenant.
  void hand_over(const GpuExecutor& from, const GpuCore::Adopt& adopt);
  [[nodiscard]] const std::vector<Seconds>& ends() const { return ends_; }

  void kernel_ended(std::uint32_t stream, std::uint32_t task, Seconds start, Seconds end) override;
  void instant() override;

 private:
  struct State {
    std::size_t arrived = 0, begun = 0;  // requests
    bool busy = false, in_round = false;
    Seconds arrival, start, begin;  // of the one that runs: came, first block, submitted
    Seconds next_closed;            // closed loop: when the next one comes
  };
  void arrive();
  void begin(std::uint32_t tenant, bool in_round);
  void submit(std::uint32_t tenant, std::size_t from, std::size_t to);
  void begin_round(const std::vector<std::uint32_t>& starters);
  void open_segment();
  void end_of_kernel_in_round(std::uint32_t tenant, std::uint32_t task);
  void end_request(std::uint32_t tenant, Seconds end);
  [[nodiscard]] std::size_t segment_end(std::uint32_t tenant, std::size_t segment) const;
  [[nodiscard]] std::size_t columns() const;

  const SliceProgram* program_;
  bool record_kernels_;
  GpuExecutor* executor_ = nullptr;
  GpuCore core_;
  std::vector<State> states_;
  std::vector<std::uint32_t> starters_;
  bool closing_ = false;    // nobody new arrives
  bool begin_due_ = true;   // somebody may begin a request
  Seconds next_arrival_{};  // of anybody
  // A round: tenants whose requests began together wait for each other at their pointers.
  std::vector<std::uint32_t> round_;
  std::size_t segment_ = 0;
  int open_ = 0;         // tenants that have not ended the segment
  Seconds opens_{-1.0};  // when the next one opens; < 0: not yet known

  std::vector<RequestSpan> requests_;
  std::vector<KernelSpan> kernels_;
  std::vector<Seconds> ends_;
};

}  // namespace tessera
