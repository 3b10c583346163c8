#include "sim/des/tenants.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sim/base/isolate.hpp"
#include "sim/des/engine.hpp"
#include "sim/des/engine_clock.hpp"
#include "sim/dispatch/forecast.hpp"
#include "sim/dispatch/program.hpp"
#include "sim/dispatch/tenant_run.hpp"

namespace tessera {

namespace {

/// A slice in the event loop.
struct SliceRun {
  SliceRun(Engine& engine, std::size_t gpu, const Program& program, DispatchPolicy& policy,
           const SharingOptions& options)
      : run(program, policy, options), clock(engine, gpu, run.core()), forecast(run, clock, program) {
    run.bind(clock, policy);
    run.core().set_forecast(&forecast);
    clock.request_settle();
  }

  TenantRun run;
  EngineClock clock;
  RunForecast forecast;
};

/// Values of one type after the other, each vector after its length.
class Bytewise {
 public:
  Bytewise() = default;
  explicit Bytewise(std::string_view bytes) : from_(bytes) {}

  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void put(const std::vector<T>& values) {
    put(values.size());
    for (const T& value : values) put(value);
  }
  template <class T>
  void get(T& value) {
    std::memcpy(&value, from_.data(), sizeof value);
    from_.remove_prefix(sizeof value);
  }
  template <class T>
  void get(std::vector<T>& values) {
    std::size_t count = 0;
    get(count);
    values.resize(count);
    for (T& value : values) get(value);
  }

  std::string out;

 private:
  std::string_view from_;
};

template <class Visit, class Line>
void visit(Line& timeline, Visit visit) {
  visit(timeline.makespan);
  visit(timeline.requests);
  visit(timeline.kernels);
  visit(timeline.usage);
  visit(timeline.sm_time);
  visit(timeline.hbm_carried);
  visit(timeline.energy);
  visit(timeline.events);
}

}  // namespace

Timeline simulate_tenants(std::span<const Tenant> tenants, const GpuSpec& gpu, DispatchPolicy& policy,
                          const SharingOptions& options) {
  const TenantSet set{tenants, gpu, options};
  std::vector<Program> programs = build_programs(set, policy.deploy(set));
  std::erase_if(programs, [](const Program& program) { return program.tenants.empty(); });
  std::vector<EngineGpu> slices;
  for (const Program& program : programs) {
    slices.push_back({static_cast<int>(slices.size()), program.gpu.sms, program.gpu.memory_bandwidth});
  }
  Engine engine(slices, {});
  std::vector<std::unique_ptr<SliceRun>> runs;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    runs.push_back(std::make_unique<SliceRun>(engine, i, programs[i], policy, options));
  }
  engine.run();
  Timeline timeline;
  for (const auto& slice : runs) merge(timeline, slice->run.take());
  timeline.events = engine.events();
  order(timeline);
  return timeline;
}

Timeline simulate_tenants_isolated(std::span<const Tenant> tenants, const GpuSpec& gpu, DispatchPolicy& policy,
                                   const SharingOptions& options) {
  const std::string bytes = run_isolated([&] {
    const Timeline timeline = simulate_tenants(tenants, gpu, policy, options);
    Bytewise writer;
    visit(timeline, [&writer](const auto& value) { writer.put(value); });
    return std::move(writer.out);
  });
  Timeline timeline;
  Bytewise reader(bytes);
  visit(timeline, [&reader](auto& value) { reader.get(value); });
  return timeline;
}

}  // namespace tessera
