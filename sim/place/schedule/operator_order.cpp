#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.hpp"
#include "sim/place/schedule/problem.hpp"

namespace tessera {

namespace {

using Matching = std::vector<int>;

/// Kuhn's augmenting path from `i` in the comparability graph of `members`.
bool augment(const OperatorOrder& order, const std::vector<int>& members, int i, std::vector<bool>& seen,
             Matching& match) {
  for (std::size_t m = 0; m < members.size(); ++m) {
    if (seen[m] || !order.precedes(i, members[m])) continue;
    seen[m] = true;
    if (match[m] < 0 || augment(order, members, match[m], seen, match)) {
      match[m] = i;
      return true;
    }
  }
  return false;
}

/// The largest antichain of `members`: by Dilworth's theorem the fewest chains that cover them.
int antichain(const OperatorOrder& order, const std::vector<int>& members) {
  Matching match(members.size(), -1);
  int chains = static_cast<int>(members.size());
  for (const int i : members) {
    std::vector<bool> seen(members.size(), false);
    if (augment(order, members, i, seen, match)) --chains;
  }
  return chains;
}

bool takes(CoreClass core, CoreClass kind) {
  return core == kind || core == CoreClass::fused;
}

}  // namespace

OperatorOrder::OperatorOrder(OperatorGraph graph) : graph_(std::move(graph)) {
  const int count = static_cast<int>(graph_.core.size());
  for (const Precedence& edge : graph_.edges) {
    if (edge.before < 0 || edge.before >= count || edge.after < 0 || edge.after >= count) {
      throw RunError(fmt::format("an edge from operator {} to operator {}, but there are {} operators", edge.before,
                                 edge.after, count));
    }
  }
  sort();
  close();
  reduce();
  measure_widths();
}

void OperatorOrder::sort() {
  const std::size_t count = graph_.core.size();
  std::vector<std::vector<int>> successors(count);
  std::vector<int> waits(count, 0);
  for (const auto& [before, after] : graph_.edges) {
    successors[static_cast<std::size_t>(before)].push_back(after);
    ++waits[static_cast<std::size_t>(after)];
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (waits[i] == 0) topological_.push_back(static_cast<int>(i));
  }
  for (std::size_t next = 0; next < topological_.size(); ++next) {
    for (const int after : successors[static_cast<std::size_t>(topological_[next])]) {
      if (--waits[static_cast<std::size_t>(after)] == 0) topological_.push_back(after);
    }
  }
  if (topological_.size() < count) {
    const auto stuck = std::find_if(waits.begin(), waits.end(), [](int w) { return w > 0; });
    throw RunError(
        fmt::format("operator {} waits for itself: the operators' order has a cycle", stuck - waits.begin()));
  }
  std::copy_if(topological_.begin(), topological_.end(), std::back_inserter(operators_),
               [&](int op) { return graph_.core[static_cast<std::size_t>(op)] != CoreClass::none; });
}

void OperatorOrder::close() {
  const std::size_t count = graph_.core.size();
  std::vector<int> dense(count, -1);
  for (std::size_t i = 0; i < operators_.size(); ++i)
    dense[static_cast<std::size_t>(operators_[i])] = static_cast<int>(i);
  // Operators that take cores and come before each operator of the graph.
  std::vector<std::vector<bool>> ahead(count, std::vector<bool>(operators_.size(), false));
  std::vector<std::vector<int>> predecessors(count);
  for (const auto& [before, after] : graph_.edges) predecessors[static_cast<std::size_t>(after)].push_back(before);
  for (const int op : topological_) {
    std::vector<bool>& mine = ahead[static_cast<std::size_t>(op)];
    for (const int before : predecessors[static_cast<std::size_t>(op)]) {
      const std::vector<bool>& theirs = ahead[static_cast<std::size_t>(before)];
      for (std::size_t i = 0; i < operators_.size(); ++i) mine[i] = mine[i] || theirs[i];
      if (const int i = dense[static_cast<std::size_t>(before)]; i >= 0) mine[static_cast<std::size_t>(i)] = true;
    }
  }
  reaches_.assign(operators_.size() * operators_.size(), false);
  for (int j = 0; j < size(); ++j) {
    for (int i = 0; i < size(); ++i) {
      reaches_[at(i, j)] = ahead[static_cast<std::size_t>(operator_of(j))][static_cast<std::size_t>(i)];
    }
  }
}

void OperatorOrder::reduce() {
  before_.resize(operators_.size());
  after_.resize(operators_.size());
  for (int j = 0; j < size(); ++j) {
    for (int i = 0; i < j; ++i) {
      if (!precedes(i, j)) continue;
      bool direct = true;
      for (int k = i + 1; k < j && direct; ++k) direct = !(precedes(i, k) && precedes(k, j));
      if (!direct) continue;
      before_[static_cast<std::size_t>(j)].push_back(i);
      after_[static_cast<std::size_t>(i)].push_back(j);
    }
  }
}

void OperatorOrder::measure_widths() {
  const auto widths = [&](auto belongs) {
    std::vector<int> result(operators_.size(), 1);
    for (int i = 0; i < size(); ++i) {
      if (!belongs(core(i))) continue;
      std::vector<int> beside;
      for (int j = 0; j < size(); ++j) {
        if (belongs(core(j)) && !comparable(i, j)) beside.push_back(j);
      }
      result[static_cast<std::size_t>(i)] = 1 + antichain(*this, beside);
    }
    return result;
  };
  width_ = widths([](CoreClass) { return true; });
  tensor_width_ = widths([](CoreClass core) { return takes(core, CoreClass::tensor); });
  vector_width_ = widths([](CoreClass core) { return takes(core, CoreClass::vector); });
}

}  // namespace tessera
