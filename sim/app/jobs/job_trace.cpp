#include "sim/app/jobs/job_trace.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/text.hpp"
#include "sim/config/csv.hpp"

namespace tessera {

namespace {

// Fields of a line of SWF, counted from 0.
constexpr std::size_t kSwfFields = 18, kNumber = 0, kSubmit = 1, kRunTime = 3, kAllocated = 4, kRequested = 7;

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> found;
  for (std::size_t at = line.find_first_not_of(" \t\r"); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    found.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(" \t\r", end);
  }
  return found;
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// One file in SWF: a header of "; Key: value" lines, then a job per line.
class SwfReader {
 public:
  explicit SwfReader(const std::filesystem::path& path) : file_(path.string()), text_(read_file(path)) {}

  JobTrace read() {
    for (std::size_t at = 0; at < text_.size(); ++line_) {
      const std::size_t end = std::min(text_.find('\n', at), text_.size());
      const std::string_view line = trim(std::string_view(text_).substr(at, end - at));
      at = end + 1;
      if (line.empty()) continue;
      if (line.front() == ';')
        header(line.substr(1));
      else
        job(line);
    }
    if (promised_ && rows_ < *promised_)
      wrong_.push_back(
          {file_, line_, 1,
           fmt::format("the header promises {} jobs, and there are {}: the trace is cut short", *promised_, rows_)});
    if (rows_ == 0 && wrong_.empty()) wrong_.push_back({file_, 1, 1, "the trace has no jobs"});
    if (!wrong_.empty()) throw InputError(std::move(wrong_));
    trace_.says_communication.assign(trace_.jobs.size(), false);
    return std::move(trace_);
  }

 private:
  void header(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || trim(line.substr(0, colon)) != "MaxJobs") return;
    if (const auto jobs = number(trim(line.substr(colon + 1)))) promised_ = static_cast<std::int64_t>(*jobs);
  }

  void job(std::string_view line) {
    ++rows_;
    const auto fields = words(line);
    if (fields.size() != kSwfFields)
      return fail(fmt::format("{} fields, a job has {}: the line is cut short, or no SWF", fields.size(), kSwfFields));
    std::array<double, kSwfFields> values{};
    for (std::size_t i = 0; i < kSwfFields; ++i) {
      const auto value = number(fields[i]);
      if (!value) return fail(fmt::format("field {}: found '{}', expected a number", i + 1, fields[i]));
      values[i] = *value;
    }
    const double gpus = values[kAllocated] > 0 ? values[kAllocated] : values[kRequested];
    if (values[kSubmit] < last_)
      return fail(fmt::format("submit time {} s, expected {} s or later", values[kSubmit], last_));
    last_ = values[kSubmit];
    if (values[kRunTime] <= 0 || gpus <= 0) {
      ++trace_.never_ran;
      return;
    }
    trace_.jobs.push_back({.name = std::string(fields[kNumber]),
                           .arrival = Seconds(values[kSubmit]),
                           .gpus = static_cast<int>(gpus),
                           .alone = Seconds(values[kRunTime])});
  }

  void fail(std::string message) { wrong_.push_back({file_, line_, 1, std::move(message)}); }

  std::string file_, text_;
  int line_ = 1;
  std::optional<std::int64_t> promised_;
  std::int64_t rows_ = 0;
  double last_ = 0;
  JobTrace trace_;
  std::vector<Diagnostic> wrong_;
};

const std::vector<std::string>& known_columns() {
  static const std::vector<std::string> kColumns{"job_id",        "submit_s", "gpus", "duration_s",
                                                 "communication", "user",     "vc",   "status"};
  return kColumns;
}

void check_columns(const CsvTable& table, const std::filesystem::path& path, std::vector<Diagnostic>& wrong) {
  for (const std::string& column : table.columns())
    if (std::ranges::find(known_columns(), column) == known_columns().end())
      wrong.push_back({path.string(), 1, 1,
                       fmt::format("unknown column '{}'{}; a trace of jobs has {}", column,
                                   did_you_mean(column, known_columns()), fmt::join(known_columns(), ", "))});
}

/// A table of jobs, one per row.
class CsvJobs {
 public:
  explicit CsvJobs(const std::filesystem::path& path) : table_(CsvTable::read(path)) {
    check_columns(table_, path, wrong_);
    if (table_.rows() == 0) wrong_.push_back({path.string(), 1, 1, "the trace has no jobs"});
    if (!wrong_.empty()) throw InputError(std::move(wrong_));
    name_ = table_.need("job_id"), submit_ = table_.need("submit_s");
    gpus_ = table_.need("gpus"), duration_ = table_.need("duration_s");
    communication_ = table_.column("communication");
  }

