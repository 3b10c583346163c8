#include "sim/place/pipeline/downsets.hpp"

#include <algorithm>
#include <bit>
#include <set>

namespace tessera {
namespace {

constexpr int kWord = 64;

bool has(const std::vector<std::uint64_t>& set, int layer) {
  return (set[static_cast<std::size_t>(layer / kWord)] >> (layer % kWord) & 1) != 0;
}

}  // namespace

std::optional<Downsets> Downsets::of(const PipelineProblem& problem, std::size_t most) {
  const int layers = problem.layers();
  std::vector<std::vector<int>> readers(static_cast<std::size_t>(layers));
  for (const LayerEdge& edge : problem.widths.front().edges)
    readers[static_cast<std::size_t>(edge.from)].push_back(edge.to);
  Downsets result;
  result.sets_.emplace_back(static_cast<std::size_t>(layers / kWord + 1), 0);
  std::size_t size_begin = 0;
  for (int size = 0; size < layers; ++size) {
    std::set<Set> larger;
    for (std::size_t i = size_begin; i < result.sets_.size(); ++i) {
      const Set& set = result.sets_[i];
      for (int layer = 0; layer < layers; ++layer) {
        const auto& after = readers[static_cast<std::size_t>(layer)];
        if (has(set, layer) || !std::ranges::all_of(after, [&](int reader) { return has(set, reader); })) continue;
        Set grown = set;
        grown[static_cast<std::size_t>(layer / kWord)] |= std::uint64_t{1} << (layer % kWord);
        larger.insert(std::move(grown));
      }
    }
    size_begin = result.sets_.size();
    if (size_begin + larger.size() > most) return std::nullopt;
    result.sets_.insert(result.sets_.end(), larger.begin(), larger.end());
  }
  return result;
}

bool Downsets::inside(std::size_t small, std::size_t large) const {
  const Set &a = sets_[small], &b = sets_[large];
  for (std::size_t w = 0; w < a.size(); ++w)
    if ((a[w] & ~b[w]) != 0) return false;
  return true;
}

std::vector<int> Downsets::between(std::size_t small, std::size_t large) const {
  std::vector<int> layers;
  for (std::size_t w = 0; w < sets_[large].size(); ++w)
    for (std::uint64_t rest = sets_[large][w] & ~sets_[small][w]; rest != 0; rest &= rest - 1)
      layers.push_back(static_cast<int>(w) * kWord + std::countr_zero(rest));
  return layers;
}

}  // namespace tessera
