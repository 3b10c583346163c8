#include "sim/des/rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "sim/base/error.hpp"

namespace tessera {

namespace {

bool is_kernel(const Task& task) {
  return std::holds_alternative<KernelId>(task.work);
}

/// Sharded parameters are gathered on a stream of their own, beside the reductions (FSDP).
bool gathers_parameters(const Collective& collective) {
  return collective.kind == CollectiveKind::all_gather &&
         (collective.over == Dimension::dp || collective.over == Dimension::edp);
}

std::string line_name(const Task& task) {
  if (task.stream == StreamKind::compute) return "compute";
  if (is_kernel(task)) return "communication";
  const auto& collective = std::get<Collective>(task.work);
  if (is_message(collective)) {
    const bool next = collective.over == Dimension::next;
    return fmt::format("{} {}", collective.receives ? "receive" : "send", next ? "activations" : "gradients");
  }
  if (gathers_parameters(collective)) return fmt::format("gather {}", to_string(collective.over));
  return fmt::format("communication {}", to_string(collective.over));
}

constexpr std::size_t kLineCodes = 32;

/// As `line_name` tells lines apart, without making the name.
std::size_t line_code(const Task& task) {
  if (task.stream == StreamKind::compute) return 0;
  if (is_kernel(task)) return 1;
  const auto& collective = std::get<Collective>(task.work);
  const bool second = is_message(collective) ? collective.receives : gathers_parameters(collective);
  return 2 + 2 * static_cast<std::size_t>(collective.over) + (second ? 1 : 0);
}

}  // namespace

Program::Program(const Plan& the_plan, const CostTable& costs, const GpuSpec& gpu)
    : plan(the_plan), line_of(the_plan.tasks.size()), observed(the_plan.tasks.size()) {
  for (const KernelCost& cost : costs) kernels.push_back(device_kernel(cost, gpu));
  using Orders = std::vector<std::vector<std::uint32_t>>;
  std::map<std::pair<StreamKind, std::string>, Orders> sorted;
  std::array<Orders*, kLineCodes> known{};
  for (int program = 0; program < plan.spec.programs(); ++program) {
    for (std::size_t t = plan.program_begin(program); t < plan.program_end(program); ++t) {
      const Task& task = plan.tasks[t];
      Orders*& orders = known[line_code(task)];
      if (orders == nullptr) orders = &sorted[{task.stream, line_name(task)}];
      orders->resize(static_cast<std::size_t>(plan.spec.programs()));
      auto& order = (*orders)[static_cast<std::size_t>(program)];
      if (!is_kernel(task) && !order.empty()) observed[order.back()] = true;
      order.push_back(static_cast<std::uint32_t>(t));
      for (const TaskId before : task.after) observed[static_cast<std::size_t>(before)] = true;
    }
  }
  for (auto& [key, orders] : sorted) {
    for (const auto& order : orders) {
      if (!order.empty()) observed[order.back()] = true;
      for (const std::uint32_t t : order) line_of[t] = static_cast<std::uint8_t>(lines.size());
    }
    lines.push_back({key.second, std::move(orders)});
  }
}

RankRun::RankRun(const Stage& stage, Rank rank, std::size_t gpu, GpuDevice& device, double speed)
    : stage_(stage),
      rank_(rank),
      gpu_(gpu),
      device_(device),
      done_(stage.program.plan.tasks.size()),
      positions_(stage.program.lines.size()) {
  if (speed == 1) return;
  own_kernels_ = stage.program.kernels;
  for (DeviceKernel& kernel : own_kernels_) kernel.tile_latency /= speed;
}

const std::vector<std::uint32_t>& RankRun::order(std::size_t line) const {
  return stage_.program.lines[line].orders[static_cast<std::size_t>(stage_.program.plan.program_of(rank_))];
}

void RankRun::start() {
  advance();
}

void RankRun::advance() {
  for (std::size_t line = 0; line < positions_.size(); ++line) advance(line);
}

/// Hands over everything at the head of the line that depends on nothing open any more.
void RankRun::advance(std::size_t line) {
  Position& at = positions_[line];
  const auto& order = this->order(line);
  while (at.next < order.size() && !at.in_collective) {
    const std::uint32_t task = order[at.next];
    if (!ready(task)) return;
    if (const auto* kernel = std::get_if<KernelId>(&stage_.program.plan.tasks[task].work)) {
      std::function<void()> on_done;
      if (stage_.program.observed[task]) {
        on_done = [this, task] {
          done_[task] = true;
          advance();
        };
      }
      device_.submit(static_cast<std::uint32_t>(line),
                     (own_kernels_.empty() ? stage_.program.kernels : own_kernels_)[static_cast<std::size_t>(*kernel)],
                     launched(task), task, std::move(on_done));
    } else {
      if (at.next > 0 && !done_[order[at.next - 1]]) return;
      at.in_collective = true;
      if (const Seconds date = launched(task); date > stage_.engine.now()) {
        stage_.engine.at(date, [this, line, task] { join(line, task); });
      } else {
        join(line, task);
      }
    }
    ++at.next;
  }
}

Seconds RankRun::launched(std::uint32_t task) const {
  const Plan& plan = stage_.program.plan;
  return stage_.host.launched(task, plan.program_begin(plan.program_of(rank_))) + host_behind_;
}

/// Everything on other lines that it waits for has ended; its own line runs in order anyway.
bool RankRun::ready(std::uint32_t task) const {
  const auto& line_of = stage_.program.line_of;
  return std::ranges::all_of(stage_.program.plan.tasks[task].after, [&](TaskId before) {
    const auto b = static_cast<std::uint32_t>(before);
    return done_[b] || (b < task && line_of[b] == line_of[task]);
  });
}

void RankRun::join(std::size_t line, std::uint32_t task) {
  const Task& work = stage_.program.plan.tasks[task];
  const auto& collective = std::get<Collective>(work.work);
  const std::uint32_t group = stage_.routing.group_of(sender_of(collective), collective);
  Collectives::Began began;
  if (stage_.collectives_take_sms) {
    began = [this, line](const Occupation& some) {
      positions_[line].taken = some;
      device_.occupy(some, 1);
    };
  }
  const auto ended = [this, line, task, joined = stage_.engine.now(),
                      message = is_message(collective)](Seconds started) {
    if (stage_.collectives_take_sms) device_.occupy(positions_[line].taken, -1);
    // A receive is posted long before its message comes: waiting for that is no communication.
    stage_.recorder.task(gpu_, line, task, false, message ? started : joined, stage_.engine.now());
    if (message && stage_.synchronous_messages) host_behind_ += max(Seconds(0), stage_.engine.now() - launched(task));
    done_[task] = true;
    positions_[line].in_collective = false;
    advance();
  };
  stage_.collectives.join(group, task, ended, std::move(began));
}

/// Whose message it is; otherwise the rank itself.
Rank RankRun::sender_of(const Collective& collective) const {
  if (!collective.receives) return rank_;
  const Plan& plan = stage_.program.plan;
  const Dimension back = collective.over == Dimension::next ? Dimension::previous : Dimension::next;
  return plan.group(rank_, back, collective.away).back();
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
  for (std::size_t line = 0; line < positions_.size(); ++line) {
    const Position& at = positions_[line];
    const auto& order = this->order(line);
    if (at.next == order.size() && (order.empty() || done_[order.back()])) continue;
    if (at.in_collective || (at.next == order.size())) {
      lines.push_back(
          fmt::format("rank {}: {} never ended", static_cast<std::uint32_t>(rank_), name_of(order[at.next - 1])));
    } else {
      lines.push_back(why_stuck(order[at.next]));
    }
  }
  return lines;
}

}  // namespace tessera
