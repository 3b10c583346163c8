#include "sim/des/collective.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {

namespace {

/// Members of a group meet at one task, sender and receiver of a message at its number.
std::uint64_t key(const Plan& plan, std::uint32_t group, std::uint32_t task) {
  const auto& collective = std::get<Collective>(plan.tasks[task].work);
  const bool message = is_message(collective);
  return std::uint64_t{message ? collective.message : task} << 32 | group;
}

}  // namespace

Collectives::Collectives(Engine& engine, const Plan& plan, const Routing& routing, const CollectiveModel& model,
                         Recorder& recorder, double payload)
    : engine_(engine), plan_(plan), routing_(routing), model_(model), recorder_(recorder), payload_(payload) {}

void Collectives::join(std::uint32_t group, std::uint32_t task, Done done) {
  Meeting& meeting = meetings_[key(plan_, group, task)];
  meeting.group = group;
  meeting.task = task;
  meeting.done.push_back(std::move(done));
  if (static_cast<int>(meeting.done.size()) == routing_.groups()[group].members) start(meeting);
}

void Collectives::start(Meeting& meeting) {
  const GroupShape& shape = routing_.groups()[meeting.group].shape;
  const auto& collective = std::get<Collective>(plan_.tasks[meeting.task].work);
  meeting.started = engine_.now();
  const CollectiveAlgorithm algorithm = routing_.algorithm_of(collective);
  meeting.cost = model_.cost(collective.kind, collective.bytes, shape, algorithm);
  meeting.cost.inside /= payload_;
  meeting.cost.between /= payload_;
  meeting.volume = collective_volume(meeting.cost.algorithm, collective.kind, shape.ranks, collective.bytes);
  engine_.at(engine_.now() + meeting.cost.wait, [this, &meeting] { flow(meeting); });
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
