// How often a benchmark is repeated, and what is kept of its samples.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "models/latency_model.hpp"
#include "sim/base/units.hpp"

namespace tessera::microbench {

struct Statistics {
  Seconds median, p10, p90;  // nearest rank
  std::size_t repeats = 0;
  /// (p90 - p10) / median.
  [[nodiscard]] double spread() const { return (p90 - p10) / median; }
};
/// At least one sample.
Statistics summarise(std::vector<Seconds> samples);

/// Warm up, then repeat until both `min_repeats` and `time` are reached, or `max_repeats`.
struct Sampling {
  Seconds warm_up{0.05};
  Seconds time{0.15};
  Seconds sample{1e-3};  // a graph holds as many calls as last this long: the event's resolution is 0.5 us
  int min_repeats = 10;
  int max_repeats = 200;
  int max_calls = 500;
  Seconds between{2e-4};  // samples: queueing, waiting, reading the events
};

/// A load that is held has no gaps to cool down in: its samples are long.
Sampling held(Sampling sampling, Seconds hold);

/// Calls between two events: one for eager, else as many as fill a sample.
int calls_per_sample(const Sampling& sampling, Seconds one_call, Timing timing);

/// `time(calls)` runs that many calls and returns the mean time of one. With `hold`, samples go on that long, also
/// beyond max_repeats, and only the later half is kept: the clock has settled by then.
std::vector<Seconds> take_samples(const Sampling& sampling, Timing timing, Seconds hold,
                                  const std::function<Seconds(int calls)>& time);

/// What `take_samples` will need for calls of this length.
Seconds sampling_time(const Sampling& sampling, Timing timing, Seconds hold, Seconds one_call);

}  // namespace tessera::microbench
