#include <algorithm>
#include <numeric>

#include "sim/place/schedule/instance.hpp"

namespace tessera {

namespace {

Energy& operator+=(Energy& sum, const Energy& e) {
  sum.chip += e.chip;
  sum.tensor += e.tensor;
  sum.vector += e.vector;
  sum.hbm += e.hbm;
  sum.buffer += e.buffer;
  return sum;
}

Seconds largest(const Energy& e) {
  return max(max(e.chip, max(e.tensor, e.vector)), max(e.hbm, e.buffer));
}

/// Earliest starts: the longest chain of what comes before, or its energy after some head. Called with the arrows
/// reversed it gives tails. `earlier(i)` are direct predecessors, `is_before(i, j)` all.
template <class Earlier, class IsBefore>
std::vector<Seconds> heads_of(const Instance& instance, const std::vector<Energy>& energy,
                              const std::vector<std::size_t>& sequence, Earlier earlier, IsBefore is_before) {
  std::vector<Seconds> head(instance.size());
  std::vector<std::size_t> by_head;  // those that have one, latest first
  for (const std::size_t j : sequence) {
    Seconds at;
    for (const int i : earlier(j)) {
      const auto p = static_cast<std::size_t>(i);
      at = max(at, head[p] + instance.tasks[p].shortest());
    }
    Energy sum;
    for (const std::size_t i : by_head) {
      if (!is_before(i, j)) continue;
      sum += energy[i];
      at = max(at, head[i] + largest(sum));
    }
    head[j] = at;
    by_head.insert(std::find_if(by_head.begin(), by_head.end(), [&](std::size_t i) { return head[i] < at; }), j);
  }
  return head;
}

/// A topological order that respects added precedences: by the number of predecessors.
std::vector<std::size_t> sequence_of(const Instance& instance) {
  std::vector<int> ahead(instance.size(), 0);
  for (std::size_t j = 0; j < instance.size(); ++j) {
    for (std::size_t i = 0; i < instance.size(); ++i) ahead[j] += instance.precedes(i, j) ? 1 : 0;
  }
  std::vector<std::size_t> sequence(instance.size());
  std::iota(sequence.begin(), sequence.end(), std::size_t{0});
  std::stable_sort(sequence.begin(), sequence.end(), [&](std::size_t a, std::size_t b) { return ahead[a] < ahead[b]; });
  return sequence;
}

bool fix_choices(Instance& instance, Seconds limit, const Windows& windows, bool& changed) {
  for (std::size_t i = 0; i < instance.size(); ++i) {
    Task& task = instance.tasks[i];
    const Seconds around = windows.head[i] + windows.tail[i];
    if (task.may_one && around + task.one_core >= limit) {
      task.may_one = false;
      changed = true;
    }
    if (task.may_all && around + task.all_cores >= limit) {
      task.may_all = false;
      changed = true;
    }
    if (!task.may_one && !task.may_all) return false;
  }
  return true;
}

/// Immediate selection (Carlier and Pinson 1989): of two that exclude each other, one order is too long.
bool fix_orders(Instance& instance, Seconds limit, const Windows& windows, bool& changed) {
  const auto too_long = [&](std::size_t i, std::size_t j) {
    return windows.head[i] + instance.tasks[i].shortest() + instance.tasks[j].shortest() + windows.tail[j] >= limit;
  };
  for (std::size_t i = 0; i < instance.size(); ++i) {
    for (std::size_t j = i + 1; j < instance.size(); ++j) {
      if (instance.precedes(i, j) || instance.precedes(j, i) || !instance.disjunctive(i, j)) continue;
      const bool not_ij = too_long(i, j), not_ji = too_long(j, i);
      if (not_ij && not_ji) return false;
      if (!not_ij && !not_ji) continue;
      if (!(not_ij ? instance.add_precedence(j, i) : instance.add_precedence(i, j))) return false;
      changed = true;
    }
  }
  return true;
}

}  // namespace

Energy energy_of_rest(const Instance& instance, std::size_t i, bool all_cores, Seconds rest) {
  if (all_cores) return {rest, rest, rest};
  const CoreClass core = instance.tasks[i].core;
  return {rest / instance.width[i], core == CoreClass::vector ? Seconds() : rest / instance.tensor_width[i],
          core == CoreClass::tensor ? Seconds() : rest / instance.vector_width[i]};
}

Energy energy_of(const Instance& instance, std::size_t i) {
  const Task& task = instance.tasks[i];
  const Energy all = energy_of_rest(instance, i, true, task.all_cores);
  const Energy one = energy_of_rest(instance, i, false, task.one_core);
  Energy least = task.may_one ? one : all;
  if (task.may_one && task.may_all) {
    least = {min(one.chip, all.chip), min(one.tensor, all.tensor), min(one.vector, all.vector)};
  }
  least.hbm = task.hbm;
  least.buffer = task.buffer;
  return least;
}

ScheduleBound bound_of(const Instance& instance) {
  const Seconds bound = windows_of(instance).bound.makespan;
  std::vector<Seconds> end(instance.size());
  Seconds longest;
  for (std::size_t i = 0; i < instance.size(); ++i) {
    for (const int p : instance.before[i]) end[i] = max(end[i], end[static_cast<std::size_t>(p)]);
    end[i] += instance.tasks[i].shortest();
    longest = max(longest, end[i]);
  }
  const bool chain = longest >= bound * (1.0 - kRounding);
  return {.makespan = bound, .rule = chain ? BoundRule::critical_path : BoundRule::energy};
}

Seconds energy_bound(const std::vector<EnergyItem>& items) {
  Seconds bound;
  for (const EnergyItem& last : items) {
    Energy sum;
    for (const EnergyItem& item : items) {
      if (item.tail < last.tail) continue;
      sum += item.energy;
      bound = max(bound, item.head + largest(sum) + last.tail);
    }
  }
  return bound;
}

Windows windows_of(const Instance& instance) {
  std::vector<Energy> energy;
  for (std::size_t i = 0; i < instance.size(); ++i) energy.push_back(energy_of(instance, i));
  std::vector<std::size_t> sequence = sequence_of(instance);
  Windows windows;
  windows.head = heads_of(
      instance, energy, sequence, [&](std::size_t j) -> const std::vector<int>& { return instance.before[j]; },
      [&](std::size_t i, std::size_t j) { return instance.precedes(i, j); });
  std::reverse(sequence.begin(), sequence.end());
  windows.tail = heads_of(
      instance, energy, sequence, [&](std::size_t j) -> const std::vector<int>& { return instance.after[j]; },
      [&](std::size_t i, std::size_t j) { return instance.precedes(j, i); });
  std::vector<EnergyItem> items;
  for (std::size_t i = 0; i < instance.size(); ++i) {
    items.push_back({windows.head[i], windows.tail[i], energy[i]});
    windows.bound.makespan =
        max(windows.bound.makespan, windows.head[i] + instance.tasks[i].shortest() + windows.tail[i]);
  }
  std::stable_sort(items.begin(), items.end(), [](const auto& a, const auto& b) { return a.head > b.head; });
  windows.bound.makespan = max(windows.bound.makespan, energy_bound(items));
  return windows;
}

bool restrict_to_better(Instance& instance, Seconds incumbent, Windows& windows) {
  const Seconds limit = incumbent * (1.0 - kRounding);
  for (bool changed = true; changed;) {
    if (windows.bound.makespan >= limit) return false;
    changed = false;
    if (!fix_choices(instance, limit, windows, changed) || !fix_orders(instance, limit, windows, changed)) return false;
    if (changed) windows = windows_of(instance);
  }
  return true;
}

}  // namespace tessera
