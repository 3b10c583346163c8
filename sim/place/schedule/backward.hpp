// The backward pass of a layer's operators, weight gradients apart.
#pragma once

#include <vector>

#include "sim/place/schedule/problem.hpp"

namespace tessera {

struct BackwardGraph {
  OperatorGraph graph;
  std::vector<int> weight_gradient_of;  // by operator of `graph`: the forward operator, or -1: an input gradient
};

/// Every edge reversed; operator i is the gradient of forward operator i for its input. Where `has_weights[i]`, one
/// more tensor operator makes the gradient of the weights: it waits for what its input gradient waits for, and nothing
/// waits for it, so it fills idle cores off the critical path. Appended in ascending order of i.
BackwardGraph backward_graph(const OperatorGraph& forward, const std::vector<bool>& has_weights);

}  // namespace tessera
