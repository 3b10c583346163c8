// Exhaustive search over candidates by optimistic bounds: the best one with a certificate, or what is known so far.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sim/config/json.hpp"

namespace tessera {

/// A candidate's score, and what it is proven not to exceed (the same, where the score is the candidate's optimum).
struct SearchScore {
  explicit SearchScore(double proven) : score(proven), bound(proven) {}
  SearchScore(double found, double most) : score(found), bound(most) {}
  double score, bound;
};

/// What is searched. The functions are called from several threads at once and must not depend on anything but the
/// index. Scores are larger for better candidates; minus infinity: infeasible. Never exact(i) > tighter_bound(i) or >
/// bound(i).
struct SearchTask {
  std::size_t candidates = 0;
  std::function<double(std::size_t)> bound;
  /// Dearer than `bound`; asked where that does not exclude; may be empty. Where it is below `least`, it need not be a
  /// bound: anything below does.
  std::function<double(std::size_t, double least)> tighter_bound{};
  std::function<SearchScore(std::size_t)> exact;
};

/// Everything that has been found out; an interrupted search goes on from it to the identical result.
struct SearchState {
  struct Solved {
    std::size_t candidate = 0;
    double score = 0, bound = 0;
    friend bool operator==(const Solved&, const Solved&) = default;
  };
  std::vector<double> bounds{};         // of all candidates; empty: not computed yet
  std::vector<std::size_t> excluded{};  // by tighter bounds
  std::vector<Solved> solved{};
  std::size_t next = 0;  // position in the order of bounds
  bool complete = false;
  friend bool operator==(const SearchState&, const SearchState&) = default;
};
Json to_json(const SearchState& state);
/// RunError where `json` is none, or of another number of candidates.
SearchState search_state(const Json& json, std::size_t candidates);

struct SearchOptions {
  int threads = 1;
  std::function<bool()> stop{};                                   // asked between batches; true: return what is known
  std::function<void(const SearchState&, double best)> report{};  // after each batch
};

/// Bounds of all candidates first, then exact scores in the order of the bounds, in batches of one fixed size, until
/// the next bound is below the best score. The answer depends on the task alone.
void certified_search(const SearchTask& task, const SearchOptions& options, SearchState& state);

/// What is proven about a state.
struct Certificate {
  bool feasible = false;  // some candidate is
  std::size_t best = 0;
  double score = 0;
  double next_bound = 0;  // no other candidate is better than this; minus infinity: none is left, infinity: not known
  std::size_t solved = 0, excluded = 0, infeasible = 0, candidates = 0;
  std::size_t open = 0;   // solved ones that may be better than `best`: their own optimum is not proven
  bool complete = false;  // all candidates were looked at; with next_bound <= score, `best` is the best of all
};
/// `candidates`: of the search; 0: as many as have bounds.
Certificate certificate(const SearchState& state, std::size_t candidates = 0);

}  // namespace tessera
