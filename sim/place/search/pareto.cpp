#include "sim/place/search/pareto.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "sim/place/search/parallel.hpp"

namespace tessera {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();
constexpr std::size_t kBatch = 64;

}  // namespace

std::vector<ParetoPoint> pareto_front(const SearchTask& task, std::span<const double> costs,
                                      std::span<const double> bounds, const SearchOptions& options) {
  std::vector<std::size_t> order(task.candidates);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return costs[a] != costs[b] ? costs[a] < costs[b] : bounds[a] > bounds[b];
  });
  std::vector<ParetoPoint> front;
  double best = kNone;
  std::size_t next = 0;
  while (next < order.size() && !(options.stop && options.stop())) {
    std::vector<std::size_t> batch;
    for (; batch.size() < kBatch && next < order.size(); ++next)
      if (bounds[order[next]] > best) batch.push_back(order[next]);
    std::vector<double> scores(batch.size(), kNone);
    parallel_for(batch.size(), options.threads, [&](std::size_t i) {
      if (!task.tighter_bound || task.tighter_bound(batch[i], best) > best) scores[i] = task.exact(batch[i]).score;
    });
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (scores[i] <= best) continue;
      best = scores[i];
      if (!front.empty() && front.back().cost == costs[batch[i]]) front.pop_back();
      front.push_back({batch[i], costs[batch[i]], best});
    }
  }
  return front;
}

}  // namespace tessera
