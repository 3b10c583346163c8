#include "sim/app/memory_complaint.hpp"

#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace tessera {
namespace {

constexpr int kWidestTensorGroup = 64;

/// None where a count cannot be honoured.
std::optional<Bytes> need(const RunSpec& spec) {
  try {
    return memory_footprint(spec.model, spec.build, build_graph(spec.model, spec.build), spec.parallel).total();
  } catch (const RunError&) {
    return {};
  }
}

bool fits(const RunSpec& spec) {
  const std::optional<Bytes> size = need(spec);
  return size && *size <= spec.cluster.gpu.memory;
}

/// Something to change, tried on a copy: false where it cannot be changed any further.
struct Remedy {
  bool training;
  bool (*change)(RunSpec&);
  std::string (*said)(const RunSpec&);
};

/// What a wider or deeper split leaves of the replicas, where all GPUs are in use; the samples of a step stay.
bool keep_to_the_gpus(RunSpec& spec) {
  ParallelSpec& p = spec.parallel;
  const int gpus = spec.cluster.gpus();
  if (gpus == 1) return true;  // one GPU stands for as many as one likes
  while (p.world_size() > gpus && p.dp % 2 == 0) {
    p.dp /= 2;
    if (spec.build.mode == Mode::training) p.micro_batches *= 2;
  }
  return p.world_size() <= gpus && p.dp % p.ep == 0;
}

bool halve_the_batch(RunSpec& spec) {
  if (spec.build.batch % 2 != 0) return false;
  spec.build.batch /= 2;
  if (spec.build.mode == Mode::training) spec.parallel.micro_batches *= 2;
  return true;
}
std::string said_batch(const RunSpec& spec) {
  return fmt::format("{} of {} per GPU", spec.build.mode == Mode::training ? "a micro-batch" : "a batch",
                     spec.build.batch);
}

bool recompute_more(RunSpec& spec) {
  Recompute& now = spec.parallel.recompute;
  if (now == Recompute::full || !spec.model.network.empty()) return false;
  now = now == Recompute::none ? Recompute::selective : Recompute::full;
  return true;
}
std::string said_recompute(const RunSpec& spec) {
  return fmt::format("recompute: {}", spec.parallel.recompute == Recompute::full ? "full" : "selective");
}

bool shard_more(RunSpec& spec) {
  ParallelSpec& p = spec.parallel;
  if (p.dp * p.cp == 1 || p.sharding == Sharding::zero3 || !p.stage_replicas.empty()) return false;
  p.sharding = static_cast<Sharding>(static_cast<int>(p.sharding) + 1);
  return true;
}
std::string said_sharding(const RunSpec& spec) {
  return fmt::format("sharding: zero{}", static_cast<int>(spec.parallel.sharding));
}

bool split_sequences(RunSpec& spec) {
  if (spec.parallel.tp == 1 || spec.parallel.sequence_parallel) return false;
  return spec.parallel.sequence_parallel = true;
}
std::string said_sequences(const RunSpec&) {
  return "sequence_parallel: true";
}

bool widen(RunSpec& spec) {
  const int tp = spec.parallel.tp *= 2;
  return tp <= kWidestTensorGroup && spec.model.heads % tp == 0 && spec.model.kv_heads % tp == 0 &&
         keep_to_the_gpus(spec);
}
std::string said_width(const RunSpec& spec) {
  return fmt::format("tp {}", spec.parallel.tp);
}

bool deepen(RunSpec& spec) {
  ParallelSpec& p = spec.parallel;
  if (spec.cluster.gpus() == 1) return false;
  p.pp *= 2;
  if (!p.stage_layers.empty() || !p.stage_replicas.empty() || p.stages() > spec.model.layers ||
      spec.model.decoder_layers > 0)
    return false;
  return keep_to_the_gpus(spec) && (p.chunks == 1 || p.micro_batches % p.pp == 0);
}
std::string said_depth(const RunSpec& spec) {
  return fmt::format("pp {}", spec.parallel.pp);
}

/// The cheapest first.
constexpr std::array kRemedies{
    Remedy{false, halve_the_batch, said_batch}, Remedy{true, recompute_more, said_recompute},
    Remedy{true, shard_more, said_sharding},    Remedy{true, split_sequences, said_sequences},
    Remedy{false, widen, said_width},           Remedy{true, deepen, said_depth},
};

bool applies(const Remedy& remedy, const RunSpec& spec) {
  return !remedy.training || spec.build.mode == Mode::training;
}

/// The least of it with which it fits.
std::optional<std::string> alone(const Remedy& remedy, RunSpec spec) {
  while (remedy.change(spec))
    if (fits(spec)) return fmt::format("{} ({})", remedy.said(spec), format(*need(spec)));
  return {};
}

/// All of them as far as they go, one after the other, until it fits.
std::optional<std::string> together(RunSpec spec) {
  std::vector<std::string> said;
  for (const Remedy& remedy : kRemedies) {
    if (!applies(remedy, spec)) continue;
    bool changed = false;
    for (RunSpec next = spec; !fits(spec) && remedy.change(next) && need(next); changed = true) spec = next;
    if (changed) said.push_back(remedy.said(spec));
    if (fits(spec)) return fmt::format("together: {} ({})", fmt::join(said, ", "), format(*need(spec)));
  }
  return {};
}

/// The GPU with the least memory that suffices.
std::optional<std::string> larger_gpu(Bytes total) {
  std::optional<GpuSpec> best;
  for (const std::string& name : known_gpus()) {
    const GpuSpec gpu = find_gpu(name);
    if (gpu.memory >= total && (!best || gpu.memory < best->memory)) best = gpu;
  }
  if (!best) return {};
  return fmt::format("a GPU of {} or more, such as {}", format(best->memory), best->name);
}

/// The widest tensor-parallel group on a larger GPU.
std::optional<std::string> wide_on_larger(RunSpec spec) {
  for (RunSpec next = spec; widen(next) && need(next);) spec = next;
  const auto gpu = larger_gpu(need(spec).value_or(Bytes()));
  return gpu ? std::optional(fmt::format("tp {} on {}", spec.parallel.tp, *gpu)) : std::nullopt;
}

std::vector<std::string> remedies(const RunSpec& spec, Bytes total) {
  std::vector<std::string> list;
  for (const Remedy& remedy : kRemedies)
    if (applies(remedy, spec))
      if (auto said = alone(remedy, spec)) list.push_back(std::move(*said));
  if (list.empty())
    if (auto said = together(spec)) list.push_back(std::move(*said));
  if (auto gpu = larger_gpu(total)) list.push_back(std::move(*gpu));
  if (list.empty())
    if (auto said = wide_on_larger(spec)) list.push_back(std::move(*said));
  if (list.empty())
    list.emplace_back(
        "nothing tried here: smaller batches, recomputation, sharding, more tensor and pipeline parallelism, larger "
        "GPUs");
  return list;
}

}  // namespace

std::string memory_complaint(const RunSpec& spec, const MemoryFootprint& footprint) {
  const Bytes total = footprint.total(), capacity = spec.cluster.gpu.memory;
  std::string text = fmt::format("{} does not fit on {}: a GPU needs {}, it has {}, {} too much\n", spec.model.name,
                                 spec.cluster.gpu.name, format(total), format(capacity), format(total - capacity));
  for (const MemoryComponent& c : footprint.components)
    fmt::format_to(std::back_inserter(text), "  {:<16}{:>12}   {}\n", c.name, format(c.size), c.formula);
  return text + "What would make it fit:\n  - " + fmt::format("{}", fmt::join(remedies(spec, total), "\n  - "));
}

}  // namespace tessera
