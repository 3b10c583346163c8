#include "sim/des/collective.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {

namespace {

/// Members of a group meet at one task, those of several programs at a number.
std::uint64_t key(const Plan& plan, std::uint32_t group, std::uint32_t task) {
  const auto& collective = std::get<Collective>(plan.tasks[task].work);
  return std::uint64_t{meets_by_number(collective) ? collective.message : task} << 32 | group;
}

}  // namespace

Collectives::Collectives(Engine& engine, const Plan& plan, const Routing& routing, const CollectiveModel& model,
                         Recorder& recorder, double payload, std::span<const OwnCollective> own)
    : engine_(engine),
      plan_(plan),
      routing_(routing),
      model_(model),
      recorder_(recorder),
      payload_(payload),
      own_(own) {
  for (const OwnCollective& one : own) {
    Steps steps{.before = step_dependencies(one.schedule), .after = {}};
    steps.after.resize(steps.before.size());
    for (std::uint32_t step = 0; step < steps.before.size(); ++step) {
      for (const std::uint32_t before : steps.before[step]) steps.after[before].push_back(step);
    }
    steps_.push_back(std::move(steps));
  }
}

void Collectives::join(std::uint32_t group, std::uint32_t task, Done done, Began began) {
  Meeting& meeting = meetings_[key(plan_, group, task)];
  meeting.group = group;
  meeting.task = task;
  meeting.done.push_back(std::move(done));
  if (began) meeting.began.push_back(std::move(began));
  if (static_cast<int>(meeting.done.size()) == routing_.groups()[group].members) start(meeting);
}

void Collectives::start(Meeting& meeting) {
  const GroupShape& shape = routing_.groups()[meeting.group].shape;
  const auto& collective = std::get<Collective>(plan_.tasks[meeting.task].work);
  meeting.started = engine_.now();
  if (const auto own = routing_.own_of(collective)) {
    meeting.own = *own;
    meeting.volume = chunk_bytes(own_[*own].schedule, collective.bytes);
    meeting.price = model_.step_price(shape);
    take(meeting, collective.kind, meeting.price.channels, {});
    engine_.at(engine_.now() + meeting.price.start, [this, &meeting] { start_own(meeting); });
    return;
  }
  const CollectiveAlgorithm algorithm = routing_.algorithm_of(collective);
  meeting.cost = model_.cost(collective.kind, collective.bytes, shape, algorithm);
  meeting.cost.inside /= payload_;
  meeting.cost.between /= payload_;
  meeting.volume = collective_volume(meeting.cost.algorithm, collective.kind, shape.ranks, collective.bytes);
  take(meeting, collective.kind, meeting.cost.channels, meeting.cost.time);
  if (!routing_.groups()[meeting.group].rates.empty()) return flow_undisturbed(meeting);
  engine_.at(engine_.now() + meeting.cost.wait, [this, &meeting] { flow(meeting); });
}

/// Its blocks hold an SM each. Per byte sent it reads one of device memory and writes one, and where it sums reads
/// another (Rashidi et al., ISCA 2021), evenly over the time that it takes alone.
void Collectives::take(const Meeting& meeting, CollectiveKind kind, int channels, Seconds alone) {
  const bool sums = kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter;
  const BytesPerSec traffic = alone > Seconds() ? meeting.volume * (sums ? 3.0 : 2.0) / alone : BytesPerSec();
  for (const Began& began : meeting.began) began({static_cast<double>(channels), traffic});
}

void Collectives::flow(Meeting& meeting) {
  const CommunicationGroup& group = routing_.groups()[meeting.group];
  meeting.open = group.flows.size() + 1;
  for (const Flow& flow : group.flows) {
    const Bytes payload = meeting.volume * flow.share;
    if (payload <= Bytes(0.0)) {
      --meeting.open;
      continue;
    }
    const Bytes size = payload * (flow.between_nodes ? meeting.cost.between : meeting.cost.inside);
    engine_.transfer(flow.route, size, [this, &meeting, &flow, payload, start = engine_.now()] {
      recorder_.flow(flow, payload, meeting.task, start, engine_.now());
      end(meeting);
    });
  }
  end(meeting);
}

