#include "sim/place/schedule/ilp_model.hpp"

#include <algorithm>
#include <limits>

#include "sim/base/error.hpp"

namespace tessera {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kMakespan = 0;

int start_column(std::size_t i) {
  return 1 + static_cast<int>(i);
}
bool takes(CoreClass core, CoreClass kind) {
  return core == kind || core == CoreClass::fused;
}

}  // namespace

IlpModel::IlpModel(const Instance& instance, Seconds scale)
    : instance_(instance), scale_(scale), all_cores_(instance.size(), -1) {
  TESSERA_ASSERT(scale > Seconds(), "a schedule that takes time");
  add_times();
  add_choices();
  add_cores();
  add_orders();
}

int IlpModel::add_column(LinearProgram::Column column) {
  program_.columns.push_back(column);
  return static_cast<int>(program_.columns.size()) - 1;
}

void IlpModel::add_row(double lower, double upper, std::vector<std::pair<int, double>> terms) {
  program_.rows.push_back({.lower = lower, .upper = upper, .terms = std::move(terms)});
}

/// The longest chain before each task, or after it.
std::vector<Seconds> IlpModel::chains(bool before) const {
  const std::size_t count = instance_.size();
  std::vector<Seconds> longest(count);
  for (std::size_t n = 0; n < count; ++n) {
    const std::size_t i = before ? n : count - 1 - n;
    for (const int j : before ? instance_.before[i] : instance_.after[i]) {
      const auto other = static_cast<std::size_t>(j);
      longest[i] = max(longest[i], longest[other] + instance_.tasks[other].shortest());
    }
  }
  return longest;
}

/// p_i = L_i + (I_i - L_i) y_i: the variable part; the constant L_i goes to the row's bound.
std::vector<std::pair<int, double>> IlpModel::duration(std::size_t i, double sign) const {
  if (all_cores_[i] < 0) return {};
  const CoreTask& task = instance_.tasks[i];
  return {{all_cores_[i], sign * ratio(task.all_cores - task.one_core)}};
}

void IlpModel::add_times() {
  const std::vector<Seconds> head = chains(true), tail = chains(false);
  add_column({.lower = 0.0, .upper = 1.0, .cost = 1.0});
  for (std::size_t i = 0; i < instance_.size(); ++i) {
    const double latest = 1.0 - ratio(tail[i] + instance_.tasks[i].shortest());
    add_column({.lower = ratio(head[i]), .upper = std::max(latest, ratio(head[i]))});
  }
}

void IlpModel::add_choices() {
  for (std::size_t i = 0; i < instance_.size(); ++i) {
    if (instance_.tasks[i].may_all) all_cores_[i] = add_column({.upper = 1.0, .integer = true});
  }
  for (std::size_t i = 0; i < instance_.size(); ++i) {
    const double one = ratio(instance_.tasks[i].one_core);
    std::vector<std::pair<int, double>> end = duration(i, -1.0);
    end.emplace_back(start_column(i), -1.0);
    std::vector<std::pair<int, double>> last = end;
    last.emplace_back(kMakespan, 1.0);
    add_row(one, kInfinity, std::move(last));
    for (const int j : instance_.after[i]) {
      std::vector<std::pair<int, double>> next = end;
      next.emplace_back(start_column(static_cast<std::size_t>(j)), 1.0);
      add_row(one, kInfinity, std::move(next));
    }
  }
}

int IlpModel::core_count(std::size_t i) const {
  const CoreClass core = instance_.tasks[i].core;
  return core == CoreClass::fused    ? instance_.pairs
         : core == CoreClass::tensor ? instance_.cores.tensor
                                     : instance_.cores.vector;
}

/// One core each, unless on all: sum of z + y = 1. A fused task's z stands for a pair.
void IlpModel::add_cores() {
  int tensor = 0, vector = 0;
  for (const CoreTask& task : instance_.tasks) {
    tensor += takes(task.core, CoreClass::tensor) ? 1 : 0;
    vector += takes(task.core, CoreClass::vector) ? 1 : 0;
  }
  if (tensor <= instance_.cores.tensor && vector <= instance_.cores.vector) return;
  for (std::size_t i = 0; i < instance_.size(); ++i) {
    std::vector<std::pair<int, double>> sum;
    for (int c = 0; c < core_count(i); ++c) {
      const int column = add_column({.upper = 1.0, .integer = true});
      core_.emplace(CoreKey{i, c}, column);
      sum.emplace_back(column, 1.0);
    }
    if (all_cores_[i] >= 0) sum.emplace_back(all_cores_[i], 1.0);
    add_row(1.0, 1.0, std::move(sum));
  }
}

void IlpModel::add_orders() {
  const std::vector<Seconds> head = chains(true), tail = chains(false);
  const auto add = [&](std::size_t i, std::size_t j) {
    // t_i + p_i - t_j <= M (1 - x): M is the most that the left side can be.
    const double most = std::max(0.0, 1.0 - ratio(tail[i]) - ratio(head[j]));
    const int x = add_column({.upper = 1.0, .integer = true});
    order_.emplace(std::pair{i, j}, x);
    std::vector<std::pair<int, double>> terms = duration(i, 1.0);
    terms.emplace_back(start_column(i), 1.0);
    terms.emplace_back(start_column(j), -1.0);
    terms.emplace_back(x, most);
    add_row(-kInfinity, most - ratio(instance_.tasks[i].one_core), std::move(terms));
  };
  for (std::size_t i = 0; i < instance_.size(); ++i) {
    for (std::size_t j = i + 1; j < instance_.size(); ++j) {
      if (instance_.precedes(i, j) || instance_.precedes(j, i)) continue;
      const CoreTask &a = instance_.tasks[i], &b = instance_.tasks[j];
      const bool share =
          !core_.empty() && (a.core == b.core || a.core == CoreClass::fused || b.core == CoreClass::fused);
      if (!share && !a.may_all && !b.may_all) continue;
      add(i, j);
      add(j, i);
      add_exclusion(i, j);
    }
  }
}

