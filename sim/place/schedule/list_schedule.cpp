#include <algorithm>
#include <numeric>

#include "sim/place/schedule/instance.hpp"

namespace tessera {

namespace {

/// What still follows each operator once every choice is made: the list's priority.
std::vector<Seconds> chosen_tails(const Instance& instance, const Choices& all_cores) {
  std::vector<Seconds> tail(instance.size());
  for (std::size_t i = instance.size(); i-- > 0;) {
    for (const int j : instance.after[i]) {
      const auto k = static_cast<std::size_t>(j);
      tail[i] = max(tail[i], tail[k] + (all_cores[k] ? instance.tasks[k].all_cores : instance.tasks[k].one_core));
    }
  }
  return tail;
}

/// Starts, at every event, what is ready and fits, longest tail first. `patient`: an operator that waits for all cores
/// holds back those behind it.
class ListScheduler {
 public:
  ListScheduler(const Instance& instance, const Choices& all_cores, bool patient)
      : instance_(instance),
        all_cores_(all_cores),
        patient_(patient),
        waits_(instance.size()),
        tensor_(static_cast<std::size_t>(instance.cores.tensor), -1),
        vector_(static_cast<std::size_t>(instance.cores.vector), -1) {
    placement_.tasks.resize(instance.size());
    const std::vector<Seconds> tail = chosen_tails(instance, all_cores);
    std::vector<std::size_t> sequence(instance.size());
    std::iota(sequence.begin(), sequence.end(), std::size_t{0});
    std::stable_sort(sequence.begin(), sequence.end(), [&](std::size_t a, std::size_t b) {
      const auto whole = [&](std::size_t i) { return tail[i] + duration(i); };
      return whole(a) > whole(b);
    });
    waiting_ = std::move(sequence);
    for (std::size_t i = 0; i < instance.size(); ++i) waits_[i] = instance.before[i].size();
  }

  CorePlacement run() {
    while (!waiting_.empty() || !running_.empty()) {
      start_ready();
      finish_next();
      while (!running_.empty() && placement_.tasks[next()].end <= now_ * (1.0 + kRounding)) finish_next();
    }
    return std::move(placement_);
  }

 private:
  [[nodiscard]] Seconds duration(std::size_t i) const {
    return all_cores_[i] ? instance_.tasks[i].all_cores : instance_.tasks[i].one_core;
  }

  void start_ready() {
    std::vector<std::size_t> left;
    bool held = false;
    for (const std::size_t i : waiting_) {
      if (held || waits_[i] > 0 || !try_start(i)) {
        if (!held && waits_[i] == 0 && all_cores_[i]) held = patient_;
        left.push_back(i);
      }
    }
    waiting_.swap(left);
  }

  bool try_start(std::size_t i) {
    PlacedOperator& placed = placement_.tasks[i];
    if (all_cores_[i]) {
      if (!running_.empty()) return false;
      alone_ = true;
    } else if (alone_ || !take_cores(i, placed)) {
      return false;
    }
    placed.all_cores = all_cores_[i];
    placed.start = now_;
    placed.end = now_ + duration(i);
    running_.push_back(i);
    return true;
  }

  bool take_cores(std::size_t i, PlacedOperator& placed) {
    const CoreClass core = instance_.tasks[i].core;
    if (core == CoreClass::fused) {
      placed.tensor_core = placed.vector_core = free_pair();
    } else if (core == CoreClass::tensor) {
      placed.tensor_core = free_core(tensor_, vector_);
    } else {
      placed.vector_core = free_core(vector_, tensor_);
    }
    const int taken = core == CoreClass::vector ? placed.vector_core : placed.tensor_core;
    if (taken < 0) return false;
    if (placed.tensor_core >= 0) tensor_[static_cast<std::size_t>(placed.tensor_core)] = static_cast<int>(i);
    if (placed.vector_core >= 0) vector_[static_cast<std::size_t>(placed.vector_core)] = static_cast<int>(i);
    return true;
  }

