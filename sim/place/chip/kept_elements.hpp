// Activations by liveness: what a layer's backward pass reads.
#pragma once

#include <cstdint>

#include "sim/place/chip/layer_graph.hpp"

namespace tessera {

/// Elements kept from forward to backward: the inputs of products, of multiplications and of non-linear functions, the
/// outputs of softmax, half an element (a byte) for each dropped one. Sums, views and scalings keep nothing. A tensor
/// with several readers counts once. Not modelled: freeing inside the layer.
std::int64_t kept_elements(const LayerGraph& graph);

}  // namespace tessera
