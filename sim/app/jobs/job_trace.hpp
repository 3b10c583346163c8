// Jobs from files and at random.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/app/jobs/section.hpp"
#include "sim/base/rng.hpp"
#include "sim/place/jobs/job.hpp"

namespace tessera {

/// A trace's jobs by arrival, and how many of it never ran.
struct JobTrace {
  std::vector<ClusterJob> jobs;
  std::vector<bool> says_communication;  // parallel
  std::int64_t never_ran = 0;            // cancelled before they started: no run time or no processors
};

/// Standard Workload Format (Feitelson, parallel workloads archive; version 2.2) where the name ends in .swf, else CSV.
/// InputError with every mistake: rows cut short, fewer rows than the header says, numbers that are none, negative or
/// descending dates, no GPUs, columns that nobody knows.
JobTrace read_job_trace(const std::filesystem::path& path);

/// The first `jobs` of a trace, with the section's communication where the trace says nothing.
std::vector<ClusterJob> trace_jobs(const JobTraceSection& section, JobTrace trace);

std::vector<ClusterJob> synthetic_jobs(const SyntheticJobsSection& section, Rng rng);

/// A whole number of GPUs, or nothing.
std::optional<int> gpus_of(std::string_view text);

}  // namespace tessera
