#include "sim/place/schedule/partial_schedule.hpp"

#include <algorithm>
#include <limits>

namespace tessera {

namespace {

constexpr std::size_t kMostLabels = 400'000;  // about 100 MB

}  // namespace

Construction::Construction(const Instance& instance, const Windows& windows)
    : instance_(instance), windows_(windows), sequence_(sequence_of(instance)), head_(instance.size()) {
  for (std::size_t i = 0; i < instance.size(); ++i) energy_.push_back(energy_of(instance, i));
}

PartialSchedule Construction::begin() const {
  PartialSchedule partial;
  partial.placed.resize(instance_.size());
  for (const std::vector<int>& before : instance_.before) partial.waits.push_back(before.size());
  partial.tensor.resize(static_cast<std::size_t>(instance_.cores.tensor));
  partial.vector.resize(static_cast<std::size_t>(instance_.cores.vector));
  return partial;
}

PartialSchedule Construction::after(const PartialSchedule& partial, const Move& move) const {
  PartialSchedule next = partial;
  const std::size_t i = move.task;
  next.placed[i] = {move.start, move.end, move.all_cores, move.tensor_core, move.vector_core};
  next.now = max(next.now, move.start);
  if (move.all_cores) {
    std::fill(next.tensor.begin(), next.tensor.end(), move.end);
    std::fill(next.vector.begin(), next.vector.end(), move.end);
  }
  if (move.tensor_core >= 0) next.tensor[static_cast<std::size_t>(move.tensor_core)] = move.end;
  if (move.vector_core >= 0) next.vector[static_cast<std::size_t>(move.vector_core)] = move.end;
  next.scheduled.set(i);
  std::erase_if(next.running, [&](std::size_t r) { return next.placed[r].end <= next.now; });
  next.running.push_back(i);
  for (const int j : instance_.after[i]) --next.waits[static_cast<std::size_t>(j)];
  return next;
}

CorePlacement Construction::placement(const PartialSchedule& partial) const {
  CorePlacement placement{.tasks = partial.placed, .makespan = {}};
  for (const PlacedOperator& placed : placement.tasks) placement.makespan = max(placement.makespan, placed.end);
  return placement;
}

Seconds Construction::ready(const PartialSchedule& partial, std::size_t i) const {
  Seconds at = partial.now;
  for (const int p : instance_.before[i]) at = max(at, partial.placed[static_cast<std::size_t>(p)].end);
  return at;
}

Seconds Construction::bound(const PartialSchedule& partial, Seconds limit) {
  items_.clear();
  Seconds longest;
  for (const std::size_t r : partial.running) {
    const PlacedOperator& placed = partial.placed[r];
    longest = max(longest, placed.end + windows_.tail[r]);
    const Seconds rest = max(Seconds(), placed.end - partial.now);
    items_.push_back({partial.now, windows_.tail[r], energy_of_rest(instance_, r, placed.all_cores, rest)});
  }
  const Seconds tensor = *std::min_element(partial.tensor.begin(), partial.tensor.end());
  const Seconds vector = *std::min_element(partial.vector.begin(), partial.vector.end());
  for (const std::size_t i : sequence_) {
    if (partial.scheduled.test(i)) continue;
    Seconds at = max(ready(partial, i), windows_.head[i]);
    for (const int p : instance_.before[i]) {
      const auto k = static_cast<std::size_t>(p);
      if (!partial.scheduled.test(k)) at = max(at, head_[k] + task(k).shortest());
    }
    if (task(i).core != CoreClass::vector) at = max(at, tensor);
    if (task(i).core != CoreClass::tensor) at = max(at, vector);
    head_[i] = at;
    longest = max(longest, at + task(i).shortest() + windows_.tail[i]);
    items_.push_back({at, windows_.tail[i], energy_[i]});
  }
  if (longest >= limit) return longest;
  std::stable_sort(items_.begin(), items_.end(), [](const auto& a, const auto& b) { return a.head > b.head; });
  return max(longest, energy_bound(items_));
}

std::vector<Move> Construction::moves(const PartialSchedule& partial) const {
  std::vector<Move> found;
  for (std::size_t i = 0; i < instance_.size(); ++i) {
    if (partial.scheduled.test(i) || partial.waits[i] > 0) continue;
    if (task(i).may_all) add_all(partial, i, found);
    if (task(i).may_one) add_one(partial, i, found);
  }
  Seconds first_end(std::numeric_limits<double>::infinity());
  for (const Move& move : found) first_end = min(first_end, move.end);
  std::erase_if(found, [&](const Move& m) { return m.start >= first_end && m.end > first_end; });
  std::stable_sort(found.begin(), found.end(), [&](const Move& a, const Move& b) {
    if (a.start != b.start) return a.start < b.start;
    return a.end + windows_.tail[a.task] > b.end + windows_.tail[b.task];
  });
  return found;
}

void Construction::add_all(const PartialSchedule& partial, std::size_t i, std::vector<Move>& found) const {
  Seconds start = ready(partial, i);
  for (const std::size_t r : partial.running) start = max(start, partial.placed[r].end);
  found.push_back({.task = i, .all_cores = true, .start = start, .end = start + task(i).all_cores});
}

void Construction::add_one(const PartialSchedule& partial, std::size_t i, std::vector<Move>& found) const {
  const Seconds from = ready(partial, i);
  std::vector<std::pair<Seconds, Seconds>> tried;  // cores that differ in nothing that matters are tried once
  const auto free_at = [&](const std::vector<Seconds>& cores, int c) {
    const bool none = c < 0 || static_cast<std::size_t>(c) >= cores.size();
    return none ? Seconds(-1.0) : max(partial.now, cores[static_cast<std::size_t>(c)]);
  };
  const auto try_cores = [&](int t, int v) {
    const int core = std::max(t, v);
    const bool paired = core < instance_.pairs;
    const std::pair state{free_at(partial.tensor, t >= 0 || paired ? core : -1),
                          free_at(partial.vector, v >= 0 || paired ? core : -1)};
    if (std::find(tried.begin(), tried.end(), state) != tried.end()) return;
    tried.push_back(state);
    Seconds start = from;
    if (t >= 0) start = max(start, partial.tensor[static_cast<std::size_t>(t)]);
    if (v >= 0) start = max(start, partial.vector[static_cast<std::size_t>(v)]);
    found.push_back({.task = i, .tensor_core = t, .vector_core = v, .start = start, .end = start + task(i).one_core});
  };
  switch (task(i).core) {
    case CoreClass::tensor:
      for (int t = 0; t < instance_.cores.tensor; ++t) try_cores(t, -1);
      break;
    case CoreClass::vector:
      for (int v = 0; v < instance_.cores.vector; ++v) try_cores(-1, v);
      break;
    default:
      for (int c = 0; c < instance_.pairs; ++c) try_cores(c, c);
  }
}

Label Construction::label(const PartialSchedule& partial) const {
  const auto pairs = static_cast<std::size_t>(instance_.pairs);
  const Seconds now = partial.now;
  std::vector<std::pair<Seconds, Seconds>> both;
  for (std::size_t c = 0; c < pairs; ++c) both.emplace_back(max(now, partial.tensor[c]), max(now, partial.vector[c]));
  std::sort(both.begin(), both.end());
  Label label{now};
  for (const auto& [t, v] : both) {
    label.push_back(t);
    label.push_back(v);
  }
  const std::vector<Seconds>& more = partial.tensor.size() > pairs ? partial.tensor : partial.vector;
  for (std::size_t c = pairs; c < more.size(); ++c) label.push_back(max(now, more[c]));
  std::sort(label.begin() + static_cast<std::ptrdiff_t>(1 + 2 * pairs), label.end());
  for (std::size_t i = 0; i < instance_.size(); ++i) {
    if (!partial.scheduled.test(i)) label.push_back(ready(partial, i));
  }
  return label;
}

bool SeenLabels::dominated(const Scheduled& scheduled, Label label) {
  std::vector<Label>& known = seen_[scheduled];
  const auto as_early = [](const Label& a, const Label& b) {
    return std::equal(a.begin(), a.end(), b.begin(), [](Seconds x, Seconds y) { return x <= y; });
  };
  for (const Label& other : known) {
    if (as_early(other, label)) return true;
  }
  count_ -= std::erase_if(known, [&](const Label& other) { return as_early(label, other); });
  if (count_ < kMostLabels) {
    known.push_back(std::move(label));
    ++count_;
  }
  return false;
}

}  // namespace tessera
