// One rank's part of an operator under tensor, sequence and expert parallelism.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/graph/graph.hpp"
#include "sim/graph/parallel.hpp"

namespace tessera {

class TensorParallel {
 public:
  /// Throws RunError where tp does not fit the graph's heads.
  TensorParallel(const Graph& graph, const ParallelSpec& spec);

  /// Throws RunError naming the operator, the dimension and tp where that does not divide.
  [[nodiscard]] Kernel local(const Operator& op) const;
  [[nodiscard]] std::int64_t local_elements(const Parameter& parameter) const;
  /// One rank's part of what an operator sends.
  [[nodiscard]] Bytes shared(Bytes whole, const Operator& op) const;

 private:
  [[nodiscard]] std::int64_t divide(std::int64_t value, Share share, std::string_view what,
                                    std::string_view name) const;
  /// Of the whole, by bytes.
  [[nodiscard]] double ratio(Share share) const;
  [[nodiscard]] std::int64_t local_kv_heads() const;
  [[nodiscard]] std::int64_t local_vocab() const;
  void apply(const Operator& op, GemmShape& s, std::string_view name) const;
  void apply(const Operator& op, VectorShape& s, std::string_view name) const;
  void apply(const Operator& op, AttentionShape& s, std::string_view name) const;
  void apply(const Operator& op, MoeShape& s, std::string_view name) const;
  void apply(const Operator& op, MlaShape& s, std::string_view name) const;
  void apply(const Operator& op, MemoryShape& s, std::string_view name) const;
  void apply(const Operator& op, ConvShape& s, std::string_view name) const;

  [[nodiscard]] Kernel part_of_sequence(const Operator& op) const;

  const Graph& graph_;
  std::int64_t tp_, ep_;
  bool sequence_;
  double expert_load_;
};

}  // namespace tessera
