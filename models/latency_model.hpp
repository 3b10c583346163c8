// The interface of every kernel latency model, and the table of those there are.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "models/kernel_cost.hpp"
#include "models/runtime.hpp"
#include "sim/cluster/gpu.hpp"
#include "sim/graph/kernel.hpp"

namespace tessera {

/// graph: device time alone (CUDA-graph replay). eager: one call between two events, so a launch floor is in it.
enum class Timing : std::uint8_t { graph, eager };
std::string_view to_string(Timing timing);

/// Where a kernel's operands are when it starts.
enum class Residency : std::uint8_t {
  cold,     // in device memory: inside a whole model, weights have been swept out
  rotated,  // a kernel benchmark that rotates five weight copies (AIConfigurator)
  warm,     // the same call again and again (NeuSight): what fits in L2 is there
};

struct PredictContext {
  Timing timing = Timing::graph;
  Residency residency = Residency::cold;
  Runtime runtime = Runtime::unspecified;
};

/// Prices kernels on a GPU that nobody need have measured. Pure: same input, same answer.
class LatencyModel {
 public:
  virtual ~LatencyModel() = default;
  /// One cost per kernel. A dtype that the GPU does not support throws RunError naming both.
  [[nodiscard]] virtual std::vector<KernelCost> predict(std::span<const Kernel> kernels, const GpuSpec& gpu,
                                                        const PredictContext& context) const = 0;
};

struct LatencyModelEntry {
  std::string_view name, what;
  std::unique_ptr<LatencyModel> (*make)(const std::filesystem::path& weights);
};
/// One row per model, alphabetical; `tile` is the default, `neusight` and the baselines of its paper price fp32 alone.
std::span<const LatencyModelEntry> latency_models();
/// `weights` empty: the committed ones. Unknown name: InputError with the nearest.
std::unique_ptr<LatencyModel> make_latency_model(std::string_view name = "tile",
                                                 const std::filesystem::path& weights = {});

}  // namespace tessera
