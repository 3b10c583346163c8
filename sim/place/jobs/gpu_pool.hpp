// Which GPUs of the cluster are free, and which nodes are in service.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

class GpuPool {
 public:
  /// The last `spares` nodes stand by.
  GpuPool(int nodes, int gpus_per_node, int spares = 0);

  [[nodiscard]] int nodes() const { return static_cast<int>(free_in_.size()); }
  [[nodiscard]] int gpus_per_node() const { return gpus_per_node_; }
  [[nodiscard]] int node_of(int gpu) const { return gpu / gpus_per_node_; }
  /// GPUs that a job can get; none on nodes out of service.
  [[nodiscard]] int free() const { return free_; }
  [[nodiscard]] int free_in(int node) const { return in_service(node) ? free_in_[static_cast<std::size_t>(node)] : 0; }
  [[nodiscard]] int whole_free() const { return whole_free_; }
  [[nodiscard]] int out() const { return out_; }
  [[nodiscard]] bool in_service(int node) const { return state_[static_cast<std::size_t>(node)] == State::service; }
  /// The `count` lowest free GPUs of a node.
  void append_free(int node, int count, std::vector<int>& gpus) const;

  void take(std::span<const int> gpus);
  void give_back(std::span<const int> gpus);

  /// The node takes no new jobs until it is repaired; a spare takes its place where there is one.
  void fail(int node);
  /// Back to service, or to stand by where a spare has its place.
  void repair(int node);

 private:
  enum class State : std::uint8_t { service, spare, broken };
  void enter(int node, State state);
  void count(int node, int sign);

  int gpus_per_node_;
  std::vector<std::uint8_t> taken_;  // by GPU
  std::vector<int> free_in_;         // by node, in service or not
  std::vector<State> state_;
  int spares_ = 0;  // standing by
  int places_ = 0;  // nodes in service when all is well
  int serving_ = 0, free_ = 0, whole_free_ = 0, out_ = 0;
};

}  // namespace tessera
