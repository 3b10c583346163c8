#include <algorithm>
#include <bitset>
#include <limits>
#include <unordered_map>

#include "sim/place/schedule/instance.hpp"

namespace tessera {

namespace {

constexpr std::size_t kMostOperators = 256;
constexpr std::size_t kMostStates = 400'000;  // remembered; about 100 MB
using Scheduled = std::bitset<kMostOperators>;

/// The next decision: an operator, its choice and its cores.
struct Move {
  std::size_t task = 0;
  bool all_cores = false;
  int tensor_core = -1, vector_core = -1;
  Seconds start, end;
};

/// Depth-first over active schedules (Giffler and Thompson 1960) in the order of starts. A branch ends where its bound
/// meets the incumbent, or where another that had scheduled the same operators left every core and operator as early.
class Search {
 public:
  Search(const Instance& instance, const Windows& windows, const ScheduleLimits& limits, Placement& best)
      : instance_(instance),
        windows_(windows),
        limits_(limits),
        best_(best),
        end_(instance.size()),
        waits_(instance.size()),
        tensor_(static_cast<std::size_t>(instance.cores.tensor)),
        vector_(static_cast<std::size_t>(instance.cores.vector)) {
    placed_.resize(instance.size());
    for (std::size_t i = 0; i < instance.size(); ++i) waits_[i] = instance.before[i].size();
  }

  SearchResult run() {
    if (instance_.size() > kMostOperators) return {};
    explore();
    return {.complete = !stopped_, .nodes = nodes_};
  }

 private:
  [[nodiscard]] Seconds limit() const { return best_.makespan * (1.0 - kRounding); }
  [[nodiscard]] const Task& task(std::size_t i) const { return instance_.tasks[i]; }

  void explore() {
    if (++nodes_ > limits_.nodes) stopped_ = true;
    if (stopped_) return;
    if (scheduled_.count() == instance_.size()) {
      best_ = {.tasks = placed_, .makespan = *std::max_element(end_.begin(), end_.end())};
      return;
    }
    if (bound() >= limit() || dominated()) return;
    for (const Move& move : moves()) {
      if (move.end + windows_.tail[move.task] >= limit()) continue;
      descend(move);
      if (stopped_) return;
    }
  }

  void descend(const Move& move) {
    const std::size_t i = move.task;
    const std::vector<Seconds> tensor = tensor_, vector = vector_;
    const Seconds now = now_;
    const std::vector<std::size_t> running = running_;
    placed_[i] = {move.start, move.end, move.all_cores, move.tensor_core, move.vector_core};
    end_[i] = move.end;
    now_ = max(now_, move.start);
    if (move.all_cores) {
      std::fill(tensor_.begin(), tensor_.end(), move.end);
      std::fill(vector_.begin(), vector_.end(), move.end);
    }
    if (move.tensor_core >= 0) tensor_[static_cast<std::size_t>(move.tensor_core)] = move.end;
    if (move.vector_core >= 0) vector_[static_cast<std::size_t>(move.vector_core)] = move.end;
    scheduled_.set(i);
    std::erase_if(running_, [&](std::size_t r) { return end_[r] <= now_; });
    running_.push_back(i);
    for (const int j : instance_.after[i]) --waits_[static_cast<std::size_t>(j)];
    explore();
    for (const int j : instance_.after[i]) ++waits_[static_cast<std::size_t>(j)];
    scheduled_.reset(i);
    running_ = running;
    end_[i] = Seconds();
    now_ = now;
    tensor_ = tensor;
    vector_ = vector;
  }

  [[nodiscard]] Seconds ready(std::size_t i) const {
    Seconds at = now_;
    for (const int p : instance_.before[i]) at = max(at, end_[static_cast<std::size_t>(p)]);
    return at;
  }

  /// Critical path and energy of what is not scheduled, with what still runs counted by its rest.
  [[nodiscard]] Seconds bound() {
    items_.clear();
    Seconds longest;
    for (const std::size_t r : running_) {
      longest = max(longest, end_[r] + windows_.tail[r]);
      items_.push_back({now_, windows_.tail[r], energy_of_rest(instance_, r, placed_[r].all_cores, end_[r] - now_)});
    }
    head_.assign(instance_.size(), now_);
    const Seconds tensor = *std::min_element(tensor_.begin(), tensor_.end());
    const Seconds vector = *std::min_element(vector_.begin(), vector_.end());
    for (const std::size_t i : sequence()) {
      if (scheduled_.test(i)) continue;
      Seconds at = ready(i);
      for (const int p : instance_.before[i]) {
        const auto k = static_cast<std::size_t>(p);
        if (!scheduled_.test(k)) at = max(at, head_[k] + task(k).shortest());
      }
      if (task(i).core != CoreClass::vector) at = max(at, tensor);
      if (task(i).core != CoreClass::tensor) at = max(at, vector);
      head_[i] = max(at, windows_.head[i]);
      longest = max(longest, head_[i] + task(i).shortest() + windows_.tail[i]);
      items_.push_back({head_[i], windows_.tail[i], energy_of(instance_, i)});
    }
    if (longest >= limit()) return longest;
    std::stable_sort(items_.begin(), items_.end(), [](const auto& a, const auto& b) { return a.head > b.head; });
    return max(longest, energy_bound(items_));
  }

  const std::vector<std::size_t>& sequence() {
    if (sequence_.empty()) {
      for (std::size_t i = 0; i < instance_.size(); ++i) sequence_.push_back(i);
      std::stable_sort(sequence_.begin(), sequence_.end(),
                       [&](std::size_t a, std::size_t b) { return ahead(a) < ahead(b); });
    }
    return sequence_;
  }
  [[nodiscard]] int ahead(std::size_t j) const {
    int count = 0;
    for (std::size_t i = 0; i < instance_.size(); ++i) count += instance_.precedes(i, j) ? 1 : 0;
    return count;
  }

