// Where blocks go: occupancy by its limits, placement against one block at a time.
#include "sim/dispatch/block_scheduler.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "sim/base/rng.hpp"

namespace tessera {
namespace {

// H100's SM: 2,048 threads, 32 blocks, 65,536 registers, 228 KiB.
const SmLimits kSm{2048, 32, 65536, Bytes(233472.0)};

TEST(OccupancyTest, IsTheTightestLimit) {
  EXPECT_EQ(occupancy(kSm, {1024, 16, Bytes(0.0)}), 2);      // threads: 2048 / 1024
  EXPECT_EQ(occupancy(kSm, {32, 16, Bytes(0.0)}), 32);       // block slots
  EXPECT_EQ(occupancy(kSm, {256, 128, Bytes(0.0)}), 2);      // registers: 65536 / (256 x 128)
  EXPECT_EQ(occupancy(kSm, {128, 32, Bytes(100000.0)}), 2);  // shared memory
  EXPECT_EQ(occupancy(kSm, {1024, 128, Bytes(0.0)}), 0);     // 131,072 registers never fit
  EXPECT_EQ(occupancy(kSm, {128, 32, Bytes(300000.0)}), 0);
}

TEST(OccupancyTest, LimitsComeFromTheDataSheet) {
  GpuSpec gpu;
  gpu.threads_per_sm = 1536;
  gpu.blocks_per_sm = 16;
  gpu.registers_per_sm = Bytes(262144.0);
  gpu.shared_memory_per_sm = Bytes(102400.0);
  const SmLimits limits = sm_limits(gpu);
  EXPECT_EQ(limits.threads, 1536);
  EXPECT_EQ(limits.blocks, 16);
  EXPECT_EQ(limits.registers, 65536);
  EXPECT_EQ(limits.shared_memory, Bytes(102400.0));
}

TEST(FittedFootprintTest, ExactlyAsManyFitAsTheModelSays) {
  Rng rng(3);
  for (int i = 0; i < 2000; ++i) {
    const BlockFootprint any{static_cast<int>(1 + rng.below(1024)), static_cast<int>(1 + rng.below(255)),
                             Bytes(static_cast<double>(rng.below(240000)))};
    const int blocks_per_sm = 1 + static_cast<int>(rng.below(32));
    EXPECT_EQ(occupancy(kSm, fitted_footprint(kSm, any, blocks_per_sm)), blocks_per_sm)
        << any.threads << " " << any.registers_per_thread << " " << any.shared_memory.value() << " " << blocks_per_sm;
  }
}

TEST(FittedFootprintTest, LeavesAloneWhatAgrees) {
  const BlockFootprint footprint{256, 128, Bytes(1000.0)};
  const BlockFootprint fitted = fitted_footprint(kSm, footprint, 2);
  EXPECT_EQ(fitted.threads, 256);
  EXPECT_EQ(fitted.registers_per_thread, 128);
  EXPECT_EQ(fitted.shared_memory, Bytes(1000.0));
}

struct Placed {
  std::int64_t blocks = 0;
  std::vector<int> on_sm{};
};

Placed place(SmPool& pool, const BlockFootprint& footprint, std::int64_t blocks, SmRange range = {}) {
  Placed placed;
  placed.blocks = pool.place(footprint, blocks, range, placed.on_sm);
  return placed;
}

TEST(SmPoolTest, LeastLoadedSmFirstLowestIndexFirst) {
  SmPool pool(3, kSm);
  const BlockFootprint half{1024, 16, Bytes(0.0)}, quarter{512, 16, Bytes(0.0)};
  EXPECT_EQ(place(pool, half, 1).on_sm, (std::vector{1, 0, 0}));
  EXPECT_EQ(place(pool, quarter, 3).on_sm, (std::vector{0, 2, 1}));  // to 1, 2, then 1 again: 512 < 1024
  EXPECT_EQ(place(pool, quarter, 2).on_sm, (std::vector{1, 0, 1}));  // loads 1024, 1024, 512: to 2, then 0
}

TEST(SmPoolTest, PlacesWhatFitsAndTakesItBack) {
  SmPool pool(2, kSm);
  const BlockFootprint half{1024, 16, Bytes(0.0)};
  EXPECT_TRUE(pool.empty());
  const Placed all = place(pool, half, 100);
  EXPECT_EQ(all.blocks, 4);
  EXPECT_EQ(all.on_sm, (std::vector{2, 2}));
  EXPECT_EQ(place(pool, half, 1).blocks, 0);
  EXPECT_EQ(pool.room(half, {}), 0);
  pool.release(half, all.blocks, all.on_sm);
  EXPECT_TRUE(pool.empty());
  EXPECT_EQ(pool.room(half, {}), 4);
  EXPECT_EQ(place(pool, half, 3).on_sm, (std::vector{2, 1}));
}

// An MPS client with a cap keeps to its SMs, around the end.
TEST(SmPoolTest, RangeIsKept) {
  SmPool pool(4, kSm);
  const BlockFootprint half{1024, 16, Bytes(0.0)};
  EXPECT_EQ(place(pool, half, 3, {3, 2}).on_sm, (std::vector{2, 0, 0, 1}));
  EXPECT_EQ(place(pool, half, 9, {3, 2}).on_sm, (std::vector{0, 0, 0, 1}));
  EXPECT_EQ(place(pool, half, 9).on_sm, (std::vector{0, 2, 2, 0}));
}

/// One block at a time, as the hardware does it.
class OneByOne {
 public:
  explicit OneByOne(int sms) : used_(static_cast<std::size_t>(sms)) {}

