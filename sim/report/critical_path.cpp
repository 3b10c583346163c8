#include "sim/report/critical_path.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/report/summary.hpp"
#include "sim/trace/intervals.hpp"

namespace tessera {
namespace {

constexpr Seconds kSameInstant(1e-9);
constexpr std::uint32_t kNoTask = std::numeric_limits<std::uint32_t>::max();

bool same_instant(Seconds a, Seconds b) {
  return max(a - b, b - a) <= kSameInstant;
}

/// What every stage does once, after its passes: no pipeline would be faster there.
bool ends_the_step(const Plan& plan, std::uint32_t task) {
  if (task == kNoTask) return false;
  const Task& work = plan.tasks[task];
  const auto* collective = std::get_if<Collective>(&work.work);
  if (collective == nullptr) return work.phase == Phase::optimizer;
  return collective->over == Dimension::dp || collective->over == Dimension::edp;
}

/// A task on a simulated GPU.
struct Visit {
  std::size_t gpu = 0;
  std::uint32_t task = kNoTask;
};

int program_of(const Plan& plan, std::uint32_t task) {
  int program = 0;
  while (task >= plan.program_end(program)) ++program;
  return program;
}

/// Finds the spans of tasks: GPUs of one program run the same lines in the same order.
class SpanIndex {
 public:
  SpanIndex(const Plan& plan, const Trace& trace) : plan_(plan), trace_(trace), places_(plan.tasks.size()) {
    std::vector<bool> seen(static_cast<std::size_t>(plan.spec.programs()));
    for (std::size_t i = 0; i < trace.spans.size() && trace.tracks[trace.spans[i].track].gpu >= 0;) {
      std::size_t end = i;
      while (end < trace.spans.size() && trace.spans[end].track == trace.spans[i].track) ++end;
      add_line(i, end);
      i = end;
    }
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      const auto program = static_cast<std::size_t>(gpus_[g].program);
      if (!seen[program]) index(gpus_[g]);
      seen[program] = true;
    }
  }

  [[nodiscard]] bool empty() const { return gpus_.empty(); }
  [[nodiscard]] std::size_t gpus() const { return gpus_.size(); }
  [[nodiscard]] int program(std::size_t gpu) const { return gpus_[gpu].program; }
  [[nodiscard]] int stage(std::size_t gpu) const { return plan_.spec.stage_of(gpus_[gpu].program); }
  /// When a stage's first GPU is at its passes: all but messages and what ends the step.
  [[nodiscard]] std::vector<Interval> busy(int stage) const {
    std::size_t home = 0;
    while (this->stage(home) != stage) ++home;
    Intervals intervals;
    for (const Span& span : trace_.spans) {
      if (trace_.tracks[span.track].gpu != gpus_[home].gpu) continue;
      const auto* collective = std::get_if<Collective>(&plan_.tasks[span.task].work);
      if (ends_the_step(plan_, span.task) || (collective != nullptr && is_message(*collective))) continue;
      intervals.add(span.start, span.end);
    }
    return intervals.merged();
  }
  [[nodiscard]] Seconds compute_busy(std::size_t gpu) const {
    const auto use = std::ranges::find(trace_.gpus, gpus_[gpu].gpu, &GpuUse::gpu);
    return use == trace_.gpus.end() ? Seconds() : use->compute_busy;
  }
  [[nodiscard]] bool unfolded() const { return static_cast<int>(gpus_.size()) == plan_.spec.world_size(); }

  [[nodiscard]] const Span& span(const Visit& visit) const {
    const Place& place = places_[visit.task];
    const Span& found = trace_.spans[gpus_[visit.gpu].lines[place.line] + place.position];
    TESSERA_ASSERT(found.task == visit.task, "GPUs of one program run its tasks");
    return found;
  }
  /// Of those of a GPU that is simulated, the first to end last.
  [[nodiscard]] Visit last() const {
    Visit found;
    Seconds end{-1.0};
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      for (const std::size_t after : gpus_[g].ends) {  // lines end with what ends last on them
        const Span& span = trace_.spans[after - 1];
        if (span.end <= end) continue;
        end = span.end;
        found = {g, span.task};
      }
    }
    return found;
  }
  /// The task before it on its line.
  [[nodiscard]] std::optional<Visit> previous(const Visit& visit) const {
    const Place& place = places_[visit.task];
    if (place.position == 0) return {};
    return Visit{visit.gpu, trace_.spans[gpus_[visit.gpu].lines[place.line] + place.position - 1].task};
  }

 private:
  struct Place {
    std::uint32_t line = 0, position = 0;
  };
  struct Gpu {
    std::int32_t gpu = 0;
    int program = 0;
    std::vector<std::size_t> lines{}, ends{};  // in the trace's spans
  };

