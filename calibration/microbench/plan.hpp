// What will run on a GPU, and how long it will take.
#pragma once

#include <string>
#include <vector>

#include "calibration/microbench/benchmarks.hpp"
#include "calibration/microbench/statistics.hpp"

namespace tessera::microbench {

struct PlanOptions {
  std::vector<std::string> only;  // benchmarks; empty: all
  std::vector<Dtype> dtypes;      // empty: all that the GPU supports
  Seconds budget{540};            // cases are left out, evenly, until the rest fits
  Sampling sampling;
};

struct PlannedCase {
  Case what;
  std::string id;
  Seconds expected;
};

struct Plan {
  std::vector<PlannedCase> cases;
  std::size_t left_out = 0;  // by the budget
  Sampling sampling;
  [[nodiscard]] Seconds expected() const;
};

/// The same plan for the same GPU and options. InputError for a benchmark that does not exist. Cases that would fill
/// more than a third of the memory, or whose one call lasts over 0.2 s, are not planned.
Plan make_plan(const GpuSpec& gpu, const PlanOptions& options);

}  // namespace tessera::microbench
