#include "sim/dispatch/evaluate.hpp"

#include <algorithm>

#include "sim/dispatch/fluid_clock.hpp"
#include "sim/dispatch/forecast.hpp"
#include "sim/dispatch/program.hpp"
#include "sim/dispatch/tenant_run.hpp"

namespace tessera {

Timeline evaluate_program(const SliceProgram& program, DispatchPolicy& policy, const SharingOptions& options) {
  FluidClock clock(program.gpu.sms, program.gpu.memory_bandwidth);
  TenantRun run(program, policy, options);
  run.bind(clock, policy);
  RunForecast forecast(run, clock, program);
  run.core().set_forecast(&forecast);
  run.core().settle();
  clock.run(run.core());
  Timeline timeline = run.take();
  timeline.events = clock.events();
  return timeline;
}

void merge(Timeline& into, Timeline&& part) {
  const auto append = [](auto& to, auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  into.makespan = max(into.makespan, part.makespan);
  append(into.requests, part.requests);
  append(into.kernels, part.kernels);
  append(into.usage, part.usage);
  into.sm_time += part.sm_time;
  into.hbm_carried += part.hbm_carried;
  into.energy += part.energy;
  into.events += part.events;
}

void order(Timeline& timeline) {
  const auto by_end = [](const auto& a, const auto& b) { return a.end != b.end ? a.end < b.end : a.tenant < b.tenant; };
  std::ranges::sort(timeline.requests, by_end);
  std::ranges::stable_sort(timeline.kernels, by_end);
}

Timeline evaluate_deployed(const TenantSet& set, const Deployment& deployment, DispatchPolicy& policy) {
  Timeline timeline;
  for (const SliceProgram& program : build_programs(set, deployment)) {
    if (!program.tenants.empty()) merge(timeline, evaluate_program(program, policy, set.options));
  }
  order(timeline);
  return timeline;
}

Timeline evaluate(std::span<const Tenant> tenants, const GpuSpec& gpu, DispatchPolicy& policy,
                  const SharingOptions& options) {
  const TenantSet set{tenants, gpu, options};
  return evaluate_deployed(set, policy.deploy(set), policy);
}

Timeline evaluate(std::span<const Tenant> tenants, const GpuSpec& gpu, std::string_view policy,
                  const SharingOptions& options) {
  return evaluate(tenants, gpu, *make_dispatch_policy(policy), options);
}

}  // namespace tessera
