// Operator graphs recorded from the original's tracer, as JSON.
#pragma once

#include <filesystem>

#include "sim/place/chip/chip_rules.hpp"
#include "sim/place/chip/layer_graph.hpp"

namespace tessera {

/// One graph of a file: nodes with core class, kind, output shape, product sizes and fused followers; edges; element
/// counts. InputError or RunError where the file is not of this form or names a kind that is not known.
LayerGraph read_traced_layer(const std::filesystem::path& path, std::string_view layer);

/// Llama2-7B as traced: graph "-1" (embedding, masks, rotary tables) and graph "0" (a transformer layer with the final
/// norm and the head) repeated `blocks` times. Without ChipRules::head_in_layers, what follows the last residual sum
/// becomes a layer of its own; without one_sample_linear, linear layers see the whole micro-batch.
ChipModel read_traced_model(const std::filesystem::path& path, std::int64_t micro_batch, int blocks,
                            const ChipRules& rules);

}  // namespace tessera
