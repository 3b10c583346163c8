// What is scheduled: the operators of one layer, their order, and the cores of one chip.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/units.hpp"

namespace tessera {

/// The cores that an operator needs. `fused`: one tensor and one vector core of the same index, together.
/// `none` (views, transposes): takes no core and no time, but orders what stands around it.
enum class CoreClass : std::uint8_t { none, tensor, vector, fused };

struct Precedence {
  int before = 0, after = 0;  // indices of operators
};

/// The part of a problem that is the same on every chip.
struct OperatorGraph {
  std::vector<CoreClass> core;
  std::vector<Precedence> edges;
};

/// `all_cores`: every core of the chip works on this operator, and nothing else runs meanwhile.
struct OperatorLatency {
  Seconds one_core, all_cores;
};

struct Cores {
  int tensor = 1, vector = 1;  // the first min(tensor, vector) of both kinds are paired
};

/// The transitive order of the operators that take cores, prepared once and used for thousands of chips.
/// These operators are numbered 0 .. size() - 1 in a topological order.
class OperatorOrder {
 public:
  /// RunError: an edge to an operator that is not there, or a cycle.
  explicit OperatorOrder(OperatorGraph graph);

  [[nodiscard]] const OperatorGraph& graph() const { return graph_; }
  [[nodiscard]] int size() const { return static_cast<int>(operators_.size()); }
  /// Index in the graph.
  [[nodiscard]] int operator_of(int i) const { return operators_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] CoreClass core(int i) const { return graph_.core[static_cast<std::size_t>(operator_of(i))]; }
  [[nodiscard]] bool precedes(int i, int j) const { return reaches_[at(i, j)]; }
  [[nodiscard]] bool comparable(int i, int j) const { return i == j || precedes(i, j) || precedes(j, i); }
  /// Direct predecessors and successors after transitive reduction, ascending.
  [[nodiscard]] std::span<const int> before(int i) const { return before_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] std::span<const int> after(int i) const { return after_[static_cast<std::size_t>(i)]; }
  /// The most operators, `i` among them, that the order lets run at the same time: all; those that need a tensor core;
  /// those that need a vector core. 1 where `i` is not one of these.
  [[nodiscard]] int width(int i) const { return width_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] int tensor_width(int i) const { return tensor_width_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] int vector_width(int i) const { return vector_width_[static_cast<std::size_t>(i)]; }
  /// All operators of the graph, `none` too, each after what it waits for.
  [[nodiscard]] std::span<const int> topological() const { return topological_; }

 private:
  [[nodiscard]] std::size_t at(int i, int j) const {
    return static_cast<std::size_t>(i) * operators_.size() + static_cast<std::size_t>(j);
  }
  void sort();
  void close();
  void reduce();
  void measure_widths();

  OperatorGraph graph_;
  std::vector<int> topological_, operators_;
  std::vector<bool> reaches_;
  std::vector<std::vector<int>> before_, after_;
  std::vector<int> width_, tensor_width_, vector_width_;
};

/// One chip's problem: a view, both vectors must outlive it. Latencies are indexed as the graph's operators.
struct ScheduleProblem {
  const OperatorOrder& order;
  std::span<const OperatorLatency> latency;
  Cores cores;
};

}  // namespace tessera