  std::vector<int> place(const BlockFootprint& footprint, std::int64_t blocks) {
    std::vector<int> on_sm(used_.size());
    for (; blocks > 0; --blocks) {
      std::size_t best = used_.size();
      for (std::size_t s = 0; s < used_.size(); ++s) {
        if (fits(used_[s], footprint) && (best == used_.size() || used_[s].threads < used_[best].threads)) best = s;
      }
      if (best == used_.size()) break;
      add(used_[best], footprint, 1);
      ++on_sm[best];
    }
    return on_sm;
  }
  void release(const BlockFootprint& footprint, const std::vector<int>& on_sm) {
    for (std::size_t s = 0; s < used_.size(); ++s) add(used_[s], footprint, -on_sm[s]);
  }

 private:
  struct Used {
    int threads = 0, blocks = 0, registers = 0;
    double shared = 0;
  };
  static bool fits(const Used& used, const BlockFootprint& f) {
    return used.threads + f.threads <= kSm.threads && used.blocks + 1 <= kSm.blocks &&
           used.registers + f.threads * f.registers_per_thread <= kSm.registers &&
           used.shared + f.shared_memory.value() <= kSm.shared_memory.value();
  }
  static void add(Used& used, const BlockFootprint& f, int count) {
    used.threads += count * f.threads;
    used.blocks += count;
    used.registers += count * f.threads * f.registers_per_thread;
    used.shared += count * f.shared_memory.value();
  }
  std::vector<Used> used_;
};

TEST(SmPoolTest, EqualsPlacingOneBlockAtATime) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const int sms = 1 + static_cast<int>(rng.below(150));
    SmPool pool(sms, kSm);
    OneByOne reference(sms);
    std::vector<std::pair<BlockFootprint, Placed>> resident;
    for (int step = 0; step < 150; ++step) {
      if (!resident.empty() && rng.below(3) == 0) {
        const auto leaving = resident.begin() + rng.below(static_cast<std::uint32_t>(resident.size()));
        pool.release(leaving->first, leaving->second.blocks, leaving->second.on_sm);
        reference.release(leaving->first, leaving->second.on_sm);
        resident.erase(leaving);
        continue;
      }
      const BlockFootprint footprint{static_cast<int>(1 + rng.below(1024)), static_cast<int>(rng.below(128)),
                                     Bytes(static_cast<double>(rng.below(100000)))};
      const auto blocks = std::int64_t{1} + rng.below(static_cast<std::uint32_t>(3 * sms));
      const Placed placed = place(pool, footprint, blocks);
      if (placed.blocks == 0) {
        ASSERT_EQ(reference.place(footprint, blocks), std::vector<int>(static_cast<std::size_t>(sms)));
        continue;
      }
      ASSERT_EQ(placed.on_sm, reference.place(footprint, blocks)) << "seed " << seed << ", step " << step;
      ASSERT_EQ(placed.blocks, std::accumulate(placed.on_sm.begin(), placed.on_sm.end(), std::int64_t{0}));
      resident.emplace_back(footprint, placed);
    }
  }
}

}  // namespace
}  // namespace tessera
