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
  SliceRun(Engine& engine, std::size_t slice, const SliceProgram& program, const TenantGpu& gpu)
      : run(program, gpu.policy, gpu.options), clock(engine, slice, run.core()), forecast(run, clock, program) {
    run.bind(clock, gpu.policy);
    run.core().set_forecast(&forecast);
    clock.request_settle();
  }

  TenantRun run;
  EngineClock clock;
  RunForecast forecast;
};

/// Slices with tenants; `gpu`: whose they are.
struct Slices {
  std::vector<SliceProgram> programs;
  std::vector<std::size_t> gpu;
  std::vector<EngineGpu> engine;

  explicit Slices(std::span<const TenantGpu> gpus) {
    for (std::size_t g = 0; g < gpus.size(); ++g) {
      const TenantSet set{gpus[g].tenants, gpus[g].gpu, gpus[g].options};
      for (SliceProgram& program : build_programs(set, gpus[g].policy.deploy(set))) {
        if (program.tenants.empty()) continue;
        engine.push_back({static_cast<int>(engine.size()), program.gpu.sms, program.gpu.memory_bandwidth});
        programs.push_back(std::move(program));
        gpu.push_back(g);
      }
    }
  }
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

std::vector<Timeline> simulate_tenants(std::span<const TenantGpu> gpus) {
  const Slices slices(gpus);
  Engine engine(slices.engine, {});
  std::vector<std::unique_ptr<SliceRun>> runs;
  for (std::size_t i = 0; i < slices.programs.size(); ++i) {
    runs.push_back(std::make_unique<SliceRun>(engine, i, slices.programs[i], gpus[slices.gpu[i]]));
  }
  engine.run();
  std::vector<Timeline> timelines(gpus.size());
  for (std::size_t i = 0; i < runs.size(); ++i) merge(timelines[slices.gpu[i]], runs[i]->run.take());
  for (Timeline& timeline : timelines) {
    timeline.events = engine.events();
    order(timeline);
  }
  return timelines;
}

std::vector<Timeline> simulate_tenants_isolated(std::span<const TenantGpu> gpus) {
  const std::string bytes = run_isolated([&] {
    Bytewise writer;
    for (const Timeline& timeline : simulate_tenants(gpus)) {
      visit(timeline, [&writer](const auto& value) { writer.put(value); });
    }
    return std::move(writer.out);
  });
  std::vector<Timeline> timelines(gpus.size());
  Bytewise reader(bytes);
  for (Timeline& timeline : timelines) visit(timeline, [&reader](auto& value) { reader.get(value); });
  return timelines;
}

Timeline simulate_tenants_isolated(std::span<const Tenant> tenants, const GpuSpec& gpu, DispatchPolicy& policy,
                                   const SharingOptions& options) {
  const TenantGpu only{tenants, gpu, policy, options};
  return std::move(simulate_tenants_isolated(std::span(&only, 1)).front());
}

}  // namespace tessera
