#include "sim/des/rank.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.hpp"

namespace tessera {

namespace {

bool is_kernel(const Task& task) {
  return std::holds_alternative<KernelId>(task.work);
}

}  // namespace

Program::Program(const Plan& the_plan, const CostTable& costs, const GpuSpec& gpu)
    : plan(the_plan), observed(the_plan.tasks.size()) {
  for (const KernelCost& cost : costs) kernels.push_back(device_kernel(cost, gpu));
  for (std::uint32_t t = 0; t < plan.tasks.size(); ++t) {
    const Task& task = plan.tasks[t];
    std::vector<std::uint32_t>& stream = order[static_cast<std::size_t>(task.stream)];
    if (!is_kernel(task) && !stream.empty()) observed[stream.back()] = true;
    stream.push_back(t);
    for (const TaskId before : task.after) observed[static_cast<std::size_t>(before)] = true;
  }
  for (const auto& stream : order) {
    if (!stream.empty()) observed[stream.back()] = true;
  }
}

RankRun::RankRun(Stage stage, Rank rank, std::size_t gpu, GpuDevice& device)
    : stage_(stage), rank_(rank), gpu_(gpu), device_(device), done_(stage.program.plan.tasks.size()) {}

void RankRun::start() {
  advance();
}

void RankRun::advance() {
  for (std::size_t stream = 0; stream < kStreamKinds; ++stream) advance(stream);
}

/// Hands over everything at the head of the stream that depends on nothing open any more.
void RankRun::advance(std::size_t stream) {
  Line& line = lines_[stream];
  const auto& order = stage_.program.order[stream];
  while (line.next < order.size() && !line.in_collective) {
    const std::uint32_t task = order[line.next];
    if (!ready(task)) return;
    if (const auto* kernel = std::get_if<KernelId>(&stage_.program.plan.tasks[task].work)) {
      std::function<void()> on_done;
      if (stage_.program.observed[task]) {
        on_done = [this, task] {
          done_[task] = true;
          advance();
        };
      }
      device_.submit(static_cast<std::uint32_t>(stream), stage_.program.kernels[static_cast<std::size_t>(*kernel)],
                     stage_.host.launched(task), task, std::move(on_done));
    } else {
      if (line.next > 0 && !done_[order[line.next - 1]]) return;
      line.in_collective = true;
      stage_.engine.at(stage_.host.launched(task), [this, stream, task] { join(stream, task); });
    }
    ++line.next;
  }
}

/// Everything on other streams that it waits for has ended; its own stream runs in order anyway.
bool RankRun::ready(std::uint32_t task) const {
  const auto& tasks = stage_.program.plan.tasks;
  return std::ranges::all_of(tasks[task].after, [&](TaskId before) {
    const auto b = static_cast<std::uint32_t>(before);
    return done_[b] || (b < task && tasks[b].stream == tasks[task].stream);
  });
}

void RankRun::join(std::size_t stream, std::uint32_t task) {
  const Task& work = stage_.program.plan.tasks[task];
  const auto& collective = std::get<Collective>(work.work);
  const std::uint32_t group = stage_.routing.group_of(rank_, collective.over, spread_of(collective.kind));
  stage_.collectives.join(group, task, [this, stream, task, start = stage_.engine.now()] {
    stage_.recorder.task(gpu_, stage_.program.plan.tasks[task].stream, task, false, start, stage_.engine.now());
    done_[task] = true;
    lines_[stream].in_collective = false;
    advance();
  });
}

std::string RankRun::name_of(std::uint32_t task) const {
  const Plan& plan = stage_.program.plan;
  const Task& t = plan.tasks[task];
  return fmt::format("'{}' (task {})", plan.names[t.name], task);
}

std::string RankRun::why_stuck(std::uint32_t task) const {
  for (const TaskId before : stage_.program.plan.tasks[task].after) {
    const auto b = static_cast<std::uint32_t>(before);
    if (!done_[b])
      return fmt::format("rank {}: {} waits for {}", static_cast<std::uint32_t>(rank_), name_of(task), name_of(b));
  }
  return fmt::format("rank {}: {} waits for its turn", static_cast<std::uint32_t>(rank_), name_of(task));
}

std::vector<std::string> RankRun::stuck() const {
  std::vector<std::string> lines;
  for (std::size_t stream = 0; stream < kStreamKinds; ++stream) {
    const Line& line = lines_[stream];
    const auto& order = stage_.program.order[stream];
    if (order.empty() || (line.next == order.size() && done_[order.back()])) continue;
    if (line.in_collective || (line.next == order.size())) {
      lines.push_back(
          fmt::format("rank {}: {} never ended", static_cast<std::uint32_t>(rank_), name_of(order[line.next - 1])));
    } else {
      lines.push_back(why_stuck(order[line.next]));
    }
  }
  return lines;
}

}  // namespace tessera
