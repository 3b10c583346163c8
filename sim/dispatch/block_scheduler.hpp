// The hardware's block scheduler as a value: which SM gets which block when. No clock, no SimGrid.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/kernel_cost.hpp"
#include "models/occupancy.hpp"
#include "sim/cluster/gpu.hpp"

namespace tessera {

/// A footprint of which exactly `blocks_per_sm` fit: where a latency model's occupancy and its footprint disagree,
/// the occupancy wins, because the kernel's time was derived from it.
BlockFootprint fitted_footprint(const SmLimits& limits, BlockFootprint footprint, int blocks_per_sm);

/// SMs that a process may use: `count` of them from `begin` on, around the end; none: all.
struct SmRange {
  int begin = 0, count = 0;
};

/// Free resources of every SM. A block goes to the least loaded SM (by threads) that has room, lowest index first
/// (papers: Amert et al. RTSS 2017; Olmedo et al. RTAS 2020).
class SmPool {
 public:
  SmPool(int sms, const SmLimits& limits);

  /// Places up to `blocks` blocks, as many as fit, and says how many; `on_sm`: how many of them on every SM.
  std::int64_t place(const BlockFootprint& footprint, std::int64_t blocks, SmRange range, std::vector<int>& on_sm);
  void release(const BlockFootprint& footprint, std::int64_t blocks, const std::vector<int>& on_sm);
  /// How many blocks have room now.
  std::int64_t room(const BlockFootprint& footprint, SmRange range);
  /// True if nothing runs anywhere.
  [[nodiscard]] bool empty() const { return resident_ == 0; }

 private:
  enum Resource : std::size_t { kThreads, kBlocks, kRegisters, kSharedMemory, kResources };
  using Amounts = std::array<double, kResources>;
  static Amounts needs(const BlockFootprint& footprint);
  std::int64_t find_room(const Amounts& need, SmRange range);
  void fill_least_loaded(double threads, std::int64_t blocks, std::vector<int>& on_sm);
  void take(const Amounts& need, std::int64_t blocks, const std::vector<int>& on_sm, int sign);

  std::size_t sms_;
  Amounts limit_;
  std::array<std::vector<double>, kResources> used_;  // per SM
  std::int64_t resident_ = 0;
  std::vector<int> room_;      // scratch of place(), per SM
  std::vector<double> level_;  // threads, the same
};

}  // namespace tessera
