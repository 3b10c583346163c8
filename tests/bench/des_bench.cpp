// Events per second of the event loop, and as a ratio to a bare SimGrid loop that runs the same activities.
// Every run is a process of its own, because SimGrid has one engine per process.
#include <benchmark/benchmark.h>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <ctime>
#include <functional>
#include <string>

#include "sim/base/isolate.hpp"
#include "sim/des/engine_config.hpp"
#include "tests/unit/des/bench_cluster.hpp"

namespace tessera {
namespace {

namespace s4u = simgrid::s4u;

constexpr int kWaves = 20000;
constexpr int kFlows = 20000;

/// Of the processor, so that other programs on the machine do not count.
double seconds_of(const std::function<void()>& work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// Best of three processes, without what it takes to start them.
double isolated_seconds(const std::function<double()>& timed) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) best = std::min(best, std::stod(run_isolated([&] { return std::to_string(timed()); })));
  return best;
}

/// Waves one after the other, each an execution on the SMs and one on HBM.
double bare_waves() {
  const auto engine = start_simgrid();
  auto* zone = s4u::create_empty_zone("world");
  auto* sms = zone->create_host("sms", 132.0);
  auto* hbm = zone->create_host("hbm", 3.35e12);
  zone->seal();
  int open = 0, left = kWaves;
  s4u::ExecPtr compute, memory, old_compute, old_memory;
  const auto start = [](s4u::Host* host, double amount, double bound) {
    auto exec = s4u::Exec::init();
    exec->set_flops_amount(amount)->set_bound(bound);
    exec->set_host(host)->start();
    return exec;
  };
  const auto wave = [&] {
    open = 2;
    old_compute = std::move(compute);
    old_memory = std::move(memory);
    compute = start(sms, 132.0 * 5e-6, 132.0);
    memory = start(hbm, 5e6, 1e12);
  };
  s4u::Activity::on_completion_cb([&](const s4u::Activity&) {
    if (--open == 0 && --left > 0) wave();
  });
  wave();
  return seconds_of([&] { engine->run(); });
}

double our_waves() {
  const GpuSpec gpu = small_gpu(132);
  BenchGpu bench(gpu, Fidelity::wave);
  const auto stream = bench.stream();
  const KernelCost cost = grid(gpu, 132, 1024, Seconds(5e-6), Bytes(5e6));
  for (std::uint32_t i = 0; i < kWaves; ++i) bench.launch(stream, cost, i);
  return seconds_of([&] { bench.run(); });
}

/// Two flows at a time, the ring of two GPUs; with what it takes to set up and to record.
void bare_flows() {
  const auto engine = start_simgrid();
  auto* zone = s4u::create_full_zone("world");
  const std::vector<s4u::Host*> hosts{zone->create_host("a", 1.0), zone->create_host("b", 1.0)};
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<s4u::LinkInRoute> route;
    for (const char* end : {"out", "in"}) {
      route.emplace_back(zone->create_link(std::string(end) + std::to_string(i), 450e9)->set_latency(0.0));
    }
    zone->add_route(hosts[i]->get_netpoint(), hosts[1 - i]->get_netpoint(), nullptr, nullptr, route, false);
  }
  zone->seal();
  int open = 0, left = kFlows / 2;
  std::vector<s4u::CommPtr> flows, old;
  const auto step = [&] {
    open = 2;
    old = std::move(flows);
    flows.clear();
    for (std::size_t i = 0; i < 2; ++i) {
      const s4u::CommPtr flow = s4u::Comm::sendto_init();
      flow->set_payload_size(1000000);
      flow->set_source(hosts[i])->set_destination(hosts[1 - i]);
      flows.push_back(flow);
    }
  };
  s4u::Activity::on_completion_cb([&](const s4u::Activity&) {
    if (--open == 0 && --left > 0) step();
  });
  step();
  engine->run();
}

void our_flows() {
  BenchPlan plan(2, 1, small_cluster(2));
  for (int i = 0; i < kFlows / 2; ++i) plan.collective(CollectiveKind::all_reduce, Dimension::tp, Bytes(1e6));
  plan.run(kGraphUnfolded);
}

void report(benchmark::State& state, int activities, double bare, double ours) {
  for (auto _ : state) state.SetIterationTime(ours);
  state.counters["activities/s"] = activities / ours;
  state.counters["bare_activities/s"] = activities / bare;
  state.counters["bare_speed_ratio"] = bare / ours;  // 1: as fast as bare SimGrid; the bar is 0.5
}

void waves_against_bare_simgrid(benchmark::State& state) {
  report(state, 2 * kWaves, isolated_seconds(bare_waves), isolated_seconds(our_waves));
}
BENCHMARK(waves_against_bare_simgrid)->UseManualTime()->Iterations(1);

void collectives_against_bare_simgrid(benchmark::State& state) {
  report(state, kFlows, isolated_seconds([] { return seconds_of(bare_flows); }),
         isolated_seconds([] { return seconds_of(our_flows); }));
}
BENCHMARK(collectives_against_bare_simgrid)->UseManualTime()->Iterations(1);

/// A step shaped like the quickstart's: 16 micro-batches of 32 layers on TP 2 x DP 4, folded.
void training_step(benchmark::State& state) {
  BenchPlan plan(2, 4, small_cluster(8));
  std::int64_t tasks = 0;
  TaskId last = plan.kernel(Seconds(5e-6));
  for (int i = 0; i < 16 * 32 * 4; ++i, tasks += 12) {
    for (int k = 0; k < 10; ++k) last = plan.kernel(Seconds(40e-6));
    const TaskId sum = plan.collective(CollectiveKind::all_reduce, Dimension::tp, Bytes(33e6), {last});
    last = plan.kernel(Seconds(40e-6), {sum});
  }
  const double ours = isolated_seconds([&] { return seconds_of([&] { plan.run(); }); });
  for (auto _ : state) state.SetIterationTime(ours);
  state.counters["tasks/s"] = static_cast<double>(tasks) / ours;
}
BENCHMARK(training_step)->UseManualTime()->Iterations(1);

/// An all-reduce of 1,024 ranks on 128 nodes, unfolded, beside all-gathers inside the nodes: a flow per pair of
/// neighbours and collective, which share NVLinks.
void ring_of_1024_ranks(benchmark::State& state) {
  BenchPlan plan(8, 128, small_cluster(8, 128));
  plan.collective(CollectiveKind::all_reduce, Dimension::dp, Bytes(1e9));
  plan.collective(CollectiveKind::all_gather, Dimension::tp, Bytes(1e9));
  BenchPlan all(1, 1024, small_cluster(8, 128));
  all.collective(CollectiveKind::all_reduce, Dimension::dp, Bytes(1e9));
  const double contended = isolated_seconds([&] { return seconds_of([&] { plan.run(kGraphUnfolded); }); });
  const double ours = isolated_seconds([&] { return seconds_of([&] { all.run(kGraphUnfolded); }); });
  for (auto _ : state) state.SetIterationTime(ours);
  state.counters["two_dimensions_s"] = contended;
}
BENCHMARK(ring_of_1024_ranks)->UseManualTime()->Iterations(1);

}  // namespace
}  // namespace tessera