  /// Everything that an active schedule may start next: not later than something could end.
  std::vector<Move> moves() {
    std::vector<Move> found;
    for (std::size_t i = 0; i < instance_.size(); ++i) {
      if (scheduled_.test(i) || waits_[i] > 0) continue;
      if (task(i).may_all) add_all(i, found);
      if (task(i).may_one) add_one(i, found);
    }
    Seconds first_end(std::numeric_limits<double>::infinity());
    for (const Move& move : found) first_end = min(first_end, move.end);
    std::erase_if(found, [&](const Move& m) { return m.start >= first_end && m.end > first_end; });
    std::stable_sort(found.begin(), found.end(), [&](const Move& a, const Move& b) {
      if (a.start != b.start) return a.start < b.start;
      return a.end + windows_.tail[a.task] > b.end + windows_.tail[b.task];
    });
    return found;
  }

  void add_all(std::size_t i, std::vector<Move>& found) const {
    Seconds start = ready(i);
    for (const std::size_t r : running_) start = max(start, end_[r]);
    found.push_back({.task = i, .all_cores = true, .start = start, .end = start + task(i).all_cores});
  }

  void add_one(std::size_t i, std::vector<Move>& found) const {
    const CoreClass core = task(i).core;
    const Seconds from = ready(i);
    std::vector<std::pair<Seconds, Seconds>> tried;  // cores that differ in nothing that matters are tried once
    const auto try_cores = [&](int t, int v) {
      const auto free_at = [&](const std::vector<Seconds>& cores, int c) {
        return c < 0 || static_cast<std::size_t>(c) >= cores.size() ? Seconds(-1.0)
                                                                    : max(now_, cores[static_cast<std::size_t>(c)]);
      };
      const int pair = std::max(t, v);
      const bool paired = pair < instance_.pairs;
      const std::pair state{free_at(tensor_, t >= 0 || paired ? pair : -1),
                            free_at(vector_, v >= 0 || paired ? pair : -1)};
      if (std::find(tried.begin(), tried.end(), state) != tried.end()) return;
      tried.push_back(state);
      Seconds start = from;
      if (t >= 0) start = max(start, tensor_[static_cast<std::size_t>(t)]);
      if (v >= 0) start = max(start, vector_[static_cast<std::size_t>(v)]);
      found.push_back({.task = i, .tensor_core = t, .vector_core = v, .start = start, .end = start + task(i).one_core});
    };
    if (core == CoreClass::tensor) {
      for (int t = 0; t < instance_.cores.tensor; ++t) try_cores(t, -1);
    } else if (core == CoreClass::vector) {
      for (int v = 0; v < instance_.cores.vector; ++v) try_cores(-1, v);
    } else {
      for (int c = 0; c < instance_.pairs; ++c) try_cores(c, c);
    }
  }

  /// What the future depends on: when cores are free and operators ready, never before now.
  [[nodiscard]] std::vector<Seconds> label() const {
    const auto pairs = static_cast<std::size_t>(instance_.pairs);
    std::vector<std::pair<Seconds, Seconds>> both;
    for (std::size_t c = 0; c < pairs; ++c) both.emplace_back(max(now_, tensor_[c]), max(now_, vector_[c]));
    std::sort(both.begin(), both.end());
    std::vector<Seconds> result{now_};
    for (const auto& [t, v] : both) {
      result.push_back(t);
      result.push_back(v);
    }
    const std::vector<Seconds>& more = tensor_.size() > pairs ? tensor_ : vector_;
    for (std::size_t c = pairs; c < more.size(); ++c) result.push_back(max(now_, more[c]));
    std::sort(result.begin() + static_cast<std::ptrdiff_t>(1 + 2 * pairs), result.end());
    for (std::size_t i = 0; i < instance_.size(); ++i) {
      if (!scheduled_.test(i)) result.push_back(ready(i));
    }
    return result;
  }

  bool dominated() {
    std::vector<std::vector<Seconds>>& known = seen_[scheduled_];
    std::vector<Seconds> mine = label();
    const auto as_early = [](const std::vector<Seconds>& a, const std::vector<Seconds>& b) {
      return std::equal(a.begin(), a.end(), b.begin(), [](Seconds x, Seconds y) { return x <= y; });
    };
    for (const std::vector<Seconds>& other : known) {
      if (as_early(other, mine)) return true;
    }
    states_ -= std::erase_if(known, [&](const std::vector<Seconds>& other) { return as_early(mine, other); });
    if (states_ < kMostStates) {
      known.push_back(std::move(mine));
      ++states_;
    }
    return false;
  }

  const Instance& instance_;
  const Windows& windows_;
  const ScheduleLimits& limits_;
  Placement& best_;
  std::vector<Seconds> end_, head_;
  std::vector<std::size_t> waits_;        // for how many
  std::vector<Seconds> tensor_, vector_;  // when each core is free
  std::vector<PlacedOperator> placed_;
  std::vector<std::size_t> running_, sequence_;
  std::vector<EnergyItem> items_;
  Scheduled scheduled_;
  Seconds now_;
  std::unordered_map<Scheduled, std::vector<std::vector<Seconds>>> seen_;
  std::size_t states_ = 0;
  std::int64_t nodes_ = 0;
  bool stopped_ = false;
};

}  // namespace

SearchResult search_better(const Instance& instance, const Windows& windows, const ScheduleLimits& limits,
                           Placement& incumbent) {
  return Search(instance, windows, limits, incumbent).run();
}

}  // namespace tessera
