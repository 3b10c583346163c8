// SimGrid as the clock of a GPU's rules: cohorts are executions on its SM pool and on its HBM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/des/engine.hpp"
#include "sim/dispatch/gpu_core.hpp"

namespace tessera {

class EngineClock final : public GpuExecutor {
 public:
  EngineClock(Engine& engine, std::size_t gpu, GpuCore& core) : engine_(engine), gpu_(gpu), core_(core) {}

  [[nodiscard]] Seconds now() const override { return engine_.now(); }
  void start(std::uint32_t cohort, const CohortWork& work) override;
  void suspend(std::uint32_t cohort) override;
  void resume(std::uint32_t cohort) override;
  void wake(Seconds date) override;
  [[nodiscard]] Left left(std::uint32_t cohort) const override;

  /// All that happens at one instant is settled once.
  void request_settle();

 private:
  struct Slot {
    Engine::Execution compute = 0, memory = 0;
    bool computes = false, transfers = false;  // parts that have not ended
    double sms = 0;
  };
  void part_ended(std::uint32_t cohort, bool compute);
  void settle();

  Engine& engine_;
  std::size_t gpu_;
  GpuCore& core_;
  std::vector<Slot> slots_;  // by cohort
  bool settling_ = false;    // settle() is under way or asked for
};

}  // namespace tessera
