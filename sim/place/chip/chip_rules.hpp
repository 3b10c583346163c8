// Which of the original estimator's simplifications hold; all off is the corrected model.
#pragma once

namespace tessera {

/// Each names what the program released with "Integrated Hardware Architecture and Device Placement Search" (ICML 2024,
/// arXiv 2407.13143) computes; off: what this simulator takes to be right.
struct ChipRules {
  /// Backward is the input gradient only. Off: every product with parameters has its weight gradient, too.
  bool no_weight_gradients = false;
  /// One SRAM port of 64 words a cycle feeds all cores inside one operator. Off: every core has its port.
  bool one_sram_port = false;
  /// Tiles are the powers of two that divide a dimension. Off: any tile; dimensions are padded to the array.
  bool divisor_tiles = false;
  /// Vector operators touch no memory, and those fused to a product cost their cycles once. Off: operands and results
  /// that do not fit in half the buffer move over HBM, and a fused operator works through all elements beside the
  /// product.
  bool free_vector_memory = false;
  /// Products do not wait for HBM. Off: they move their operands, tiled for the buffer, at the template's bandwidth,
  /// and all operators of a layer share it.
  bool free_product_memory = false;
  /// Linear layers see one sample of the micro-batch. Off: all.
  bool one_sample_linear = false;
  /// The model's head is part of every layer. Off: a layer of its own.
  bool head_in_layers = false;
  /// Time is cycles / 1.05e6, called seconds, beside transfers in seconds. Off: one unit of time.
  bool mixed_time_units = false;
  /// Every output that the trace names counts as an activation, views and masks included. Off: what backward reads.
  bool traced_activations = false;

  /// As released.
  [[nodiscard]] static constexpr ChipRules phaze() { return {true, true, true, true, true, true, true, true, true}; }
  /// The public course fork, whose log is the only published run: as released but for the clock.
  [[nodiscard]] static constexpr ChipRules phaze_fork() {
    ChipRules rules = phaze();
    rules.mixed_time_units = false;
    return rules;
  }
};

}  // namespace tessera