  void add_line(std::size_t begin, std::size_t end) {
    const std::int32_t gpu = trace_.tracks[trace_.spans[begin].track].gpu;
    if (gpus_.empty() || gpus_.back().gpu != gpu) gpus_.push_back({gpu, program_of(plan_, trace_.spans[begin].task)});
    gpus_.back().lines.push_back(begin);
    gpus_.back().ends.push_back(end);
  }
  void index(const Gpu& gpu) {
    for (std::uint32_t line = 0; line < gpu.lines.size(); ++line)
      for (std::size_t i = gpu.lines[line]; i < gpu.ends[line]; ++i)
        places_[trace_.spans[i].task] = {line, static_cast<std::uint32_t>(i - gpu.lines[line])};
  }

  const Plan& plan_;
  const Trace& trace_;
  std::vector<Gpu> gpus_;
  std::vector<Place> places_;  // by task
};

/// Whom a visit meets: members of its collective, the other side of its message.
class Meetings {
 public:
  Meetings(const Plan& plan, const SpanIndex& spans) : plan_(plan), spans_(spans) {
    for (std::uint32_t t = 0; t < plan.tasks.size(); ++t) {
      const auto* collective = std::get_if<Collective>(&plan.tasks[t].work);
      if (collective == nullptr || !meets_by_number(*collective)) continue;
      if (!is_message(*collective)) {
        const int program = program_of(plan, t);
        sums_[{plan.spec.stage_of(program), collective->message}][program] = t;
        continue;
      }
      auto& [sender, receiver] = sides_[collective->message];
      (collective->receives ? receiver : sender) = t;
    }
    first_.assign(static_cast<std::size_t>(plan.spec.programs()), 0);
    for (std::size_t g = spans.gpus(); g-- > 0;) first_[static_cast<std::size_t>(spans.program(g))] = g;
  }

  [[nodiscard]] std::vector<Visit> of(const Visit& visit) const {
    const auto* collective = std::get_if<Collective>(&plan_.tasks[visit.task].work);
    if (collective == nullptr) return {visit};
    if (is_message(*collective)) return message(visit, *collective);
    const std::map<int, std::uint32_t> tasks = tasks_of(visit, *collective);
    if (!spans_.unfolded()) return together(visit, tasks);
    std::vector<Visit> all;
    for (const Rank rank : plan_.group(static_cast<Rank>(visit.gpu), collective->over))
      all.push_back({static_cast<std::size_t>(rank), tasks.at(plan_.program_of(rank))});
    return all;
  }

 private:
  [[nodiscard]] std::vector<Visit> message(const Visit& visit, const Collective& collective) const {
    const auto [sender, receiver] = sides_.at(collective.message);
    const std::uint32_t other = collective.receives ? sender : receiver;
    if (other == kNoTask) return {visit};
    std::size_t gpu = first_[static_cast<std::size_t>(program_of(plan_, other))];
    if (spans_.unfolded()) gpu += visit.gpu % static_cast<std::size_t>(plan_.spec.ranks_per_program());
    return {visit, {gpu, other}};
  }
  /// A collective's task in each program that takes part.
  [[nodiscard]] std::map<int, std::uint32_t> tasks_of(const Visit& visit, const Collective& collective) const {
    if (!meets_by_number(collective)) return {{spans_.program(visit.gpu), visit.task}};
    return sums_.at({spans_.stage(visit.gpu), collective.message});
  }
  /// Those that stand for members: done at the same time.
  [[nodiscard]] std::vector<Visit> together(const Visit& visit, const std::map<int, std::uint32_t>& tasks) const {
    std::vector<Visit> all;
    for (std::size_t g = 0; g < spans_.gpus(); ++g) {
      const auto task = tasks.find(spans_.program(g));
      if (task == tasks.end()) continue;
      const Visit other{g, task->second};
      if (same_instant(spans_.span(other).end, spans_.span(visit).end)) all.push_back(other);
    }
    return all;
  }

  const Plan& plan_;
  const SpanIndex& spans_;
  std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> sides_;
  std::map<std::pair<int, std::uint32_t>, std::map<int, std::uint32_t>> sums_;  // by stage and number, of each program
  std::vector<std::size_t> first_;                                              // simulated GPU of each program
};

struct PathStep {
  Visit visit;  // task kNoTask: the host
  Seconds start, time;
};

/// The stage that computes longest; of equals, the last.
int busiest_stage(const SpanIndex& spans) {
  std::size_t busiest = 0;
  for (std::size_t g = 1; g < spans.gpus(); ++g)
    if (spans.compute_busy(g) > spans.compute_busy(busiest) - kSameInstant) busiest = g;
  return spans.stage(busiest);
}

class PathFinder {
 public:
  PathFinder(const Plan& plan, const Trace& trace, const SpanIndex& spans)
      : plan_(plan), trace_(trace), spans_(spans), meetings_(plan, spans), busiest_(busiest_stage(spans)) {}

