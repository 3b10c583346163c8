#include "sim/graph/allocations.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace tessera {

namespace {

constexpr double kMiB = 1048576;
constexpr double kSmall = 1 * kMiB, kSmallSegment = 2 * kMiB, kMedium = 10 * kMiB, kMediumSegment = 20 * kMiB;

class CachingAllocator {
 public:
  /// Segments that had to be made: 0 or 1.
  int allocate(double bytes) {
    std::multiset<double>& pool = bytes <= kSmall ? small_ : large_;
    const auto block = pool.lower_bound(bytes);
    if (block != pool.end()) {
      const double left = *block - bytes;
      pool.erase(block);
      keep(pool, left);
      return 0;
    }
    keep(pool, segment_for(bytes) - bytes);
    return 1;
  }
  void free(double bytes) { (bytes <= kSmall ? small_ : large_).insert(bytes); }

 private:
  static double segment_for(double bytes) {
    if (bytes <= kSmall) return kSmallSegment;
    return bytes < kMedium ? kMediumSegment : kSmallSegment * std::ceil(bytes / kSmallSegment);
  }
  void keep(std::multiset<double>& pool, double left) {
    if (left > (&pool == &small_ ? 512 : kSmall)) pool.insert(left);
  }
  std::multiset<double> small_, large_;
};

bool saves_result(const Kernel& kernel) {
  switch (kernel.op) {
    case Op::softmax:
    case Op::tanh:
    case Op::relu:
    case Op::attention_prefill:
      return true;
    case Op::memory: {
      const auto& moved = std::get<MemoryShape>(kernel.shape);
      return moved.read == moved.written;  // a copy is there because a product needs it
    }
    default:
      return false;
  }
}

bool saves_input(const Kernel& kernel) {
  switch (kernel.op) {
    case Op::add:
    case Op::addu:
    case Op::mulu:
    case Op::divu:
    case Op::softmax:
    case Op::memory:
      return false;
    default:
      return true;
  }
}

/// The kernels of a program's first forward pass, by task.
std::vector<std::uint32_t> first_forward(const Plan& plan, int program) {
  const int first = program - plan.spec.first_program(plan.spec.stage_of(program));  // a replica's turn
  std::vector<std::uint32_t> tasks;
  for (auto t = static_cast<std::uint32_t>(plan.program_begin(program)); t < plan.program_end(program); ++t) {
    const Task& task = plan.tasks[t];
    if (task.phase == Phase::forward && task.micro_batch == first && std::holds_alternative<KernelId>(task.work))
      tasks.push_back(t);
  }
  return tasks;
}

/// A device has an allocator of its own.
void allocate_program(const Plan& plan, int program, bool training, std::vector<int>& segments) {
  const auto kernel = [&plan](std::uint32_t task) -> const Kernel& {
    return plan.kernels[static_cast<std::size_t>(std::get<KernelId>(plan.tasks[task].work))];
  };
  const std::vector<std::uint32_t> tasks = first_forward(plan, program);
  CachingAllocator allocator;
  std::optional<double> passing;  // the result before, if nothing keeps it
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const double bytes = traffic(kernel(tasks[i])).written.value();
    segments[tasks[i]] = allocator.allocate(bytes);
    if (passing) allocator.free(*passing);
    const bool kept =
        training && (saves_result(kernel(tasks[i])) || (i + 1 < tasks.size() && saves_input(kernel(tasks[i + 1]))));
    passing = kept ? std::nullopt : std::optional(bytes);
  }
}

}  // namespace

std::vector<int> segments_from_empty(const Plan& plan) {
  const bool training = std::ranges::any_of(plan.tasks, [](const Task& task) { return task.phase == Phase::backward; });
  std::vector<int> segments(plan.tasks.size());
  for (int program = 0; program < plan.spec.programs(); ++program) allocate_program(plan, program, training, segments);
  return segments;
}

}  // namespace tessera
