// What happened: unions of intervals, a GPU's accounts, and traces as bytes.
#include "sim/trace/trace.hpp"

#include <gtest/gtest.h>

#include "sim/base/error.hpp"
#include "sim/trace/binary.hpp"
#include "sim/trace/intervals.hpp"

namespace tessera {
namespace {

Intervals intervals(const std::vector<std::pair<double, double>>& pairs) {
  Intervals result;
  for (const auto& [start, end] : pairs) result.add(Seconds(start), Seconds(end));
  return result;
}

TEST(IntervalsTest, TouchingOverlappingAndUnorderedOnesBecomeAUnion) {
  const auto merged = intervals({{5, 6}, {0, 1}, {1, 2}, {1.5, 3}, {5.5, 5.7}, {9, 9}}).merged();
  ASSERT_EQ(merged.size(), 2u);
  EXPECT_EQ(merged[0].start, Seconds(0.0));
  EXPECT_EQ(merged[0].end, Seconds(3.0));
  EXPECT_EQ(merged[1].start, Seconds(5.0));
  EXPECT_EQ(merged[1].end, Seconds(6.0));
  EXPECT_EQ(total(merged), Seconds(4.0));
}

TEST(IntervalsTest, OverlapOfTwoUnions) {
  const auto a = intervals({{0, 4}, {6, 8}}).merged(), b = intervals({{1, 2}, {3, 7}, {9, 10}}).merged();
  EXPECT_EQ(overlap(a, b), Seconds(3.0));  // 1-2, 3-4, 6-7
  EXPECT_EQ(overlap(b, a), Seconds(3.0));
  EXPECT_EQ(overlap(a, {}), Seconds(0.0));
}

// Kernels 0-4 and 6-8, collectives 3-7, over at 10: exposed 4-6, idle 8-10.
TEST(GpuUseTest, PartsAddUpToTheMakespan) {
  const GpuUse use = gpu_use(intervals({{0, 4}, {6, 8}}), intervals({{3, 7}}), Seconds(10.0));
  EXPECT_EQ(use.compute_busy, Seconds(6.0));
  EXPECT_EQ(use.communication_busy, Seconds(4.0));
  EXPECT_EQ(use.exposed_communication, Seconds(2.0));
  EXPECT_EQ(use.idle, Seconds(2.0));
}

Trace some_trace() {
  Trace trace;
  trace.makespan = Seconds(0.1);
  trace.tracks = {{"gpu0 compute", 0}, {"", -1}};
  trace.spans = {{1, 2, Seconds(1.0 / 3), Seconds(2.0 / 3)}};
  trace.links = {{"node0/gpu0/nvlink-out", BytesPerSec(4.5e11), Bytes(1e9), Seconds(0.002)}};
  trace.gpus = {{Seconds(1.0), Seconds(2.0), Seconds(3.0), Seconds(4.0), Bytes(5.0)}};
  trace.folded = 8;
  trace.events = 1'000'000'000'000;
  return trace;
}

TEST(BinaryTest, EveryFieldComesBack) {
  const Trace trace = from_bytes(to_bytes(some_trace()));
  EXPECT_EQ(trace.makespan, Seconds(0.1));
  ASSERT_EQ(trace.tracks.size(), 2u);
  EXPECT_EQ(trace.tracks[0].name, "gpu0 compute");
  EXPECT_EQ(trace.tracks[1].gpu, -1);
  ASSERT_EQ(trace.spans.size(), 1u);
  EXPECT_EQ(trace.spans[0].track, 1u);
  EXPECT_EQ(trace.spans[0].task, 2u);
  EXPECT_EQ(trace.spans[0].end, Seconds(2.0 / 3));
  ASSERT_EQ(trace.links.size(), 1u);
  EXPECT_EQ(trace.links[0].name, "node0/gpu0/nvlink-out");
  EXPECT_EQ(trace.links[0].bandwidth, BytesPerSec(4.5e11));
  EXPECT_EQ(trace.links[0].carried, Bytes(1e9));
  EXPECT_EQ(trace.links[0].busy, Seconds(0.002));
  ASSERT_EQ(trace.gpus.size(), 1u);
  EXPECT_EQ(trace.gpus[0].exposed_communication, Seconds(3.0));
  EXPECT_EQ(trace.gpus[0].hbm_carried, Bytes(5.0));
  EXPECT_EQ(trace.folded, 8u);
  EXPECT_EQ(trace.events, 1'000'000'000'000u);
}

TEST(BinaryTest, CutOrLengthenedBytesAreErrors) {
  const std::string bytes = to_bytes(some_trace());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(from_bytes(std::string_view(bytes).substr(0, size)), RunError) << size;
  }
  EXPECT_THROW(from_bytes(bytes + "x"), RunError);
}

}  // namespace
}  // namespace tessera