  [[nodiscard]] std::vector<PathStep> walk() const {
    std::vector<PathStep> steps;
    std::optional<Visit> at = spans_.last();
    Seconds until = trace_.makespan;
    while (at) {
      const auto [start, before] = begin(*at);
      steps.push_back({*at, start, until - start});
      until = start;
      if (before && start - spans_.span(*before).end > kSameInstant) {
        const Seconds end = spans_.span(*before).end;
        steps.push_back({{before->gpu, kNoTask}, end, start - end});
        until = end;
      }
      if (!before) steps.push_back({{at->gpu, kNoTask}, Seconds(), start});
      at = before;
    }
    return steps;
  }

 private:
  struct Begin {
    Seconds start;
    std::optional<Visit> before;
  };

  /// When a task really began, and what it had waited for till then.
  [[nodiscard]] Begin begin(const Visit& visit) const {
    Begin result{spans_.span(visit).start, {}};
    const std::vector<Visit> members = meetings_.of(visit);
    for (const Visit& member : members) result.start = max(result.start, spans_.span(member).start);
    const auto consider = [&](const Visit& candidate) {
      const Seconds end = spans_.span(candidate).end;
      if (end > result.start + kSameInstant) return;
      if (!result.before || later(candidate, *result.before)) result.before = candidate;
    };
    consider_waits(visit, consider);
    for (const Visit& member : members)
      if (member.gpu != visit.gpu || member.task != visit.task) consider_waits(member, consider);
    return result;
  }
  /// Of two that end together, the one that is closer to the busiest stage: equal stages have many paths.
  [[nodiscard]] bool later(const Visit& a, const Visit& b) const {
    const Seconds of_a = spans_.span(a).end, of_b = spans_.span(b).end;
    if (!same_instant(of_a, of_b)) return of_a > of_b;
    const auto away = [this](const Visit& visit) {
      int least = plan_.spec.pp;
      for (const Visit& member : meetings_.of(visit))
        least = std::min(least, std::abs(spans_.stage(member.gpu) - busiest_));
      return least;
    };
    return away(a) < away(b);
  }
  template <class Consider>
  void consider_waits(const Visit& visit, const Consider& consider) const {
    if (const auto previous = spans_.previous(visit)) consider(*previous);
    for (const TaskId before : plan_.tasks[visit.task].after) consider({visit.gpu, static_cast<std::uint32_t>(before)});
  }

  const Plan& plan_;
  const Trace& trace_;
  const SpanIndex& spans_;
  Meetings meetings_;
  int busiest_;
};

std::string part_of(const Plan& plan, std::uint32_t task) {
  if (task == kNoTask) return "waiting for the host";
  const Task& work = plan.tasks[task];
  const auto* kernel = std::get_if<KernelId>(&work.work);
  if (kernel == nullptr) return task_name(plan, work);
  const Shape& shape = plan.kernels[static_cast<std::size_t>(*kernel)].shape;
  if (std::holds_alternative<VectorShape>(shape) || std::holds_alternative<MemoryShape>(shape)) return "other kernels";
  return std::holds_alternative<AttentionShape>(shape) ? "attention" : "matrix products";
}

std::vector<PathPart> by_falling_time(const std::map<std::string, Seconds>& sums) {
  std::vector<PathPart> parts;
  for (const auto& [name, time] : sums)
    if (time > Seconds()) parts.push_back({name, time});
  std::ranges::stable_sort(parts, [](const PathPart& a, const PathPart& b) { return a.time > b.time; });
  return parts;
}

}  // namespace

CriticalPath critical_path(const Plan& plan, const Trace& trace) {
  const SpanIndex spans(plan, trace);
  if (spans.empty()) return {};
  const std::vector<PathStep> steps = PathFinder(plan, trace, spans).walk();
  std::vector<Seconds> on_stage(static_cast<std::size_t>(plan.spec.pp));
  for (const PathStep& step : steps)
    if (!ends_the_step(plan, step.visit.task))
      on_stage[static_cast<std::size_t>(spans.stage(step.visit.gpu))] += step.time;
  CriticalPath path;
  path.stage = static_cast<int>(std::ranges::max_element(on_stage) - on_stage.begin());
  const std::vector<Interval> home = spans.busy(path.stage);
  std::map<std::string, Seconds> parts, operators;
  for (const PathStep& step : steps) {
    Seconds time = step.time;
    if (spans.stage(step.visit.gpu) != path.stage && !ends_the_step(plan, step.visit.task)) {
      time = overlap({{step.start, step.start + step.time}}, home);
      parts["pipeline bubble"] += step.time - time;
    }
    parts[part_of(plan, step.visit.task)] += time;
    if (step.visit.task == kNoTask || !std::holds_alternative<KernelId>(plan.tasks[step.visit.task].work)) continue;
    operators[task_name(plan, plan.tasks[step.visit.task])] += time;
  }
  path.parts = by_falling_time(parts);
  path.operators = by_falling_time(operators);
  return path;
}

double speed_up_bound(Seconds step, Seconds part) {
  return step > part ? step / (step - part) : std::numeric_limits<double>::infinity();
}

}  // namespace tessera
