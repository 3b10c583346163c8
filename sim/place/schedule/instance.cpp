#include "sim/place/schedule/instance.hpp"

#include <algorithm>
#include <numeric>

#include "sim/base/error.hpp"

namespace tessera {

namespace {

bool takes(CoreClass core, CoreClass kind) {
  return core == kind || core == CoreClass::fused;
}

std::vector<std::size_t> predecessor_counts(const Instance& instance) {
  std::vector<std::size_t> ahead(instance.size(), 0);
  for (std::size_t j = 0; j < instance.size(); ++j) {
    for (std::size_t i = 0; i < instance.size(); ++i) ahead[j] += instance.precedes(i, j) ? 1 : 0;
  }
  return ahead;
}

}  // namespace

Instance::Instance(const ScheduleProblem& problem) {
  const OperatorOrder& graph = problem.order;
  TESSERA_ASSERT(problem.latency.size() == graph.graph().core.size(), "one latency per operator");
  TESSERA_ASSERT(problem.cores.tensor > 0 && problem.cores.vector > 0, "a chip has cores of both kinds");
  const int count = graph.size();
  cores = {std::min(problem.cores.tensor, std::max(count, 1)), std::min(problem.cores.vector, std::max(count, 1))};
  pairs = std::min(cores.tensor, cores.vector);
  for (int i = 0; i < count; ++i) {
    const auto& [one, all] = problem.latency[static_cast<std::size_t>(graph.operator_of(i))];
    tasks.push_back({.core = graph.core(i),
                     .one_core = one,
                     .all_cores = all,
                     .hbm = {},
                     .buffer = {},
                     .may_one = true,
                     .may_all = all < one});
    before.emplace_back(graph.before(i).begin(), graph.before(i).end());
    after.emplace_back(graph.after(i).begin(), graph.after(i).end());
    width.push_back(std::min(graph.width(i), cores.tensor + cores.vector));
    tensor_width.push_back(std::min(graph.tensor_width(i), cores.tensor));
    vector_width.push_back(std::min(graph.vector_width(i), cores.vector));
  }
  order.resize(size() * size());
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < count; ++j) {
      order[static_cast<std::size_t>(i) * size() + static_cast<std::size_t>(j)] = graph.precedes(i, j);
    }
  }
}

Instance::Instance(const Instance& whole, const std::vector<std::size_t>& part)
    : cores(whole.cores), pairs(whole.pairs) {
  std::vector<int> index(whole.size(), -1);
  for (std::size_t i = 0; i < part.size(); ++i) index[part[i]] = static_cast<int>(i);
  const auto inside = [&](const std::vector<int>& others) {
    std::vector<int> result;
    for (const int other : others) {
      if (const int i = index[static_cast<std::size_t>(other)]; i >= 0) result.push_back(i);
    }
    return result;
  };
  for (const std::size_t i : part) {
    tasks.push_back(whole.tasks[i]);
    before.push_back(inside(whole.before[i]));
    after.push_back(inside(whole.after[i]));
    width.push_back(whole.width[i]);
    tensor_width.push_back(whole.tensor_width[i]);
    vector_width.push_back(whole.vector_width[i]);
    for (const std::size_t j : part) order.push_back(whole.precedes(i, j));
  }
}

std::vector<std::size_t> sequence_of(const Instance& instance) {
  const std::vector<std::size_t> ahead = predecessor_counts(instance);
  std::vector<std::size_t> sequence(instance.size());
  std::iota(sequence.begin(), sequence.end(), std::size_t{0});
  std::stable_sort(sequence.begin(), sequence.end(), [&](std::size_t a, std::size_t b) { return ahead[a] < ahead[b]; });
  return sequence;
}

std::vector<std::vector<std::size_t>> consecutive_blocks(const Instance& instance) {
  const std::vector<std::size_t> ahead = predecessor_counts(instance), sequence = sequence_of(instance);
  std::vector<std::vector<std::size_t>> blocks;
  for (std::size_t n = 0; n < sequence.size(); ++n) {
    // What all n operators so far precede begins a block, if it has the fewest predecessors of those left.
    if (blocks.empty() || ahead[sequence[n]] == n) blocks.emplace_back();
    blocks.back().push_back(sequence[n]);
  }
  for (std::vector<std::size_t>& block : blocks) std::sort(block.begin(), block.end());
  return blocks;
}

bool Instance::add_precedence(std::size_t i, std::size_t j) {
  if (precedes(j, i)) return false;
  if (precedes(i, j)) return true;
  after[i].push_back(static_cast<int>(j));
  before[j].push_back(static_cast<int>(i));
  for (std::size_t a = 0; a < size(); ++a) {
    if (a != i && !precedes(a, i)) continue;
    for (std::size_t b = 0; b < size(); ++b) {
      if (b == j || precedes(j, b)) order[a * size() + b] = 1;
    }
  }
  return true;
}

bool Instance::disjunctive(std::size_t i, std::size_t j) const {
  const CoreTask &a = tasks[i], &b = tasks[j];
  if (!a.may_one || !b.may_one) return true;
  const auto share = [&](CoreClass kind) { return takes(a.core, kind) && takes(b.core, kind); };
  return (cores.tensor == 1 && share(CoreClass::tensor)) || (cores.vector == 1 && share(CoreClass::vector)) ||
         (pairs == 1 && a.core == CoreClass::fused && b.core == CoreClass::fused);
}

}  // namespace tessera
