#include "models/memory_footprint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "models/activations.hpp"
#include "sim/base/text.hpp"
#include "sim/graph/pipeline.hpp"
#include "sim/graph/tensor_parallel.hpp"

namespace tessera {

namespace {

using namespace literals;

// What an idle PyTorch process holds on A100 and H100 (CUDA context, kernels, cuBLAS workspace): 0.5-0.7 GiB as
// nvidia-smi shows it; a NCCL communicator's channels: about 0.25 GiB. Assumptions, not fitted.
constexpr Bytes kContext = 0.6_GiB;
constexpr Bytes kCommunicator = 0.25_GiB;

/// Mixed precision keeps fp32 master weights beside the two moments.
constexpr double kMomentBytes = 8, kMasterBytes = 4;

/// What the caching allocator cannot hand out of what it holds: assumed, not measured.
constexpr double kFragmentation = 0.03;

double shards(const ParallelSpec& spec) {
  return static_cast<double>(spec.dp) * spec.cp;
}

/// Parameters of the virtual stages of one device.
struct Parameters {
  double all = 0, largest_layer = 0;
};

Parameters parameters_of(const Graph& graph, const ParallelSpec& spec, int device) {
  const TensorParallel tensor(graph, spec);
  const std::vector<int> stages = assign_stages(graph, spec.stages(), spec.stage_layers).of_parameter;
  Parameters result;
  std::map<std::int32_t, double> of_layer;
  for (std::size_t p = 0; p < stages.size(); ++p) {
    if (stages[p] % spec.pp != device) continue;
    const auto elements = static_cast<double>(tensor.local_elements(graph.parameters[p]));
    result.all += elements;
    of_layer[graph.parameters[p].layer] += elements;
  }
  if (graph.tied != kNoParameter && spec.pp > 1 && device + 1 == spec.pp)
    result.all += static_cast<double>(tensor.local_elements(graph.parameters[static_cast<std::size_t>(graph.tied)]));
  for (const auto& [layer, elements] : of_layer) result.largest_layer = std::max(result.largest_layer, elements);
  return result;
}

/// Layers of each chunk of a device.
std::vector<double> layers_of_chunks(const ModelConfig& config, const ParallelSpec& spec, int device) {
  const auto layers = static_cast<int>(config.layers + config.decoder_layers);
  if (spec.stages() == 1) return {static_cast<double>(layers)};
  const std::vector<int> stage_of = stage_of_layers(layers, spec.stages(), spec.stage_layers);
  std::vector<double> counts;
  for (int chunk = 0; chunk < spec.chunks; ++chunk)
    counts.push_back(static_cast<double>(std::ranges::count(stage_of, chunk * spec.pp + device)));
  return counts;
}

std::string_view said(Recompute recompute) {
  constexpr std::array<std::string_view, 4> kWords{"no recomputation", "attention recomputed", "operators recomputed",
                                                   "layers recomputed"};
  return kWords[static_cast<std::size_t>(recompute)];
}

class Footprint {
 public:
  /// Of the GPUs of one pipeline device.
  Footprint(const ModelConfig& config, const BuildOptions& options, const Graph& graph, const ParallelSpec& spec,
            int device)
      : c_(config),
        o_(options),
        spec_(spec),
        layer_(config, options, spec),
        element_(element_size(options.dtype).value()),
        parameters_(parameters_of(graph, spec, device)),
        chunk_layers_(layers_of_chunks(config, spec, device)),
        device_(device),
        last_(device + 1 == spec.pp),
        vocab_(static_cast<double>(config.vocab) / spec.tp),
        tokens_(static_cast<double>(options.batch) * static_cast<double>(options.sequence) / options.context) {}

  MemoryFootprint components() {
    add_share("weights", parameters_.all, element_, spec_.sharding == Sharding::zero3, "");
    if (o_.mode == Mode::training) {
      training();
    } else {
      inference();
    }
    context();
    return std::move(result_);
  }

 private:
  static std::string count(double number) { return fmt::format("{:.4g} G", number * 1e-9); }

  void add(std::string name, double bytes, std::string formula) {
    result_.components.push_back({std::move(name), Bytes(bytes), std::move(formula)});
  }

  /// Parameters x bytes, of which a rank may hold only its share.
  void add_share(std::string name, double parameters, double each, bool divided, std::string_view what) {
    const double parts = divided ? shards(spec_) : 1;
    std::string formula = fmt::format("{} parameters x {} B{}", count(parameters), each, what);
    if (parts > 1) formula += fmt::format(" / {} ranks", parts);
    add(std::move(name), parameters * each / parts, std::move(formula));
  }

  void context() {
    const int communicators = (spec_.tp > 1 ? 1 : 0) + (spec_.dp * spec_.replicas_of(device_) > 1 ? 1 : 0) +
                              (spec_.pp > 1 ? 1 : 0) + (spec_.cp > 1 ? 1 : 0) + (spec_.ep > 1 ? 1 : 0);
    std::string formula = fmt::format("CUDA context and libraries {}", format(kContext));
    if (communicators > 0)
      formula += fmt::format(" + NCCL communicators {} x {}", communicators, format(kCommunicator));
    add("context", (kContext + communicators * kCommunicator).value(), std::move(formula));
  }

