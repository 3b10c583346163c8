#include "sim/des/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/isolate.hpp"
#include "sim/base/text.hpp"
#include "sim/des/collective.hpp"
#include "sim/des/device.hpp"
#include "sim/des/engine.hpp"
#include "sim/des/host.hpp"
#include "sim/des/rank.hpp"
#include "sim/des/recorder.hpp"
#include "sim/des/routing.hpp"
#include "sim/dispatch/policy.hpp"
#include "sim/trace/binary.hpp"

namespace tessera {

namespace {

constexpr std::size_t kNamedInError = 6;
constexpr int kMostDrawn = 64;  // GPUs on a timeline, as many as a folded run simulates

/// What every rank is by itself: its program, and how fast its GPU computes.
std::vector<std::uint64_t> sorts_of_ranks(const SimulationInput& input) {
  std::vector<std::uint64_t> sorts;
  std::map<std::pair<int, double>, std::uint64_t> known;
  for (std::size_t rank = 0; rank < input.placement.gpu_of_rank.size(); ++rank) {
    const double speed = gpu_speed(input.cluster, input.placement.gpu_of_rank[rank]);
    const auto sort = std::pair(input.plan.program_of(static_cast<Rank>(rank)), speed);
    sorts.push_back(known.try_emplace(sort, known.size()).first->second);
  }
  return sorts;
}

/// All ranks and links as they are, or one of those that are alike.
FoldedRun cast_of(const SimulationInput& input, Routing& routing, const Topology& topology) {
  if (input.options.fold == Fold::on && input.plan.spec.ranks_per_program() > 1) {
    if (auto folded = routing.fold(topology.links(), sorts_of_ranks(input))) return *std::move(folded);
  }
  FoldedRun all{.links = topology.links(), .ranks = {}};
  for (std::size_t rank = 0; rank < input.placement.gpu_of_rank.size(); ++rank)
    all.ranks.push_back(static_cast<Rank>(rank));
  return all;
}

std::vector<int> gpus_of(const std::vector<Rank>& ranks, const Placement& placement) {
  std::vector<int> gpus;
  for (const Rank rank : ranks) gpus.push_back(placement.gpu_of_rank[static_cast<std::size_t>(rank)]);
  return gpus;
}

std::vector<EngineGpu> engine_gpus(const std::vector<int>& simulated, const GpuSpec& spec) {
  std::vector<EngineGpu> gpus;
  for (const int gpu : simulated) gpus.push_back({gpu, spec.sms, spec.memory_bandwidth});
  return gpus;
}

/// Which of the simulated GPUs have tracks: as many of each program, of large runs the first.
std::vector<bool> drawn(const SimulationInput& input, const std::vector<Rank>& ranks) {
  const int most = std::max(1, kMostDrawn / input.plan.spec.programs());
  std::vector<int> of_program(static_cast<std::size_t>(input.plan.spec.programs()));
  std::vector<bool> draws;
  for (const Rank rank : ranks) {
    int& before = of_program[static_cast<std::size_t>(input.plan.program_of(rank))];
    draws.push_back(input.options.record_spans && before++ < most);
  }
  return draws;
}

std::vector<std::string> line_names(const Program& program) {
  std::vector<std::string> names;
  names.reserve(program.lines.size());
  for (const Program::Line& line : program.lines) names.push_back(line.name);
  return names;
}

void require_complete(const std::vector<std::unique_ptr<RankRun>>& ranks, const Collectives& collectives, Seconds now) {
  std::vector<std::string> reasons = collectives.waiting();
  for (const auto& rank : ranks) {
    for (std::string& line : rank->stuck()) reasons.push_back(std::move(line));
  }
  if (reasons.empty()) return;
  const std::size_t hidden = reasons.size() > kNamedInError ? reasons.size() - kNamedInError : 0;
  reasons.resize(reasons.size() - hidden);
  throw RunError(fmt::format("deadlock at {}: {}{}", format(now), fmt::join(reasons, "; "),
                             hidden > 0 ? fmt::format("; and {} more", hidden) : ""));
}

}  // namespace

Trace simulate(const SimulationInput& input) {
  TESSERA_ASSERT(input.costs.size() == input.plan.kernels.size(), "a cost for every kernel");
  TESSERA_ASSERT(static_cast<int>(input.placement.gpu_of_rank.size()) == input.plan.spec.world_size(),
                 "a GPU for every rank");
  const Topology topology(input.cluster);
  const CollectiveModel model =
      input.options.collectives ? CollectiveModel(*input.options.collectives) : CollectiveModel();
  Routing routing(input.plan, input.placement, input.cluster, topology, model, input.options.own_collectives);
  const FoldedRun cast = cast_of(input, routing, topology);
  routing.find_undisturbed(cast.links);
  const std::vector<int> simulated = gpus_of(cast.ranks, input.placement);

  Engine engine(engine_gpus(simulated, input.cluster.gpu),
                {cast.links, routing.routes(), [&](std::size_t route) { return routing.links_of(route); }});
  const Program program(input.plan, input.costs, input.cluster.gpu);
  TESSERA_ASSERT(input.options.host_work.empty() || input.options.host_work.size() == input.plan.tasks.size(),
                 "the host's work for every task");
  const Host host =
      input.options.cuda_graph ? Host(Seconds(0.0)) : Host(input.cluster.node.host_launch, input.options.host_work);
  Recorder recorder(drawn(input, cast.ranks), simulated, line_names(program), topology.links());
  Collectives collectives(engine, input.plan, routing, model, recorder,
                          input.options.collectives ? 1 : input.options.collective_payload,
                          input.options.own_collectives);
  std::vector<std::unique_ptr<DispatchPolicy>> policies;
  std::vector<std::unique_ptr<GpuDevice>> devices;
  std::vector<std::unique_ptr<RankRun>> ranks;
  for (std::size_t g = 0; g < simulated.size(); ++g) {
    policies.push_back(make_dispatch_policy(input.options.dispatch));
    devices.push_back(
        std::make_unique<GpuDevice>(engine, g, input.cluster.gpu, *policies.back(), input.options.fidelity,
                                    [&recorder, g](std::uint32_t line, std::uint32_t task, Seconds start, Seconds end) {
                                      recorder.task(g, line, task, true, start, end);
                                    }));
    for (std::size_t line = 0; line < program.lines.size(); ++line) devices.back()->add_stream();
    ranks.push_back(
        std::make_unique<RankRun>(Stage{program, routing, host, engine, collectives, recorder,
                                        input.options.synchronous_messages, input.options.collectives_take_sms},
                                  cast.ranks[g], g, *devices.back(), gpu_speed(input.cluster, simulated[g])));
  }
  for (const auto& rank : ranks) rank->start();
  engine.run();
  require_complete(ranks, collectives, engine.now());

  Trace trace = recorder.take();
  trace.folded = static_cast<std::uint32_t>(input.placement.gpu_of_rank.size() / cast.ranks.size());
  trace.events = engine.events();
  for (std::size_t g = 0; g < devices.size(); ++g) trace.gpus[g].hbm_carried = devices[g]->hbm_carried();
  return trace;
}

Trace simulate_isolated(const SimulationInput& input) {
  return from_bytes(run_isolated([&] { return to_bytes(simulate(input)); }));
}

}  // namespace tessera
