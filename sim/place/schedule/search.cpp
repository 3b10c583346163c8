#include <algorithm>

#include "sim/place/schedule/partial_schedule.hpp"

namespace tessera {

namespace {

/// Depth-first over active schedules. A branch ends where its bound meets the incumbent, or where it is dominated.
class DepthFirst {
 public:
  DepthFirst(const Instance& instance, const Windows& windows, std::int64_t most_nodes, CorePlacement& best)
      : construction_(instance, windows), most_nodes_(most_nodes), best_(best) {}

  SearchResult run() {
    explore(construction_.begin());
    return {.complete = !stopped_, .nodes = nodes_};
  }

 private:
  [[nodiscard]] Seconds limit() const { return best_.makespan * (1.0 - kRounding); }

  void explore(const PartialSchedule& partial) {
    if (++nodes_ > most_nodes_) stopped_ = true;
    if (stopped_) return;
    if (construction_.complete(partial)) {
      best_ = construction_.placement(partial);
      return;
    }
    if (construction_.bound(partial, limit()) >= limit()) return;
    if (seen_.dominated(partial.scheduled, construction_.label(partial))) return;
    for (const Move& move : construction_.moves(partial)) {
      if (move.end + construction_.tail(move.task) >= limit()) continue;
      explore(construction_.after(partial, move));
      if (stopped_) return;
    }
  }

  Construction construction_;
  std::int64_t most_nodes_;
  CorePlacement& best_;
  SeenLabels seen_;
  std::int64_t nodes_ = 0;
  bool stopped_ = false;
};

/// Level by level, one more operator each: keeps the `width` partial schedules of the least bounds. Complete if it
/// never had more.
class Beam {
 public:
  Beam(const Instance& instance, const Windows& windows, std::size_t width, CorePlacement& best)
      : construction_(instance, windows), width_(width), best_(best) {}

  SearchResult run(std::size_t levels) {
    std::vector<Kept> level{{construction_.begin(), Seconds()}};
    for (std::size_t n = 0; n < levels && !level.empty(); ++n) level = next(level);
    for (const Kept& kept : level) {
      if (kept.bound < best_.makespan) best_ = construction_.placement(kept.partial);
    }
    return {.complete = !cut_, .nodes = nodes_};
  }

 private:
  struct Kept {
    PartialSchedule partial;
    Seconds bound;
  };

  std::vector<Kept> next(const std::vector<Kept>& level) {
    const Seconds limit = best_.makespan * (1.0 - kRounding);
    std::vector<Kept> children;
    SeenLabels seen;
    for (const Kept& kept : level) {
      for (const Move& move : construction_.moves(kept.partial)) {
        if (move.end + construction_.tail(move.task) >= limit) continue;
        Kept child{construction_.after(kept.partial, move), {}};
        ++nodes_;
        const bool complete = construction_.complete(child.partial);
        child.bound =
            complete ? construction_.placement(child.partial).makespan : construction_.bound(child.partial, limit);
        if (child.bound >= limit) continue;
        if (seen.dominated(child.partial.scheduled, construction_.label(child.partial))) continue;
        children.push_back(std::move(child));
      }
    }
    std::stable_sort(children.begin(), children.end(), [](const Kept& a, const Kept& b) { return a.bound < b.bound; });
    if (children.size() > width_) {
      cut_ = true;
      children.resize(width_);
    }
    return children;
  }

  Construction construction_;
  std::size_t width_;
  CorePlacement& best_;
  std::int64_t nodes_ = 0;
  bool cut_ = false;
};

}  // namespace

SearchResult search_better(const Instance& instance, const Windows& windows, std::int64_t nodes,
                           CorePlacement& incumbent) {
  if (instance.size() > kMostSearched) return {};
  return DepthFirst(instance, windows, nodes, incumbent).run();
}

SearchResult beam_search(const Instance& instance, const Windows& windows, std::size_t width,
                         CorePlacement& incumbent) {
  if (instance.size() > kMostSearched) return {};
  return Beam(instance, windows, width, incumbent).run(instance.size());
}

}  // namespace tessera
