// What a GPU keeps of forward passes until backward uses it.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/graph/model_config.hpp"
#include "sim/graph/parallel.hpp"

namespace tessera {

/// Bytes that one token leaves behind in a layer, after Korthikanti et al. (arXiv 2205.05198, equations 1-4): inputs of
/// norms, projections and the feed-forward matrices; q, k, v and the attention's output; scores unless attention is
/// flash; masks of one byte where there is dropout. Sequence parallelism divides all of it by tp, recomputation leaves
/// the layer's input (full), no scores (selective), or what PyTorch's per-operator checkpoints keep: attention and
/// every second product. Mean over dense and sparse layers.
class LayerActivations {
 public:
  LayerActivations(const ModelConfig& config, const BuildOptions& options, const ParallelSpec& spec);

  [[nodiscard]] double kept(Recompute recompute) const;
  [[nodiscard]] double outside(bool last) const;  // final norm and head on the last stage; embedding dropout
  // widths per rank, in elements of one token
  [[nodiscard]] double query() const;
  [[nodiscard]] double keys_and_values() const;
  [[nodiscard]] double hidden() const { return static_cast<double>(c_.hidden); }
  [[nodiscard]] double ffn_kept() const;  // for the second matrix and the activation

 private:
  [[nodiscard]] double ffn() const;
  [[nodiscard]] double scores_kept() const;
  [[nodiscard]] double mask() const { return c_.dropout > 0 ? wide() : 0; }
  [[nodiscard]] double wide() const;  // hidden states between the products
  [[nodiscard]] double attention_block() const;
  [[nodiscard]] double dense_block() const;
  [[nodiscard]] double sparse_block() const;
  [[nodiscard]] double sparse_share() const;

  const ModelConfig& c_;
  const BuildOptions& o_;
  const ParallelSpec& spec_;
  double element_, tp_;
};

/// The largest sum of what a device's chunks keep at once under the schedule. `chunk` bytes of each chunk's pass.
struct LiveActivations {
  Bytes peak;
  std::int64_t passes = 0;       // forwards that are held then
  std::int64_t micro_batch = 0;  // whose forward is the last of them
};
LiveActivations live_activations(const ParallelSpec& spec, int device, const std::vector<Bytes>& of_chunk);

}  // namespace tessera
