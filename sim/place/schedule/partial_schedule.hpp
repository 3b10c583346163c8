// Schedules under construction, in the order of starts: what may come next, what they come to at least; internal to
// this folder.
#pragma once

#include <bitset>
#include <unordered_map>
#include <vector>

#include "sim/place/schedule/instance.hpp"

namespace tessera {

inline constexpr std::size_t kMostSearched = 256;  // operators
using Scheduled = std::bitset<kMostSearched>;

struct PartialSchedule {
  Scheduled scheduled;
  Seconds now;  // the last start
  std::vector<PlacedOperator> placed;
  std::vector<std::size_t> waits;       // by operator: for how many
  std::vector<Seconds> tensor, vector;  // when each core is free
  std::vector<std::size_t> running;     // those that end after now, and the last one started
};

/// The next decision: an operator, its choice and its cores.
struct Move {
  std::size_t task = 0;
  bool all_cores = false;
  int tensor_core = -1, vector_core = -1;
  Seconds start, end;
};

/// What the future depends on: when cores are free and operators ready, never before now. Of two that have scheduled
/// the same, one that is nowhere later leads to nothing longer.
using Label = std::vector<Seconds>;

class Construction {
 public:
  Construction(const Instance& instance, const Windows& windows);

  [[nodiscard]] PartialSchedule begin() const;
  /// Everything that an active schedule (Giffler and Thompson 1960) may start next: not later than something could end.
  [[nodiscard]] std::vector<Move> moves(const PartialSchedule& partial) const;
  [[nodiscard]] PartialSchedule after(const PartialSchedule& partial, const Move& move) const;
  [[nodiscard]] bool complete(const PartialSchedule& partial) const {
    return partial.scheduled.count() == instance_.size();
  }
  [[nodiscard]] CorePlacement placement(const PartialSchedule& partial) const;
  /// Critical path and energy of what is not scheduled, with what still runs counted by its rest. Stops at `limit`.
  [[nodiscard]] Seconds bound(const PartialSchedule& partial, Seconds limit);
  [[nodiscard]] Seconds tail(std::size_t i) const { return windows_.tail[i]; }
  [[nodiscard]] Label label(const PartialSchedule& partial) const;

 private:
  [[nodiscard]] const CoreTask& task(std::size_t i) const { return instance_.tasks[i]; }
  [[nodiscard]] Seconds ready(const PartialSchedule& partial, std::size_t i) const;
  void add_all(const PartialSchedule& partial, std::size_t i, std::vector<Move>& found) const;
  void add_one(const PartialSchedule& partial, std::size_t i, std::vector<Move>& found) const;

  const Instance& instance_;
  const Windows& windows_;
  std::vector<std::size_t> sequence_;  // topological, added precedences too
  std::vector<Energy> energy_;
  std::vector<Seconds> head_;      // scratch of bound()
  std::vector<EnergyItem> items_;  // scratch of bound()
};

/// Labels seen so far, by what was scheduled.
class SeenLabels {
 public:
  /// Whether one that was seen is nowhere later; else remembers this one, while there is room.
  bool dominated(const Scheduled& scheduled, Label label);

 private:
  std::unordered_map<Scheduled, std::vector<Label>> seen_;
  std::size_t count_ = 0;
};

}  // namespace tessera
