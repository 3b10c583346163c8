#include <algorithm>
#include <numeric>

#include "sim/place/schedule/instance.hpp"

namespace tessera {

namespace {

Energy& operator+=(Energy& sum, const Energy& e) {
  for (std::size_t k = 0; k < sum.of.size(); ++k) sum.of[k] += e.of[k];
  return sum;
}

Seconds largest(const Energy& e) {
  Seconds most;
  for (const Seconds energy : e.of) most = max(most, energy);
  return most;
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

Seconds critical_path(const Instance& instance) {
  std::vector<Seconds> end(instance.size());
  Seconds longest;
  for (std::size_t i = 0; i < instance.size(); ++i) {
    for (const int p : instance.before[i]) end[i] = max(end[i], end[static_cast<std::size_t>(p)]);
    end[i] += instance.tasks[i].shortest();
    longest = max(longest, end[i]);
  }
  return longest;
}

bool fix_choices(Instance& instance, Seconds limit, const Windows& windows, bool& changed) {
  for (std::size_t i = 0; i < instance.size(); ++i) {
    CoreTask& task = instance.tasks[i];
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
  Energy energy;
  const CoreClass core = instance.tasks[i].core;
  const double tensor = core == CoreClass::vector ? 0.0 : 1.0 / instance.tensor_width[i];
  const double vector = core == CoreClass::tensor ? 0.0 : 1.0 / instance.vector_width[i];
  energy.of[0] = all_cores ? rest : rest / instance.width[i];
  for (std::size_t k = 0; k < kTensorWeights.size(); ++k) {
    const double weight = kTensorWeights[k];
    energy.of[1 + k] = all_cores ? rest : rest * (weight * tensor + (1.0 - weight) * vector);
  }
  return energy;
}

Energy energy_of(const Instance& instance, std::size_t i) {
  const CoreTask& task = instance.tasks[i];
  Energy least = energy_of_rest(instance, i, !task.may_one, task.may_one ? task.one_core : task.all_cores);
  if (task.may_one && task.may_all) {
    for (Seconds& energy : least.of) energy = min(energy, task.all_cores);
  }
  least.of[kTensorWeights.size() + 1] = task.hbm;
  least.of[kTensorWeights.size() + 2] = task.buffer;
  return least;
}

ScheduleBound bound_of(const Instance& instance) {
  ScheduleBound bound;
  for (const std::vector<std::size_t>& block : consecutive_blocks(instance)) {
    const Instance part(instance, block);
    const Seconds makespan = windows_of(part).bound.makespan;
    bound.makespan += makespan;
    if (makespan > critical_path(part) * (1.0 + kRounding)) bound.rule = BoundRule::energy;
  }
  return bound;
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

bool probe_choices(Instance& instance, Seconds incumbent, Windows& windows) {
  const Seconds limit = incumbent * (1.0 - kRounding);
  if (!restrict_to_better(instance, incumbent, windows)) return false;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < instance.size(); ++i) {
      for (bool CoreTask::*choice : {&CoreTask::may_one, &CoreTask::may_all}) {
        if (!instance.tasks[i].may_one || !instance.tasks[i].may_all) break;
        instance.tasks[i].*choice = false;
        const bool too_long = windows_of(instance).bound.makespan >= limit;
        instance.tasks[i].*choice = true;
        if (!too_long) continue;
        // Without this choice nothing is better: the other one goes.
        instance.tasks[i].*(choice == &CoreTask::may_one ? &CoreTask::may_all : &CoreTask::may_one) = false;
        windows = windows_of(instance);
        if (!restrict_to_better(instance, incumbent, windows)) return false;
        changed = true;
      }
    }
  }
  return true;
}

Seconds refuted_makespan(const Instance& instance, const Windows& windows, Seconds incumbent) {
  Seconds low = windows.bound.makespan, high = incumbent;
  constexpr int kSteps = 10;
  for (int step = 0; step < kSteps && low < high * (1.0 - kRounding); ++step) {
    const Seconds middle = step == 0 ? incumbent : (low + high) / 2;
    Instance trial = instance;
    Windows trial_windows = windows;
    (probe_choices(trial, middle, trial_windows) ? high : low) = middle;
  }
  return low;
}

}  // namespace tessera