  /// An unpaired core if there is one, else one whose partner is busy, else any: pairs are kept whole.
  static int free_core(const std::vector<int>& mine, const std::vector<int>& partners) {
    int whole = -1, broken = -1;
    for (std::size_t c = mine.size(); c-- > 0;) {
      if (mine[c] >= 0) continue;
      if (c >= partners.size()) return static_cast<int>(c);
      (partners[c] >= 0 ? broken : whole) = static_cast<int>(c);
    }
    return broken >= 0 ? broken : whole;
  }

  [[nodiscard]] int free_pair() const {
    for (std::size_t c = 0; c < static_cast<std::size_t>(instance_.pairs); ++c) {
      if (tensor_[c] < 0 && vector_[c] < 0) return static_cast<int>(c);
    }
    return -1;
  }

  [[nodiscard]] std::size_t next() const {
    return *std::min_element(running_.begin(), running_.end(), [&](std::size_t a, std::size_t b) {
      return placement_.tasks[a].end < placement_.tasks[b].end;
    });
  }

  void finish_next() {
    const std::size_t i = next();
    std::erase(running_, i);
    const PlacedOperator& placed = placement_.tasks[i];
    now_ = max(now_, placed.end);
    placement_.makespan = max(placement_.makespan, now_);
    if (placed.all_cores) alone_ = false;
    if (placed.tensor_core >= 0) tensor_[static_cast<std::size_t>(placed.tensor_core)] = -1;
    if (placed.vector_core >= 0) vector_[static_cast<std::size_t>(placed.vector_core)] = -1;
    for (const int j : instance_.after[i]) --waits_[static_cast<std::size_t>(j)];
  }

  const Instance& instance_;
  const Choices& all_cores_;
  bool patient_;
  std::vector<std::size_t> waits_;    // for how many
  std::vector<int> tensor_, vector_;  // who runs there; -1: nobody
  std::vector<std::size_t> waiting_, running_;
  bool alone_ = false;
  Seconds now_;
  CorePlacement placement_;
};

/// Walks through choices and keeps the best list schedule.
class ChoiceSearch {
 public:
  ChoiceSearch(const Instance& instance, Seconds bound, const Retime& retime)
      : instance_(instance), retime_(retime), enough_(bound * (1.0 + kRounding)), choices_(instance.size(), false) {
    for (std::size_t i = 0; i < instance.size(); ++i) {
      const CoreTask& task = instance.tasks[i];
      choices_[i] = !task.may_one;
      if (task.may_one && task.may_all) open_.push_back(i);
    }
    std::stable_sort(open_.begin(), open_.end(), [&](std::size_t a, std::size_t b) { return gain(a) > gain(b); });
  }

  CorePlacement run() {
    try_choices(choices_);
    Choices growing = choices_;
    for (const std::size_t i : open_) {  // thresholds of the gain
      if (done()) break;
      growing[i] = true;
      try_choices(growing);
    }
    for (bool improved = true; improved && !done();) {
      improved = false;
      for (const std::size_t i : open_) {
        if (done()) break;
        Choices flipped = best_choices_;
        flipped[i] = !flipped[i];
        improved = try_choices(flipped) || improved;
      }
    }
    return std::move(best_);
  }

 private:
  [[nodiscard]] Seconds gain(std::size_t i) const { return instance_.tasks[i].one_core - instance_.tasks[i].all_cores; }
  [[nodiscard]] bool done() const { return best_.makespan <= enough_; }

  bool try_choices(const Choices& choices) {
    bool better = false;
    const bool waits_matter = std::find(choices.begin(), choices.end(), true) != choices.end();
    for (const bool patient : {false, true}) {
      if (patient && !waits_matter) break;
      CorePlacement placement = ListScheduler(instance_, choices, patient).run();
      if (retime_) placement = retime_(placement);
      if (!best_.tasks.empty() && placement.makespan >= best_.makespan * (1.0 - kRounding)) continue;
      best_ = std::move(placement);
      best_choices_ = choices;
      better = true;
    }
    return better;
  }

  const Instance& instance_;
  const Retime& retime_;
  Seconds enough_;
  Choices choices_, best_choices_;
  std::vector<std::size_t> open_;
  CorePlacement best_;
};

}  // namespace

CorePlacement best_list_schedule(const Instance& instance, Seconds bound, const Retime& retime) {
  return ChoiceSearch(instance, bound, retime).run();
}

}  // namespace tessera