/// All its ends are known at its start.
void Collectives::flow_undisturbed(Meeting& meeting) {
  const CommunicationGroup& group = routing_.groups()[meeting.group];
  const Seconds start = engine_.now() + meeting.cost.wait;
  Seconds last = start;
  for (std::size_t f = 0; f < group.flows.size(); ++f) {
    const Flow& flow = group.flows[f];
    const Bytes payload = meeting.volume * flow.share;
    if (payload <= Bytes(0.0)) continue;
    const Seconds took = payload * (flow.between_nodes ? meeting.cost.between : meeting.cost.inside) / group.rates[f];
    recorder_.flow(flow, payload, meeting.task, start, start + took);
    last = max(last, start + took);
  }
  meeting.open = 1;
  engine_.at(last, [this, &meeting] { end(meeting); });
}

void Collectives::start_own(Meeting& meeting) {
  const Steps& steps = steps_[meeting.own];
  meeting.open = steps.before.size();
  meeting.flowing.assign(steps.before.size(), 0);
  for (const Flow& flow : routing_.groups()[meeting.group].flows) ++meeting.flowing[flow.step];
  for (const auto& before : steps.before) meeting.blockers.push_back(before.size());
  for (std::uint32_t step = 0; step < steps.before.size(); ++step) {
    if (steps.before[step].empty()) start_step(meeting, step);
  }
}

void Collectives::start_step(Meeting& meeting, std::uint32_t step) {
  const std::vector<Flow>& flows = routing_.groups()[meeting.group].flows;
  const StepPrice& price = meeting.price;
  for (const Flow& flow : std::ranges::equal_range(flows, step, {}, &Flow::step)) {
    Seconds hop = flow.between_nodes ? price.between_hop : price.inside_hop;
    if (flow.between_nodes || price.latency_inside) hop += flow.latency;
    const Bytes size = meeting.volume * (flow.between_nodes ? price.between : price.inside) / payload_;
    engine_.at(engine_.now() + hop, [this, &meeting, &flow, size] {
      engine_.transfer(flow.route, size, [this, &meeting, &flow, start = engine_.now()] {
        recorder_.flow(flow, meeting.volume, meeting.task, start, engine_.now());
        end_step(meeting, flow.step);
      });
    });
  }
}

void Collectives::end_step(Meeting& meeting, std::uint32_t step) {
  if (--meeting.flowing[step] > 0) return;
  for (const std::uint32_t next : steps_[meeting.own].after[step]) {
    if (--meeting.blockers[next] == 0) start_step(meeting, next);
  }
  end(meeting);
}

void Collectives::end(Meeting& meeting) {
  if (--meeting.open > 0) return;
  const auto done = std::move(meeting.done);
  const Seconds started = meeting.started;
  meetings_.erase(key(plan_, meeting.group, meeting.task));
  for (const auto& call : done) call(started);
}

std::vector<std::string> Collectives::waiting() const {
  std::vector<const Meeting*> open;
  open.reserve(meetings_.size());
  for (const auto& [unused, meeting] : meetings_) open.push_back(&meeting);
  std::ranges::sort(open, {}, [&](const Meeting* m) { return key(plan_, m->group, m->task); });
  std::vector<std::string> lines;
  for (const Meeting* m : open) {
    const Task& task = plan_.tasks[m->task];
    const auto& collective = std::get<Collective>(task.work);
    lines.push_back(fmt::format("{} '{}' over {} has {} of {} ranks", to_string(collective.kind),
                                plan_.names[task.name], to_string(collective.over), m->done.size(),
                                routing_.groups()[m->group].members));
  }
  return lines;
}

}  // namespace tessera
