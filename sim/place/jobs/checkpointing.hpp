// How often to write checkpoints: closed forms, and the best interval found by simulating.
#pragma once

#include <vector>

#include "sim/base/units.hpp"
#include "sim/place/jobs/job.hpp"

namespace tessera {

/// sqrt(2 cost x mtbf) (Young, CACM 1974).
Seconds young_interval(Seconds cost, Seconds mtbf);
/// Daly's higher order (FGCS 2006, equation 37): Young's x (1 + sqrt(c / 2M) / 3 + c / 2M / 9) - cost; M where the cost
/// is 2M or more.
Seconds daly_interval(Seconds cost, Seconds mtbf);

/// A job's mean time from start to end under failures at exponential intervals, where it restarts at once and failures
/// hit restarts too: e^(R/M) M (sum over its segments of e^(length/M) - 1), a segment being an interval and the
/// checkpoint behind it, the last one without (Daly's equation 20, but for the last checkpoint).
Seconds expected_time(Seconds work, Seconds interval, Seconds cost, Seconds restart, Seconds mtbf);

/// Goodput: the job's time alone over its time from arrival to end. Mean of the trials and half of its 95 % interval.
struct GoodputPoint {
  Seconds interval;
  double goodput = 0, half_width = 0;
};

struct CheckpointStudy {
  Seconds mtbf;  // between failures of anything that the job runs on
  Seconds young, daly;
  GoodputPoint chosen;  // at the interval of the faults, or the best
  GoodputPoint best;
  Seconds good_from, good_to;        // intervals whose paired difference to the best one is within its 95 % interval
  std::vector<GoodputPoint> points;  // tried, ascending
  JobRecord mean;                    // at the chosen interval: means of the trials; `interruptions` rounded
  double interruptions = 0;          // their mean
  int trials = 0;
};

/// Simulates the only job of `input`, which starts on an idle cluster, `trials` times per interval with the same
/// failures for each, on a grid around Young's interval and then a finer one around the best.
CheckpointStudy study_checkpoints(const JobsInput& input, int trials);

}  // namespace tessera
