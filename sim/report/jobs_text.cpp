// Tables, JSON and CSV of jobs that share a cluster, and of a run whose hardware fails.
#include <iterator>

#include <fmt/format.h>

#include "sim/base/text.hpp"
#include "sim/config/csv.hpp"
#include "sim/report/jobs.hpp"
#include "sim/report/outputs.hpp"

namespace tessera {

namespace {

constexpr double kHour = 3600;

class Lines {
 public:
  explicit Lines(std::string head) : text_(std::move(head)) {}
  void add(std::string_view what, const std::string& value) {
    fmt::format_to(std::back_inserter(text_), "  {:<15}{}\n", what, value);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string spread_text(const TimeSpread& times) {
  return fmt::format("mean {}, p50 {}, p99 {}", format(times.mean), format(times.p50), format(times.p99));
}

Json spread_json(const TimeSpread& times) {
  return Json(Json::Object{{"mean", times.mean.value()}, {"p50", times.p50.value()}, {"p99", times.p99.value()}});
}

std::string work_text(const JobsMeasures& m) {
  const Seconds held = m.useful + m.slowed + m.redone + m.checkpointing + m.restarting;
  const auto percent = [&](Seconds part) { return 100 * (part / held); };
  return fmt::format(
      "{:.1f} % useful of {:.4g} GPU-hours; slowed {:.1f} %, redone {:.1f} %, checkpoints {:.1f} %, "
      "restarts {:.1f} %",
      percent(m.useful), held.value() / kHour, percent(m.slowed), percent(m.redone), percent(m.checkpointing),
      percent(m.restarting));
}

Json bins_json(const std::vector<ClusterBin>& bins) {
  Json list = Json::array();
  for (const ClusterBin& bin : bins)
    list.push(Json(Json::Object{{"at_s", bin.at.value()},
                                {"busy_ratio", bin.busy_ratio},
                                {"out_ratio", bin.out_ratio},
                                {"fragmented_ratio", bin.fragmented_ratio},
                                {"waiting_jobs", bin.waiting}}));
  return list;
}

}  // namespace

std::string jobs_text(const JobsSummary& s) {
  const JobsMeasures& m = s.measures;
  Lines lines(fmt::format("{} / {}: {} jobs on {} ({} nodes of {} {}), placement {}, queue {}\n", s.scenario, s.run,
                          s.jobs.size(), s.cluster.name, s.cluster.nodes, s.cluster.node.gpus, s.cluster.gpu.name,
                          s.options.placement, s.options.queue));
  if (s.never_ran > 0) lines.add("left out", fmt::format("{} jobs of the trace that never ran", s.never_ran));
  lines.add("makespan", format(m.makespan));
  lines.add("completion", spread_text(m.completion));
  lines.add("waiting", spread_text(m.waiting));
  lines.add("slowdown", fmt::format("{:.3f} (completion over time alone, mean)", m.slowdown));
  lines.add("GPUs in use", fmt::format("{:.1f} %", 100 * m.busy_ratio));
  lines.add("fragmentation", fmt::format("{:.1f} % of free GPUs on nodes that others are on; {:.1f} % of jobs on more "
                                         "nodes than they need",
                                         100 * m.fragmented_ratio, 100 * m.scattered_ratio));
  lines.add("fairness", fmt::format("{:.3f} (Jain's index of speeds); finish-time {:.2f} on the mean, {:.1f} % of jobs "
                                    "above 1",
                                    m.jain, m.finish_fairness, 100 * m.finish_unfair_ratio));
  lines.add("GPU time", work_text(m));
  if (s.options.faults.any())
    lines.add("failures", fmt::format("{}; {} interruptions of jobs", s.result.failures, m.interruptions));
  return lines.take();
}

Json jobs_json(const JobsSummary& s) {
  const JobsMeasures& m = s.measures;
  return Json(Json::Object{{"schema_version", kSchemaVersion},
                           {"scenario", s.scenario},
                           {"run", s.run},
                           {"platform", s.cluster.name},
                           {"gpu", s.cluster.gpu.name},
                           {"gpus", s.cluster.gpus()},
                           {"placement", s.options.placement},
                           {"queue", s.options.queue},
                           {"contention", s.options.contention},
                           {"jobs", s.jobs.size()},
                           {"never_ran", s.never_ran},
                           {"makespan_s", m.makespan.value()},
                           {"completion_s", spread_json(m.completion)},
                           {"waiting_s", spread_json(m.waiting)},
                           {"slowdown_ratio", m.slowdown},
                           {"busy_ratio", m.busy_ratio},
                           {"fragmented_ratio", m.fragmented_ratio},
                           {"scattered_ratio", m.scattered_ratio},
                           {"jain_index", m.jain},
                           {"finish_fairness_ratio", m.finish_fairness},
                           {"finish_unfair_ratio", m.finish_unfair_ratio},
                           {"goodput_ratio", m.goodput_ratio},
                           {"useful_gpu_s", m.useful.value()},
                           {"slowed_gpu_s", m.slowed.value()},
                           {"redone_gpu_s", m.redone.value()},
                           {"checkpointing_gpu_s", m.checkpointing.value()},
                           {"restarting_gpu_s", m.restarting.value()},
                           {"failures", s.result.failures},
                           {"interruptions", m.interruptions},
                           {"events", s.result.events},
                           {"usage", bins_json(m.over_time)}});
}

std::string jobs_csv(const JobsSummary& s) {
  std::string out =
      "job,gpus,arrival_s,start_s,end_s,alone_s,waited_s,held_s,slowed_s,redone_s,checkpointing_s,restarting_s,"
      "interruptions,nodes\n";
  for (std::size_t i = 0; i < s.jobs.size(); ++i) {
    const ClusterJob& job = s.jobs[i];
    const JobRecord& r = s.result.records[i];
    fmt::format_to(std::back_inserter(out),
                   "{},{},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},"
                   "{:.9g},{},{}\n",
                   csv_cell(job.name), job.gpus, job.arrival.value(), r.start.value(), r.end.value(), job.alone.value(),
                   r.waited.value(), r.held.value(), r.slowed.value(), r.redone.value(), r.checkpointing.value(),
                   r.restarting.value(), r.interruptions, r.nodes);
  }
  return out;
}

namespace {

std::string point_text(const GoodputPoint& point) {
  return fmt::format("{:.2f} % +- {:.2f} every {}", 100 * point.goodput, 100 * point.half_width,
                     format(point.interval));
}

Json point_json(const GoodputPoint& point) {
  return Json(Json::Object{{"interval_s", point.interval.value()},
                           {"goodput_ratio", point.goodput},
                           {"goodput_half_width_ratio", point.half_width}});
}

}  // namespace

std::string reliability_text(const ReliabilitySummary& s) {
  const CheckpointStudy& study = s.study;
  Lines lines(
      fmt::format("  reliability: {} of training on {} GPUs, {} trials\n", format(s.duration), s.gpus, study.trials));
  lines.add("MTBF", fmt::format("{} of the job; {:.1f} interruptions", format(study.mtbf), study.interruptions));
  lines.add("goodput", fmt::format("{}; ends after {}", point_text(study.chosen), format(study.mean.end)));
  lines.add("lost",
            fmt::format("{} redone, {} in checkpoints, {} in restarts, {} without GPUs", format(study.mean.redone),
                        format(study.mean.checkpointing), format(study.mean.restarting), format(study.mean.waited)));
  lines.add("best", fmt::format("{}; as good from {} to {}", point_text(study.best), format(study.good_from),
                                format(study.good_to)));
  lines.add("Young, Daly", fmt::format("{}, {}", format(study.young), format(study.daly)));
  return lines.take();
}

Json reliability_json(const ReliabilitySummary& s) {
  const CheckpointStudy& study = s.study;
  Json points = Json::array();
  for (const GoodputPoint& point : study.points) points.push(point_json(point));
  return Json(Json::Object{{"gpus", s.gpus},
                           {"duration_s", s.duration.value()},
                           {"steps", s.duration / s.step},
                           {"trials", study.trials},
                           {"mtbf_s", study.mtbf.value()},
                           {"interruptions", study.interruptions},
                           {"end_s", study.mean.end.value()},
                           {"redone_s", study.mean.redone.value()},
                           {"checkpointing_s", study.mean.checkpointing.value()},
                           {"restarting_s", study.mean.restarting.value()},
                           {"waited_s", study.mean.waited.value()},
                           {"chosen", point_json(study.chosen)},
                           {"best", point_json(study.best)},
                           {"as_good_from_s", study.good_from.value()},
                           {"as_good_to_s", study.good_to.value()},
                           {"young_s", study.young.value()},
                           {"daly_s", study.daly.value()},
                           {"points", std::move(points)}});
}

}  // namespace tessera
