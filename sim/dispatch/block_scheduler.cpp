#include "sim/dispatch/block_scheduler.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/base/error.hpp"

namespace tessera {

namespace {

constexpr double kRegisterBytes = 4;

double registers_of(const BlockFootprint& footprint) {
  return static_cast<double>(footprint.threads) * footprint.registers_per_thread;
}

/// How many of `each` fit into `available`.
int fits(double available, double each, int most) {
  if (each <= 0) return most;
  return static_cast<int>(std::min(std::floor(available / each), static_cast<double>(most)));
}

}  // namespace

SmLimits sm_limits(const GpuSpec& gpu) {
  return {gpu.threads_per_sm, gpu.blocks_per_sm, gpu.registers_per_sm.value() / kRegisterBytes,
          gpu.shared_memory_per_sm};
}

int occupancy(const SmLimits& limits, const BlockFootprint& footprint) {
  int most = std::min(limits.blocks, limits.threads / std::max(footprint.threads, 1));
  most = fits(limits.registers, registers_of(footprint), most);
  return fits(limits.shared_memory.value(), footprint.shared_memory.value(), most);
}

BlockFootprint fitted_footprint(const SmLimits& limits, BlockFootprint footprint, int blocks_per_sm) {
  TESSERA_ASSERT(blocks_per_sm >= 1 && blocks_per_sm <= std::min(limits.blocks, limits.threads),
                 "an SM holds at least one block of a kernel and at most its block slots");
  const double share = 1.0 / blocks_per_sm;
  footprint.threads = std::clamp(footprint.threads, 1, limits.threads / blocks_per_sm);
  footprint.registers_per_thread =
      std::min(footprint.registers_per_thread, static_cast<int>(limits.registers * share / footprint.threads));
  footprint.shared_memory = min(footprint.shared_memory, Bytes(std::floor(limits.shared_memory.value() * share)));
  if (occupancy(limits, footprint) > blocks_per_sm) {  // whole bytes, so that sums stay exact
    footprint.shared_memory = Bytes(std::floor(limits.shared_memory.value() * share));
  }
  return footprint;
}

SmPool::SmPool(int sms, const SmLimits& limits)
    : limits_(limits),
      sms_(static_cast<std::size_t>(sms)),
      room_(static_cast<std::size_t>(sms)),
      given_(static_cast<std::size_t>(sms)) {}

std::vector<SmPool::Placed> SmPool::place(const BlockFootprint& footprint, std::int64_t blocks) {
  const double registers = registers_of(footprint), shared = footprint.shared_memory.value();
  std::int64_t total = 0;
  for (std::size_t s = 0; s < sms_.size(); ++s) {
    const Sm& sm = sms_[s];
    int most = std::min(limits_.blocks - sm.blocks, (limits_.threads - sm.threads) / footprint.threads);
    most = fits(limits_.registers - sm.registers, registers, most);
    room_[s] = fits(limits_.shared_memory.value() - sm.shared_memory, shared, most);
    total += room_[s];
  }
  if (blocks >= total) {
    given_ = room_;
  } else {
    fill_least_loaded(footprint.threads, blocks);
  }
  std::vector<Placed> placed;
  placed.reserve(sms_.size());
  for (std::size_t s = 0; s < sms_.size(); ++s) {
    if (given_[s] == 0) continue;
    placed.push_back({static_cast<std::int32_t>(s), given_[s]});
    take(footprint, static_cast<int>(s), given_[s]);
  }
  return placed;
}

// One block after the other to the least loaded SM means: an SM of load u takes blocks at the levels u, u + t,
// u + 2t, ..., and the lowest levels win. Finds the highest level below which everything is taken.
void SmPool::fill_least_loaded(int threads, std::int64_t blocks) {
  const auto below = [&](std::size_t s, int level) {
    const int gap = level - sms_[s].threads;
    return gap <= 0 ? 0 : std::min(room_[s], (gap + threads - 1) / threads);
  };
  int low = 0, high = limits_.threads + 1;  // everything below `low` fits, not everything below `high`
  while (high - low > 1) {
    const int middle = std::midpoint(low, high);
    std::int64_t taken = 0;
    for (std::size_t s = 0; s < sms_.size(); ++s) taken += below(s, middle);
    (taken <= blocks ? low : high) = middle;
  }
  std::int64_t left = blocks;
  for (std::size_t s = 0; s < sms_.size(); ++s) left -= given_[s] = below(s, low);
  for (std::size_t s = 0; s < sms_.size() && left > 0; ++s) {
    if (given_[s] < room_[s] && sms_[s].threads + given_[s] * threads == low) {
      ++given_[s];
      --left;
    }
  }
}

void SmPool::take(const BlockFootprint& footprint, int sm, int count) {
  Sm& used = sms_[static_cast<std::size_t>(sm)];
  used.blocks += count;
  used.threads += count * footprint.threads;
  used.registers += count * registers_of(footprint);
  used.shared_memory += count * footprint.shared_memory.value();
  resident_ += count;
}

void SmPool::release(const BlockFootprint& footprint, const std::vector<Placed>& placed) {
  for (const Placed& p : placed) take(footprint, p.sm, -p.count);
}

}  // namespace tessera
