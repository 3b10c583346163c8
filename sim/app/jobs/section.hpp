// What a scenario says about jobs that share a cluster, and about its failures.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/config/reader.hpp"
#include "sim/place/jobs/job.hpp"

namespace tessera {

struct JobTraceSection {
  JobTraceSection() = default;  // no aggregate: g++ 12 warns of uninitialized members in T{} otherwise
  std::string file;
  std::int64_t jobs = 0;
  double communication = 0;
};

enum class Lengths : std::uint8_t { constant, exponential, lognormal };
constexpr std::array<std::string_view, 3> enum_names(Lengths) {
  return {"constant", "exponential", "lognormal"};
}

/// Jobs that come at random, by the scenario's seed.
struct SyntheticJobsSection {
  SyntheticJobsSection() = default;  // as above
  std::int64_t jobs = 0;
  Seconds interarrival, duration;
  Lengths lengths = Lengths::lognormal;
  double spread = 1;
  std::vector<std::pair<std::string, double>> gpus;
  double communication = 0;
};

/// Of a cluster with many jobs, or of one training run, which is then repeated over `trials`.
struct ReliabilitySection {
  ReliabilitySection() = default;  // as above
  std::optional<Seconds> gpu_mtbf, node_mtbf, link_mtbf;
  Seconds repair, checkpoint_cost, restart;
  std::optional<Seconds> checkpoint_interval;
  int spares = 0;
  std::optional<Seconds> duration;
  std::optional<int> trials;
};

void describe(Reader& r, JobTraceSection& s);
void describe(Reader& r, SyntheticJobsSection& s);
void describe(Reader& r, ReliabilitySection& s);

FaultSpec fault_spec(const ReliabilitySection& s);

/// Reports where the share of a job's time that is communication is none.
void check_communication(Reader& r, double share);

}  // namespace tessera
