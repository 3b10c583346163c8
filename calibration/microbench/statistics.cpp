#include "calibration/microbench/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "sim/base/error.hpp"

namespace tessera::microbench {
namespace {

Seconds nearest_rank(const std::vector<Seconds>& sorted, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

bool enough(const Sampling& sampling, Seconds hold, std::size_t repeats, Seconds spent) {
  if (spent < hold) return false;
  if (hold > Seconds(0)) return repeats >= 2;
  if (repeats >= static_cast<std::size_t>(sampling.max_repeats)) return true;
  return repeats >= static_cast<std::size_t>(sampling.min_repeats) && spent >= sampling.time;
}

}  // namespace

Statistics summarise(std::vector<Seconds> samples) {
  TESSERA_ASSERT(!samples.empty(), "statistics of no samples");
  std::ranges::sort(samples, [](Seconds a, Seconds b) { return a < b; });
  return {.median = nearest_rank(samples, 0.5),
          .p10 = nearest_rank(samples, 0.1),
          .p90 = nearest_rank(samples, 0.9),
          .repeats = samples.size()};
}

Sampling held(Sampling sampling, Seconds hold) {
  if (hold > Seconds(0)) sampling.sample = max(sampling.sample, Seconds(0.05));
  return sampling;
}

int calls_per_sample(const Sampling& sampling, Seconds one_call, Timing timing) {
  if (timing == Timing::eager) return 1;
  const double calls = std::ceil(sampling.sample / max(one_call, Seconds(1e-9)));
  return static_cast<int>(std::clamp(calls, 1.0, static_cast<double>(sampling.max_calls)));
}

std::vector<Seconds> take_samples(const Sampling& sampling, Timing timing, Seconds hold,
                                  const std::function<Seconds(int calls)>& time) {
  time(1);  // the first call loads code and data: it tells nothing
  const int calls = calls_per_sample(held(sampling, hold), time(1), timing);
  for (Seconds spent; spent < sampling.warm_up;) spent += calls * max(time(calls), Seconds(1e-9));
  std::vector<Seconds> samples;
  for (Seconds spent; !enough(sampling, hold, samples.size(), spent);) {
    samples.push_back(time(calls));
    spent += calls * samples.back();
  }
  if (hold > Seconds(0))
    samples.erase(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2));
  return samples;
}

Seconds sampling_time(const Sampling& sampling, Timing timing, Seconds hold, Seconds one_call) {
  const Seconds sample = calls_per_sample(held(sampling, hold), one_call, timing) * one_call;
  const Seconds least = sampling.min_repeats * sample, most = sampling.max_repeats * sample;
  const Seconds running = max(sampling.warm_up, sample) + max(hold, min(max(least, sampling.time), most));
  return running + (running / sample) * sampling.between;
}

}  // namespace tessera::microbench
