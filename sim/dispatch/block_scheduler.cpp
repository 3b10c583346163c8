#include "sim/dispatch/block_scheduler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/error.hpp"

namespace tessera {

namespace {

double registers_of(const BlockFootprint& footprint) {
  return static_cast<double>(footprint.threads) * footprint.registers_per_thread;
}

}  // namespace

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
    : sms_(static_cast<std::size_t>(sms)),
      limit_{static_cast<double>(limits.threads), static_cast<double>(limits.blocks), limits.registers,
             limits.shared_memory.value()},
      room_(sms_),
      level_(sms_) {
  for (auto& used : used_) used.resize(sms_);
}

SmPool::Amounts SmPool::needs(const BlockFootprint& footprint) {
  return {static_cast<double>(footprint.threads), 1.0, registers_of(footprint), footprint.shared_memory.value()};
}

/// How many blocks every SM of the range has room for. Multiplies by the reciprocal, so that the compiler can take
/// several SMs at once; the slack is far above its rounding and far below one part in the amounts, which are whole
/// numbers.
std::int64_t SmPool::find_room(const Amounts& need, SmRange range) {
  constexpr double kSlack = 1e-9;
  int* const room = room_.data();
  const double slots = limit_[kBlocks];
  const double* const taken = used_[kBlocks].data();
  for (std::size_t s = 0; s < sms_; ++s) room[s] = static_cast<int>(slots - taken[s]);
  for (const std::size_t r : {kThreads, kRegisters, kSharedMemory}) {
    if (need[r] <= 0) continue;
    const double each = 1 / need[r], limit = limit_[r];
    const double* const used = used_[r].data();
    for (std::size_t s = 0; s < sms_; ++s)
      room[s] = std::min(room[s], static_cast<int>((limit - used[s]) * each + kSlack));
  }
  if (range.count > 0) {
    const int all = static_cast<int>(sms_);
    for (int s = 0; s < all; ++s) {
      if ((s - range.begin + all) % all >= range.count) room[s] = 0;
    }
  }
  int total = 0;  // at most SMs x 2,048 threads
  for (std::size_t s = 0; s < sms_; ++s) total += room[s];
  return total;
}

std::int64_t SmPool::room(const BlockFootprint& footprint, SmRange range) {
  return find_room(needs(footprint), range);
}

std::int64_t SmPool::place(const BlockFootprint& footprint, std::int64_t blocks, SmRange range,
                           std::vector<int>& on_sm) {
  const Amounts need = needs(footprint);
  const std::int64_t total = find_room(need, range);
  if (total == 0) return 0;
  if (blocks >= total) {
    blocks = total;
    on_sm = room_;
  } else if (resident_ == 0 && range.count == 0) {  // one after the other around all SMs
    on_sm.resize(sms_);
    const auto each = static_cast<int>(blocks / static_cast<std::int64_t>(sms_));
    const auto more = static_cast<std::ptrdiff_t>(blocks % static_cast<std::int64_t>(sms_));
    std::fill(on_sm.begin(), on_sm.begin() + more, each + 1);
    std::fill(on_sm.begin() + more, on_sm.end(), each);
  } else {
    on_sm.resize(sms_);
    fill_least_loaded(need[kThreads], blocks, on_sm);
  }
  take(need, blocks, on_sm, 1);
  return blocks;
}

// One block after the other to the least loaded SM: those at the lowest level get one each, in order, then those at the
// next. There are few levels, for what runs together has few sizes.
void SmPool::fill_least_loaded(double threads, std::int64_t blocks, std::vector<int>& on_sm) {
  constexpr double kFull = std::numeric_limits<double>::infinity();
  const double* const load = used_[kThreads].data();
  double* const level = level_.data();
  int* const placed = on_sm.data();
  for (std::size_t s = 0; s < sms_; ++s) {
    level[s] = room_[s] > 0 ? load[s] : kFull;
    placed[s] = 0;
  }
  for (std::int64_t left = blocks; left > 0;) {
    double lowest = kFull;
    for (std::size_t s = 0; s < sms_; ++s) lowest = level[s] < lowest ? level[s] : lowest;
    for (std::size_t s = 0; s < sms_ && left > 0; ++s) {
      if (level[s] != lowest) continue;
      --left;
      level[s] = ++placed[s] < room_[s] ? level[s] + threads : kFull;
    }
  }
}

void SmPool::take(const Amounts& need, std::int64_t blocks, const std::vector<int>& on_sm, int sign) {
  const int* const placed = on_sm.data();
  for (std::size_t r = 0; r < kResources; ++r) {
    if (need[r] <= 0) continue;
    const double each = sign * need[r];
    double* const used = used_[r].data();
    for (std::size_t s = 0; s < sms_; ++s) used[s] += placed[s] * each;
  }
  resident_ += sign * blocks;
}

void SmPool::release(const BlockFootprint& footprint, std::int64_t blocks, const std::vector<int>& on_sm) {
  take(needs(footprint), blocks, on_sm, -1);
}

}  // namespace tessera
