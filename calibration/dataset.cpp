#include "calibration/dataset.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace tessera {

std::uint16_t Dataset::gpu_index(std::string_view gpu) {
  const auto found = std::ranges::find(gpus, gpu);
  if (found != gpus.end()) return static_cast<std::uint16_t>(found - gpus.begin());
  gpus.emplace_back(gpu);
  return static_cast<std::uint16_t>(gpus.size() - 1);
}

Dataset thin(const Dataset& data, std::size_t limit) {
  using Group = std::tuple<std::uint16_t, Op, Dtype, bool>;
  const auto group = [](const Sample& s) { return Group{s.gpu, s.kernel.op, s.kernel.dtype, s.fit}; };
  std::map<Group, std::pair<std::size_t, std::size_t>> counts;  // in all, seen so far
  for (const Sample& sample : data.samples) ++counts[group(sample)].first;
  Dataset thinned{data.gpus, {}};
  for (const Sample& sample : data.samples) {
    auto& [all, seen] = counts[group(sample)];
    const std::size_t before = seen * limit / all, after = (seen + 1) * limit / all;
    ++seen;
    if (all <= limit || after > before) thinned.samples.push_back(sample);
  }
  return thinned;
}

}  // namespace tessera
