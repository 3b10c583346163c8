// Closed forms of ring collectives (Thakur et al. 2005), with nccl-tests' meaning of bytes.
#include "models/collectives/ring.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(RingTest, StepsAndBytesOfEveryKind) {
  const Bytes bytes(8e6);
  EXPECT_EQ(ring_steps(CollectiveKind::all_reduce, 8), 14);
  EXPECT_EQ(ring_bytes_per_rank(CollectiveKind::all_reduce, 8, bytes), Bytes(14e6));
  for (const auto kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_to_all}) {
    EXPECT_EQ(ring_steps(kind, 8), 7);
    EXPECT_EQ(ring_bytes_per_rank(kind, 8, bytes), Bytes(7e6));
  }
  EXPECT_EQ(ring_steps(CollectiveKind::send_recv, 8), 1);
  EXPECT_EQ(ring_bytes_per_rank(CollectiveKind::send_recv, 8, bytes), bytes);
}

// 14 MB at 100 GB/s and 14 steps of 2 us.
TEST(RingTest, TimeIsBytesOverBandwidthAndStepsOfLatency) {
  EXPECT_DOUBLE_EQ(ring_time(CollectiveKind::all_reduce, 8, Bytes(8e6), BytesPerSec(100e9), Seconds(2e-6)).value(),
                   14e6 / 100e9 + 14 * 2e-6);
}

TEST(RingTest, AllReduceIsAReduceScatterAndAnAllGather) {
  for (int n = 2; n < 20; ++n) {
    const auto time = [&](CollectiveKind kind) {
      return ring_time(kind, n, Bytes(1e8), BytesPerSec(4e11), Seconds(1e-6)).value();
    };
    EXPECT_NEAR(time(CollectiveKind::all_reduce),
                time(CollectiveKind::reduce_scatter) + time(CollectiveKind::all_gather), 1e-15);
  }
}

TEST(RingTest, AloneThereIsNothingToDo) {
  EXPECT_EQ(ring_time(CollectiveKind::all_reduce, 1, Bytes(1e9), BytesPerSec(1e9), Seconds(1.0)), Seconds(0.0));
}

}  // namespace
}  // namespace tessera
