#include "sim/dispatch/forecast.hpp"

#include <algorithm>

#include "sim/dispatch/fluid_clock.hpp"

namespace tessera {

std::vector<Seconds> RunForecast::ends_under(DispatchPolicy& policy) const {
  TenantRun ahead = run_;
  FluidClock clock(program_.gpu.sms, program_.gpu.memory_bandwidth, executor_.now());
  ahead.bind(clock, policy);
  ahead.core().set_forecast(nullptr);
  ahead.hand_over(executor_, [&clock](std::uint32_t cohort, const CohortWork& work, GpuExecutor::Left left,
                                      bool running) { clock.adopt(cohort, work, left, running); });
  ahead.core().settle();
  clock.run(ahead.core());
  std::vector<Seconds> ends = ahead.ends();
  ends.push_back(std::ranges::max(ends, [](Seconds a, Seconds b) { return a < b; }));
  return ends;
}

}  // namespace tessera