  void training() {
    const bool wide = element_ >= 4, adam = o_.optimizer == OptimizerKind::adam;
    const double gradient = element_size(spec_.reduced_as.value_or(o_.dtype)).value();
    add_share("gradients", parameters_.all, gradient, spec_.sharding >= Sharding::zero2,
              ", in the buckets that are reduced");
    const double state = wide ? kMomentBytes : kMasterBytes + kMomentBytes;
    if (adam) {
      add_share("optimizer", parameters_.all, state, spec_.sharding != Sharding::none,
                wide ? " (two fp32 moments)" : " (fp32 master weights, two fp32 moments)");
      result_.components.back().formula.insert(0, "Adam: ");
    } else {
      add("optimizer", 0, "no optimizer");
    }
    activations();
    buffers(adam, gradient);
  }

  void activations() {
    const double each = layer_.kept(spec_.recompute), outside = layer_.outside(last_);
    std::vector<Bytes> of_chunk;
    double layers = 0;
    for (const double count : chunk_layers_) {
      const bool end = &count == &chunk_layers_.back();
      of_chunk.emplace_back(tokens_ * (count * each + (end ? outside : 0)));
      layers += count;
    }
    const LiveActivations live = live_activations(spec_, device_, of_chunk);
    const std::string held = live.passes > 1 ? fmt::format("{} passes held after the forward of micro-batch {}",
                                                           live.passes, live.micro_batch)
                                             : std::string("one micro-batch");
    add("activations", live.peak.value(),
        fmt::format("{:.0f} tokens x ({:.4g} B of {} layers + {:.4g} B outside), {}, {}", tokens_, each * layers,
                    layers, outside, held, said(spec_.recompute)));
  }

  /// Logits, and what the layer at work needs besides: computed again, or gathered from the ranks that share it.
  void buffers(bool adam, double gradient) {
    const double per_logit = 2 * element_ + (adam ? 4 : 0);
    const bool logits = last_ && (c_.training_head == Head::language_model || c_.training_head == Head::pretraining);
    double bytes = logits ? tokens_ * vocab_ * per_logit : 0;
    std::string formula = fmt::format("logits of {:.0f} tokens x {:.0f} words x {} B (values, gradients{})",
                                      logits ? tokens_ : 0.0, vocab_, per_logit, adam ? ", fp32 loss" : "");
    if (spec_.recompute != Recompute::none) {
      const double again = tokens_ * (layer_.kept(Recompute::none) - layer_.kept(spec_.recompute));
      bytes = std::max(bytes, again);
      formula += fmt::format(", or the layer that is computed again, {}", format(Bytes(again)));
    }
    if (spec_.sharding == Sharding::zero3 && shards(spec_) > 1) {
      const double gathered = parameters_.largest_layer * (2 * element_ + gradient);
      bytes += gathered;
      formula += fmt::format(" + two gathered layers and a gradient, {}", format(Bytes(gathered)));
    }
    add("buffers", bytes, std::move(formula));
    const double moving = result_.components.back().size.value() + result_.components[3].size.value();
    add("fragmentation", kFragmentation * moving, fmt::format("{} % of activations and buffers", 100 * kFragmentation));
  }

  void inference() {
    const double layers = chunk_layers_.front();
    if (c_.causal && c_.decoder_layers == 0) {
      const double cache = layer_.keys_and_values() * layers * element_;
      add("kv cache", tokens_ * cache, fmt::format("{:.0f} tokens x {:.4g} B of {} layers", tokens_, cache, layers));
    }
    // Residual and block input stay while the widest inner tensors live; scores before and after softmax.
    const bool eager = o_.attention == AttentionKind::eager;
    const double scores =
        eager ? 2 * element_ * static_cast<double>(c_.heads) / spec_.tp * static_cast<double>(o_.sequence) : 0;
    const double attention = element_ * (2 * layer_.query() + layer_.keys_and_values()) + scores;
    const double live = element_ * 2 * layer_.hidden() + std::max(attention, element_ * layer_.ffn_kept());
    add("activations", tokens_ * live, fmt::format("{:.0f} tokens x {:.4g} B live at once", tokens_, live));
    const bool logits = last_ && c_.head == Head::language_model;
    const double rows = eager ? tokens_ : static_cast<double>(o_.batch);
    add("buffers", logits ? rows * vocab_ * element_ : 0,
        fmt::format("logits of {:.0f} tokens x {:.0f} words x {} B", logits ? rows : 0.0, vocab_, element_));
  }

  const ModelConfig& c_;
  const BuildOptions& o_;
  const ParallelSpec& spec_;
  LayerActivations layer_;
  double element_;
  Parameters parameters_;
  std::vector<double> chunk_layers_;
  int device_;
  bool last_;
  double vocab_, tokens_;
  MemoryFootprint result_;
};

}  // namespace

Bytes MemoryFootprint::total() const {
  Bytes sum;
  for (const MemoryComponent& component : components) sum += component.size;
  return sum;
}

MemoryFootprint memory_footprint(const ModelConfig& config, const BuildOptions& options, const Graph& graph,
                                 const ParallelSpec& spec) {
  if (!config.network.empty()) return network_footprint(options, graph, kContext);
  MemoryFootprint fullest;
  for (int device = 0; device < spec.pp; ++device) {
    MemoryFootprint footprint = Footprint(config, options, graph, spec, device).components();
    if (fullest.components.empty() || footprint.total() > fullest.total()) fullest = std::move(footprint);
  }
  return fullest;
}

}  // namespace tessera
