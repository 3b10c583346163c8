#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/text.hpp"
#include "sim/report/outputs.hpp"

namespace tessera {
namespace {

constexpr int kOperatorsShown = 5;
constexpr int kBarWidth = 40;
constexpr std::size_t kWidth = 100;

/// 12345678 -> "12,345,678".
std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  for (auto i = static_cast<int>(digits.size()) - 3; i > 0; i -= 3) digits.insert(static_cast<std::size_t>(i), 1, ',');
  return digits;
}

/// One decimal where there are few digits before it.
std::string amount(double value) {
  return std::abs(value) < 100 ? fmt::format("{:.1f}", value) : grouped(value);
}

std::string percent(double ratio) {
  return fmt::format("{:.1f} %", 100 * ratio);
}

/// "204 - 319 ms": the unit once where both ends share it.
std::string band(const std::string& low, const std::string& high) {
  const auto unit = low.find(' '), other = high.find(' ');
  const bool shared = unit != std::string::npos && other != std::string::npos && low.substr(unit) == high.substr(other);
  return (shared ? low.substr(0, unit) : low) + " - " + high;
}

template <class Q>
std::string band(const Estimate<Q>& e) {
  return band(format(e.p10), format(e.p90));
}

/// Breaks at spaces so that no line is longer than the table, continued at `indent`.
std::string wrapped(std::string text, std::size_t indent) {
  std::size_t start = 0;
  while (text.size() - start > kWidth) {
    const std::size_t space = text.rfind(' ', start + kWidth);
    if (space == std::string::npos || space <= start + indent) break;
    text.replace(space, 1, "\n" + std::string(indent, ' '));
    start = space + 1;
  }
  return text;
}

class Lines {
 public:
  template <class... Args>
  void add(fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), text, std::forward<Args>(args)...);
    while (!text_.empty() && text_.back() == ' ') text_.pop_back();
    text_ += '\n';
  }
  void title(std::string_view text) { add("\n{}", text); }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// Samples of one token are images, or the like.
bool counts_samples(const Summary& s) {
  return s.sequence == 1;
}
std::string_view item(const Summary& s) {
  return counts_samples(s) ? "sample" : "token";
}
std::string_view inference(const Summary& s) {
  return counts_samples(s) ? "inference" : "prefill";
}

