// A run's future under another policy: a copy of its state on a clock of its own.
#pragma once

#include "sim/dispatch/program.hpp"
#include "sim/dispatch/tenant_run.hpp"

namespace tessera {

class RunForecast final : public Forecast {
 public:
  RunForecast(const TenantRun& run, const GpuExecutor& executor, const SliceProgram& program)
      : run_(run), executor_(executor), program_(program) {}
  [[nodiscard]] std::vector<Seconds> ends_under(DispatchPolicy& policy) const override;

 private:
  const TenantRun& run_;
  const GpuExecutor& executor_;
  const SliceProgram& program_;
};

}  // namespace tessera
