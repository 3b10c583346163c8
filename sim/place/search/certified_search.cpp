#include "sim/place/search/certified_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "sim/base/error.hpp"
#include "sim/place/search/parallel.hpp"

namespace tessera {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();
constexpr std::size_t kBatch = 64;         // never the number of threads: the order of work must not depend on it
constexpr std::size_t kBoundBatch = 1024;  // between two looks at `stop`

/// Candidates by falling bound, ties by index.
std::vector<std::size_t> order_of(const std::vector<double>& bounds) {
  std::vector<std::size_t> order(bounds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return bounds[a] > bounds[b]; });
  return order;
}

double best_score(const SearchState& state) {
  double best = kNone;
  for (const auto& solved : state.solved) best = std::max(best, solved.score);
  return best;
}

bool stopped(const SearchOptions& options) {
  return options.stop && options.stop();
}

/// False if it was stopped.
bool compute_bounds(const SearchTask& task, const SearchOptions& options, SearchState& state) {
  while (state.bounds.size() < task.candidates) {
    if (stopped(options)) return false;
    const std::size_t begin = state.bounds.size(), count = std::min(kBoundBatch, task.candidates - begin);
    std::vector<double> bounds(count);
    parallel_for(count, options.threads, [&](std::size_t i) { bounds[i] = task.bound(begin + i); });
    state.bounds.insert(state.bounds.end(), bounds.begin(), bounds.end());
    if (options.report) options.report(state, kNone);
  }
  return true;
}

struct Outcome {
  bool excluded = false;
  SearchScore score{kNone};
};

Outcome look_at(const SearchTask& task, std::size_t candidate, double best) {
  if (!task.tighter_bound) return {.score = task.exact(candidate)};
  const double bound = task.tighter_bound(candidate, best);
  if (bound < best) return {.excluded = true};
  SearchScore score = task.exact(candidate);
  score.bound = std::max(score.score, std::min(score.bound, bound));
  return {.score = score};
}

}  // namespace

void certified_search(const SearchTask& task, const SearchOptions& options, SearchState& state) {
  if (state.complete || !compute_bounds(task, options, state)) return;
  const std::vector<std::size_t> order = order_of(state.bounds);
  double best = best_score(state);
  while (state.next < order.size()) {
    const double bound = state.bounds[order[state.next]];
    if (bound == kNone || bound < best) break;
    if (stopped(options)) return;
    std::size_t count = 0;
    while (count < kBatch && state.next + count < order.size() && state.bounds[order[state.next + count]] >= best &&
           state.bounds[order[state.next + count]] > kNone)
      ++count;
    std::vector<Outcome> outcomes(count);
    parallel_for(count, options.threads,
                 [&](std::size_t i) { outcomes[i] = look_at(task, order[state.next + i], best); });
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t candidate = order[state.next + i];
      if (outcomes[i].excluded)
        state.excluded.push_back(candidate);
      else
        state.solved.push_back({candidate, outcomes[i].score.score, outcomes[i].score.bound});
      best = std::max(best, outcomes[i].score.score);
    }
    state.next += count;
    if (options.report) options.report(state, best);
  }
  state.complete = true;
}

Certificate certificate(const SearchState& state, std::size_t candidates) {
  Certificate result{.score = kNone, .next_bound = kNone, .complete = state.complete};
  result.solved = state.solved.size();
  result.excluded = state.excluded.size();
  result.candidates = std::max(candidates, state.bounds.size());
  for (const auto& solved : state.solved) {
    if (solved.score == kNone) ++result.infeasible;
    const bool better = solved.score > result.score || (solved.score == result.score && solved.candidate < result.best);
    if (solved.score > kNone && better) {
      result.feasible = true;
      result.best = solved.candidate;
      result.score = solved.score;
    }
  }
  const std::vector<std::size_t> order = order_of(state.bounds);
  if (state.next < order.size()) result.next_bound = state.bounds[order[state.next]];
  if (state.bounds.size() < result.candidates) result.next_bound = std::numeric_limits<double>::infinity();
  for (const auto& solved : state.solved) {
    if (solved.candidate == result.best) continue;
    result.next_bound = std::max(result.next_bound, std::min(solved.bound, state.bounds[solved.candidate]));
    if (solved.bound > result.score) ++result.open;
  }
  return result;
}

Json to_json(const SearchState& state) {
  // JSON has no infinities: an infeasible score is null.
  const auto number = [](double v) { return std::isfinite(v) ? Json(v) : Json(); };
  Json json = Json::object();
  json["bounds"] = Json::array();
  for (const double bound : state.bounds) json["bounds"].push(number(bound));
  json["excluded"] = Json::array();
  for (const std::size_t candidate : state.excluded) json["excluded"].push(candidate);
  json["solved"] = Json::array();
  for (const auto& solved : state.solved)
    json["solved"].push(Json(Json::Array{solved.candidate, number(solved.score), number(solved.bound)}));
  json["next"] = state.next;
  json["complete"] = state.complete;
  return json;
}

namespace {

/// Every candidate at most once, and bounds of all before the search proper.
void check_state(const SearchState& state, std::size_t candidates) {
  std::vector<bool> taken(candidates);
  const auto take = [&](std::size_t candidate) {
    if (candidate >= candidates || taken[candidate]) throw RunError("a chip that is none, or twice");
    taken[candidate] = true;
  };
  for (const std::size_t candidate : state.excluded) take(candidate);
  for (const auto& solved : state.solved) take(solved.candidate);
  const bool begun = state.complete || state.next > 0 || !state.solved.empty() || !state.excluded.empty();
  if (state.bounds.size() > candidates || state.next > candidates || (begun && state.bounds.size() < candidates))
    throw RunError("bounds of another number of chips");
}

}  // namespace

SearchState search_state(const Json& json, std::size_t candidates) {
  const auto number = [](const Json& v) { return v.is_null() ? kNone : v.number(); };
  const auto index = [](const Json& v) {
    if (v.integer() < 0) throw RunError("a negative index");
    return static_cast<std::size_t>(v.integer());
  };
  SearchState state;
  for (const Json& bound : json.at("bounds").items()) state.bounds.push_back(number(bound));
  for (const Json& candidate : json.at("excluded").items()) state.excluded.push_back(index(candidate));
  for (const Json& solved : json.at("solved").items()) {
    if (solved.items().size() != 3) throw RunError("a solved chip without score or bound");
    state.solved.push_back({index(solved.items()[0]), number(solved.items()[1]), number(solved.items()[2])});
  }
  state.next = index(json.at("next"));
  state.complete = json.at("complete").boolean();
  check_state(state, candidates);
  return state;
}

}  // namespace tessera