/// What is not as a plain plan has it.
std::string plan_in_words(const ParallelSpec& p) {
  std::vector<std::string> words;
  const auto say = [&words](bool there, std::string text) {
    if (there) words.push_back(std::move(text));
  };
  constexpr std::array<std::string_view, 4> kRecomputed{"", "selective", "operators", "full"};
  say(p.cp > 1, fmt::format("cp {}", p.cp));
  say(p.ep > 1, fmt::format("ep {}", p.ep));
  say(p.ep > 1 && p.expert_load != 1, fmt::format("expert load {}", p.expert_load));
  say(p.chunks > 1, fmt::format("{} chunks a GPU", p.chunks));
  say(p.schedule == PipelineSchedule::gpipe, "GPipe");
  say(p.schedule == PipelineSchedule::zero_bubble, "zero bubble (ZB-H1)");
  say(p.sharding != Sharding::none, fmt::format("sharding zero{}", static_cast<int>(p.sharding)));
  say(p.recompute != Recompute::none, fmt::format("recompute {}", kRecomputed[static_cast<std::size_t>(p.recompute)]));
  say(p.sequence_parallel, "sequence parallel");
  say(p.asynchronous_tp, "asynchronous tp");
  say(!p.overlap, "no overlap");
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string stages_text(const ParallelSpec& p) {
  if (!p.stage_replicas.empty()) return fmt::format(" x stage_replicas {}", fmt::join(p.stage_replicas, " + "));
  return p.pp > 1 ? fmt::format(" x pp {}", p.pp) : "";
}

void add_heading(Lines& out, const Summary& s) {
  out.add("{} / {}", s.scenario, s.run);
  out.add("{}",
          wrapped(fmt::format("  {} {}, {}, {} {}", s.model, s.training ? "training" : inference(s), to_string(s.dtype),
                              counts_samples(s) ? fmt::format("{} samples", s.samples_per_step)
                                                : fmt::format("{} x {} tokens", s.samples_per_step, s.sequence),
                              s.training ? "a step" : "a batch"),
                  2));
  const std::int64_t micro_batches = s.parallel.micro_batches;
  const std::string more = plan_in_words(s.parallel);
  out.add("{}", wrapped(fmt::format("  {} x {}{}: tp {} x dp {}{}, {} micro-batch{} of {} per replica", s.gpus, s.gpu,
                                    s.platform == s.gpu ? "" : " in " + s.platform, s.parallel.tp, s.parallel.dp,
                                    stages_text(s.parallel), micro_batches, micro_batches == 1 ? "" : "es",
                                    s.samples_per_step / (micro_batches * s.parallel.dp)),
                        2));
  if (!more.empty()) out.add("{}", wrapped("  " + more, 2));
}

void add_results(Lines& out, const Summary& s) {
  const auto row = [&out](std::string_view name, const std::string& p50, const std::string& range,
                          std::string_view from) { out.add("  {:<18}{:>14}{:>24}   {}", name, p50, range, from); };
  const auto numbers = [&row](std::string_view name, const Estimate<double>& e, std::string_view from) {
    row(name, amount(e.p50), band(amount(e.p10), amount(e.p90)), from);
  };
  const auto fitted = to_string(s.provenance), physics = to_string(Provenance::closed_form);
  out.add("");
  row("", "p50", "p10 - p90", "from");
  row(s.training ? "step time" : fmt::format("{} time", inference(s)), format(s.step_time.p50), band(s.step_time),
      fitted);
  numbers(fmt::format("{}s/s", item(s)), s.tokens_per_second, fitted);
  numbers(fmt::format("{}s/s/GPU", item(s)), s.tokens_per_second_per_gpu, fitted);
  row("MFU", percent(s.mfu_ratio.p50), band(percent(s.mfu_ratio.p10), percent(s.mfu_ratio.p90)), fitted);
  row("energy", format(s.energy.total.p50), band(s.energy.total), physics);
  Estimate<Joules> per_token = s.energy.total;
  per_token *= 1.0 / static_cast<double>(s.tokens_per_step);
  row(fmt::format("energy/{}", item(s)), format(per_token.p50), band(per_token), physics);
  out.add("{}", wrapped(fmt::format("  MFU counts {} a {} against {} x {} ({}, dense): {}", format(s.model_flops),
                                    s.training ? "step" : "batch", s.gpus, format(s.peak), to_string(s.dtype),
                                    flop_convention(s.training)),
                        2));
  if (s.extrapolated_ratio > 0.0005)
    out.add("  {} of the compute time lies outside what the latency model was fitted on: trust it less",
            percent(s.extrapolated_ratio));
}

void add_time_split(Lines& out, const Summary& s) {
  out.title("Where the time goes, on the busiest GPU");
  const auto row = [&](std::string_view name, Seconds time) {
    const double ratio = time / s.step_time.p50;
    out.add("  {:<24}{:>10}{:>10}   {}", name, format(time), percent(ratio),
            std::string(static_cast<std::size_t>(std::lround(ratio * kBarWidth)), '#'));
  };
  row("compute", s.compute);
  row("exposed communication", s.exposed_communication);
  row("idle", s.idle);
}

/// At most these of the path's parts, and none that would not show.
constexpr int kPartsShown = 6, kPathOperatorsShown = 12;
constexpr double kLeastPart = 0.005;

void add_parts(Lines& out, const Summary& s, const std::vector<PathPart>& parts, int shown) {
  out.add("  {:<42}{:>10}{:>10}   {}", "", "time", "of step", "speed-up if it cost nothing");
  for (const PathPart& part : parts) {
    const double ratio = part.time / s.step_time.p50;
    const double bound = speed_up_bound(s.step_time.p50, part.time);
    if (shown-- == 0 || ratio < kLeastPart) break;
    out.add("  {:<42}{:>10}{:>10}   {}", part.name.substr(0, 41), format(part.time), percent(ratio),
            std::isfinite(bound) ? fmt::format("at most {:.2f}x", bound) : std::string("no bound"));
  }
}

void add_path(Lines& out, const Summary& s) {
  if (s.path.parts.empty()) return;
  out.title(s.parallel.pp > 1 ? fmt::format("Critical path, at home on stage {} of {}", s.path.stage + 1, s.parallel.pp)
                              : std::string("Critical path"));
  add_parts(out, s, s.path.parts, kPartsShown);
}

void add_operators(Lines& out, const Summary& s) {
  const auto shown = std::min<std::size_t>(kOperatorsShown, s.operators.size());
  out.title(fmt::format("The {} operators that cost most, {}", shown,
                        s.parallel.pp > 1 ? fmt::format("summed over a GPU of each of the {} stages", s.parallel.pp)
                                          : std::string("per GPU")));
  out.add("  {:<41}{:>7}{:>9}{:>18}{:>8}   {}", "", "calls", "p50", "p10 - p90", "of step", "from");
  for (std::size_t i = 0; i < shown; ++i) {
    const OperatorShare& op = s.operators[i];
    out.add("  {:<41}{:>7}{:>9}{:>18}{:>8}   {}", op.name.substr(0, 40), grouped(static_cast<double>(op.calls)),
            format(op.time.p50), band(op.time), percent(op.share_ratio), to_string(op.provenance));
  }
}

void add_memory(Lines& out, const Summary& s) {
  const Bytes total = s.memory.total();
  out.title(fmt::format("Memory per GPU: {} of {} ({})", format(total), format(s.memory_capacity),
                        percent(total / s.memory_capacity)));
  for (const MemoryComponent& c : s.memory.components)
    if (c.size > Bytes())
      out.add("{}", wrapped(fmt::format("  {:<14}{:>10}   {}", c.name, format(c.size), c.formula), 29));
}

}  // namespace

std::string text_report(const Summary& s) {
  Lines out;
  add_heading(out, s);
  add_results(out, s);
  add_time_split(out, s);
  add_path(out, s);
  add_operators(out, s);
  add_memory(out, s);
  out.title(s.busiest_link.empty() ? "Busiest link: none, nothing leaves the GPU"
                                   : wrapped(fmt::format("Busiest link: {}, carrying {} of what it could",
                                                         s.busiest_link, percent(s.busiest_link_ratio)),
                                             2));
  out.add("Device memory: {} of its bandwidth on average", percent(s.hbm_ratio));
  out.add("Energy: kernels {}, idle GPUs {}, hosts {}; {} a GPU on average", format(s.energy.kernels),
          format(s.energy.idle_gpus), format(s.energy.hosts),
          format((s.energy.kernels + s.energy.idle_gpus) / s.gpus / s.step_time.p50));
  return out.take();
}

std::string explain_text(const Summary& s) {
  Lines out;
  out.add("{}", wrapped(fmt::format("Folding: {}", s.folding), 2));
  if (!s.path.operators.empty()) {
    out.title("Kernels on the critical path");
    add_parts(out, s, s.path.operators, kPathOperatorsShown);
  }
  out.add("");
  return out.take();
}

}  // namespace tessera
