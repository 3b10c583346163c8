#include "sim/app/memory_complaint.hpp"

#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/base/text.hpp"

namespace tessera {
namespace {

constexpr int kWidestTensorGroup = 64;

Bytes need(const RunSpec& spec) {
  return memory_footprint(spec.model, spec.build, build_graph(spec.model, spec.build), spec.parallel).total();
}

/// The largest smaller micro-batch (halving) with which it fits.
std::optional<std::string> smaller_batch(RunSpec spec) {
  while (spec.build.batch > 1) {
    spec.build.batch /= 2;
    if (const Bytes size = need(spec); size <= spec.cluster.gpu.memory)
      return fmt::format("{} of {} per GPU ({})", spec.build.mode == Mode::training ? "a micro-batch" : "a batch",
                         spec.build.batch, format(size));
  }
  return {};
}

/// True where twice as many GPUs can share every layer, of those that there are; one GPU stands for as many as one
/// likes.
bool can_widen(const RunSpec& spec) {
  const int tp = 2 * spec.parallel.tp, gpus = spec.cluster.gpus();
  if (gpus > 1 && std::int64_t{tp} * spec.parallel.pp > gpus) return false;
  return tp <= kWidestTensorGroup && spec.model.heads % tp == 0 && spec.model.kv_heads % tp == 0;
}

/// The narrowest wider tensor-parallel group with which it fits.
std::optional<std::string> wider_tensor_group(RunSpec spec) {
  while (can_widen(spec)) {
    spec.parallel.tp *= 2;
    if (const Bytes size = need(spec); size <= spec.cluster.gpu.memory)
      return fmt::format("tp {} ({})", spec.parallel.tp, format(size));
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

/// The widest tensor-parallel group on a larger GPU, where neither alone helps.
std::optional<std::string> both(RunSpec spec) {
  while (can_widen(spec)) spec.parallel.tp *= 2;
  const auto gpu = larger_gpu(need(spec));
  return gpu ? std::optional(fmt::format("tp {} on {}", spec.parallel.tp, *gpu)) : std::nullopt;
}

std::vector<std::string> remedies(const RunSpec& spec, Bytes total) {
  std::vector<std::string> list;
  for (auto& remedy : {smaller_batch(spec), wider_tensor_group(spec), larger_gpu(total)})
    if (remedy) list.push_back(*remedy);
  if (list.empty())
    if (const auto remedy = both(spec)) list.push_back(*remedy);
  if (list.empty()) list.emplace_back("nothing tried here: smaller batches, more tensor parallelism, larger GPUs");
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