/// x_ij + x_ji <= 1; >= y_i and y_j; >= z_ic + z_jc - 1 on every core that both could take.
void IlpModel::add_exclusion(std::size_t i, std::size_t j) {
  const std::pair<int, double> ij{order_.at({i, j}), 1.0}, ji{order_.at({j, i}), 1.0};
  add_row(-kInfinity, 1.0, {ij, ji});
  for (const std::size_t k : {i, j}) {
    if (all_cores_[k] >= 0) add_row(0.0, kInfinity, {ij, ji, {all_cores_[k], -1.0}});
  }
  const CoreClass a = instance_.tasks[i].core, b = instance_.tasks[j].core;
  const bool share = a == b || a == CoreClass::fused || b == CoreClass::fused;
  for (int c = 0; share && c < std::min(core_count(i), core_count(j)); ++c) {
    if (core_.empty()) break;
    add_row(-1.0, kInfinity, {ij, ji, {core_.at({i, c}), -1.0}, {core_.at({j, c}), -1.0}});
  }
}

std::vector<double> IlpModel::point_of(const CorePlacement& placement) const {
  std::vector<double> point(program_.columns.size(), 0.0);
  point[kMakespan] = ratio(placement.makespan);
  for (std::size_t i = 0; i < instance_.size(); ++i) {
    const PlacedOperator& placed = placement.tasks[i];
    point[static_cast<std::size_t>(start_column(i))] = ratio(placed.start);
    if (all_cores_[i] >= 0) point[static_cast<std::size_t>(all_cores_[i])] = placed.all_cores ? 1.0 : 0.0;
    const int core = std::max(placed.tensor_core, placed.vector_core);
    if (const auto z = core_.find({i, core}); z != core_.end()) point[static_cast<std::size_t>(z->second)] = 1.0;
  }
  for (const auto& [pair, x] : order_) {
    const auto& [i, j] = pair;
    const PlacedOperator &a = placement.tasks[i], &b = placement.tasks[j];
    const bool before = a.end <= b.start, after = b.end <= a.start;
    point[static_cast<std::size_t>(x)] = before && (!after || i < j) ? 1.0 : 0.0;
  }
  return point;
}

/// Enough cores for all: everyone has its own, and the fused come first, where the pairs are.
void IlpModel::take_any_core(std::size_t i, PlacedOperator& placed) const {
  int fused = 0, before = 0;
  const CoreClass core = instance_.tasks[i].core;
  for (std::size_t k = 0; k < instance_.size(); ++k) {
    const bool is_fused = instance_.tasks[k].core == CoreClass::fused;
    fused += is_fused ? 1 : 0;
    before += k < i && instance_.tasks[k].core == core ? 1 : 0;
  }
  const int mine = core == CoreClass::fused ? before : fused + before;
  if (takes(core, CoreClass::tensor)) placed.tensor_core = mine;
  if (takes(core, CoreClass::vector)) placed.vector_core = mine;
}

CorePlacement IlpModel::placement_of(const std::vector<double>& point) const {
  const auto value = [&](int column) { return point[static_cast<std::size_t>(column)]; };
  const std::size_t count = instance_.size();
  CorePlacement placement{.tasks = std::vector<PlacedOperator>(count), .makespan = {}};
  std::vector<bool> done(count, false);
  std::vector<std::size_t> placed_so_far;
  for (std::size_t n = 0; n < count; ++n) {
    std::size_t next = count;
    for (std::size_t i = 0; i < count; ++i) {
      const bool ready = !done[i] && std::all_of(instance_.before[i].begin(), instance_.before[i].end(),
                                                 [&](int p) { return done[static_cast<std::size_t>(p)]; });
      if (ready && (next == count || value(start_column(i)) < value(start_column(next)))) next = i;
    }
    PlacedOperator& placed = placement.tasks[next];
    placed.all_cores = all_cores_[next] >= 0 && value(all_cores_[next]) > 0.5;
    if (!placed.all_cores && core_.empty()) take_any_core(next, placed);
    for (int c = 0; !placed.all_cores && !core_.empty() && c < core_count(next); ++c) {
      if (value(core_.at({next, c})) < 0.5) continue;
      if (takes(instance_.tasks[next].core, CoreClass::tensor)) placed.tensor_core = c;
      if (takes(instance_.tasks[next].core, CoreClass::vector)) placed.vector_core = c;
    }
    for (const std::size_t k : placed_so_far) {
      const PlacedOperator& other = placement.tasks[k];
      const bool same = (placed.tensor_core >= 0 && placed.tensor_core == other.tensor_core) ||
                        (placed.vector_core >= 0 && placed.vector_core == other.vector_core);
      if (same || placed.all_cores || other.all_cores || instance_.precedes(k, next)) {
        placed.start = max(placed.start, other.end);
      }
    }
    const CoreTask& task = instance_.tasks[next];
    placed.end = placed.start + (placed.all_cores ? task.all_cores : task.one_core);
    placement.makespan = max(placement.makespan, placed.end);
    done[next] = true;
    placed_so_far.push_back(next);
  }
  return placement;
}

}  // namespace tessera