  JobTrace read() {
    for (std::size_t row = 0; row < table_.rows(); ++row) job(row);
    if (!wrong_.empty()) throw InputError(std::move(wrong_));
    return std::move(trace_);
  }

 private:
  /// The number in a cell, where it is at least `least` and less than `below`; else a mistake.
  double cell(std::size_t row, std::size_t column, double least, double below, std::string_view expected) {
    const auto value = number(trim(table_.cell(row, column)));
    if (value && *value >= least && *value < below) return *value;
    wrong_.push_back(table_.at(
        row, column,
        fmt::format("{}: found '{}', expected {}", table_.columns()[column], table_.cell(row, column), expected)));
    return 0;
  }

  void job(std::size_t row) {
    constexpr double kLimit = 1e15;
    ClusterJob job{.name = std::string(table_.cell(row, name_))};
    job.arrival = Seconds(cell(row, submit_, last_, kLimit, fmt::format("a date from {} s on", last_)));
    last_ = std::max(last_, job.arrival.value());
    const double gpus = cell(row, gpus_, 0, 1e9, "a number of GPUs");
    const double duration = cell(row, duration_, 0, kLimit, "a time in seconds, not negative");
    const bool says = communication_ && !table_.cell(row, *communication_).empty();
    if (says) job.communication = cell(row, *communication_, 0, 1, "0 or more and less than 1");
    if (gpus != std::floor(gpus))
      wrong_.push_back(table_.at(row, gpus_, fmt::format("gpus: found {}, expected a whole number", gpus)));
    if (gpus == 0 || duration == 0) {
      ++trace_.never_ran;
      return;
    }
    job.gpus = static_cast<int>(gpus);
    job.alone = Seconds(duration);
    if (job.gpus == 1) job.communication = 0;
    trace_.jobs.push_back(std::move(job));
    trace_.says_communication.push_back(says);
  }

  CsvTable table_;
  std::size_t name_ = 0, submit_ = 0, gpus_ = 0, duration_ = 0;
  std::optional<std::size_t> communication_;
  double last_ = 0;
  JobTrace trace_;
  std::vector<Diagnostic> wrong_;
};

}  // namespace

JobTrace read_job_trace(const std::filesystem::path& path) {
  JobTrace trace = path.extension() == ".swf" ? SwfReader(path).read() : CsvJobs(path).read();
  if (trace.jobs.empty())
    throw InputError(Diagnostic{path.string(), 1, 1, fmt::format("none of its {} jobs ran", trace.never_ran)});
  return trace;
}

std::vector<ClusterJob> trace_jobs(const JobTraceSection& section, JobTrace trace) {
  for (std::size_t i = 0; i < trace.jobs.size(); ++i)
    if (!trace.says_communication[i] && trace.jobs[i].gpus > 1) trace.jobs[i].communication = section.communication;
  if (section.jobs > 0 && static_cast<std::size_t>(section.jobs) < trace.jobs.size())
    trace.jobs.resize(static_cast<std::size_t>(section.jobs));
  return std::move(trace.jobs);
}

std::vector<ClusterJob> synthetic_jobs(const SyntheticJobsSection& section, Rng rng) {
  std::vector<ClusterJob> jobs;
  Seconds at;
  for (std::int64_t i = 0; i < section.jobs; ++i) {
    at += section.interarrival * -std::log(1 - rng.uniform());
    ClusterJob job{.name = fmt::format("{}", i + 1), .arrival = at, .alone = section.duration};
    double pick = rng.uniform();
    for (const auto& [size, share] : section.gpus) {
      job.gpus = *gpus_of(size);
      pick -= share;
      if (pick < 0) break;
    }
    const double uniform = rng.uniform(), normal = rng.normal();
    if (section.lengths == Lengths::exponential) job.alone *= -std::log(1 - uniform);
    if (section.lengths == Lengths::lognormal) job.alone *= std::exp(section.spread * normal);
    job.alone = max(job.alone, Seconds(1e-3));
    if (job.gpus > 1) job.communication = section.communication;
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace tessera
