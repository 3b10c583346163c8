#include "sim/place/jobs/gpu_pool.hpp"

#include <algorithm>

#include "sim/base/error.hpp"

namespace tessera {

namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

GpuPool::GpuPool(int nodes, int gpus_per_node, int spares)
    : gpus_per_node_(gpus_per_node),
      taken_(at(nodes) * at(gpus_per_node)),
      free_in_(at(nodes), gpus_per_node),
      state_(at(nodes), State::broken),
      places_(nodes - spares) {
  TESSERA_ASSERT(0 <= spares && spares < nodes, "some node serves");
  out_ = nodes * gpus_per_node;
  for (int node = 0; node < nodes; ++node) enter(node, node < places_ ? State::service : State::spare);
}

void GpuPool::append_free(int node, int count, std::vector<int>& gpus) const {
  for (int gpu = node * gpus_per_node_; count > 0; ++gpu) {
    if (taken_[at(gpu)] != 0) continue;
    gpus.push_back(gpu);
    --count;
  }
}

/// Adds what a node in service offers to the sums, or takes it away.
void GpuPool::count(int node, int sign) {
  const int here = free_in_[at(node)];
  free_ += sign * here;
  if (here == gpus_per_node_) whole_free_ += sign * here;
}

void GpuPool::take(std::span<const int> gpus) {
  for (const int gpu : gpus) {
    TESSERA_ASSERT(taken_[at(gpu)] == 0 && in_service(node_of(gpu)), "a GPU is given to one job");
    count(node_of(gpu), -1);
    taken_[at(gpu)] = 1;
    --free_in_[at(node_of(gpu))];
    count(node_of(gpu), 1);
  }
}

void GpuPool::give_back(std::span<const int> gpus) {
  for (const int gpu : gpus) {
    const int node = node_of(gpu);
    TESSERA_ASSERT(taken_[at(gpu)] != 0, "a job gives back what it has");
    if (in_service(node)) count(node, -1);
    taken_[at(gpu)] = 0;
    ++free_in_[at(node)];
    if (in_service(node)) count(node, 1);
  }
}

void GpuPool::enter(int node, State state) {
  const State before = state_[at(node)];
  if (before == State::service) {
    count(node, -1);
    --serving_;
    out_ += gpus_per_node_;
  }
  if (before == State::spare) --spares_;
  state_[at(node)] = state;
  if (state == State::service) {
    count(node, 1);
    ++serving_;
    out_ -= gpus_per_node_;
  }
  if (state == State::spare) ++spares_;
}

void GpuPool::fail(int node) {
  TESSERA_ASSERT(in_service(node), "what is out of service does not fail");
  enter(node, State::broken);
  if (spares_ == 0) return;
  const auto spare = std::ranges::find(state_, State::spare);
  enter(static_cast<int>(spare - state_.begin()), State::service);
}

void GpuPool::repair(int node) {
  enter(node, serving_ < places_ ? State::service : State::spare);
}

}  // namespace tessera
