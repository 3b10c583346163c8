// Timelines of the papers that found the dispatch rules by experiment, derived by hand from the rules. The launches
// are facts from UNC's cuda_scheduling_examiner (scenario names are its own); every kernel spins for a fixed time, so
// no memory is involved. 2 SMs of 2,048 threads unless said otherwise: four blocks of 1,024 or eight of 512.
//
// Rules (Amert et al., RTSS 2017; Bakita and Anderson, RTAS 2023): a kernel enters the queue of its priority when it
// is at the head of its stream; only the head of a queue places blocks, and only if all more urgent queues are empty;
// it leaves when its last block is placed; running blocks are not preempted.
#include <gtest/gtest.h>

#include "tests/unit/des/bench_gpu.hpp"

namespace tessera {
namespace {

struct Launch {
  std::uint32_t stream;
  int priority;
  int blocks, threads;
  double spin, release;
  double starts, ends;  // expected, seconds
};

struct Timeline {
  const char* name;
  int sms;
  std::vector<Launch> launches;
};

// figure 4: K1 and K2 fill the GPU; K3 and K4 come at 0.25 and start when both end.
// figure 5: J1 holds one of eight slots until 1. J2 places 7 of 16 at 0.25, one at 1, 7 at 1.25 and its last at 2; only
//   then may J3 go, and the next slots fall free at 2.25.
// figure 6: K1 leaves 512 threads free on one SM; K2 needs 1,024 and holds up K3 behind it in its stream.
// figure 7: K3 is queued before stream 1's K2 gets to the head of its stream; it takes the whole GPU at 0.5.
// figure 8: six blocks of 512 leave 512 threads on each SM: the block of 1,024 waits for all of them.
// figure 9: the same the other way round: all six fit beside the block of 1,024.
// starve: K2 and K3 are more urgent and keep K1's second half waiting until both are placed and done.
// preemption: urgent K3 goes before K1's second half and all of K2, whose stream has the default priority, the lowest.
// cut ahead: K3 comes last and overtakes K2 and the second half of K1.
// lower priority cut: seven kernels of 512 leave 512 threads. K8 is urgent and needs 1,024, which fall free on one SM
//   when K2 ends at 1.1; K9 would fit at 0.7 but has to wait for K8 to be placed.
// titan V: K1 fills all 80 SMs but for its last block. K2 and K4 run with it, K3 is behind K1 in its stream.
const std::vector<Timeline> kTimelines{
    {"ospert_2017_figure_4",
     2,
     {{0, 0, 2, 1024, 0.5, 0, 0, 0.5},
      {1, 0, 2, 1024, 0.5, 0, 0, 0.5},
      {2, 0, 2, 1024, 0.5, 0.25, 0.5, 1},
      {3, 0, 2, 1024, 0.5, 0.25, 0.5, 1}}},
    {"ospert_2017_figure_5",
     2,
     {{0, 0, 1, 512, 1, 0, 0, 1}, {1, 0, 16, 512, 1, 0.25, 0.25, 3}, {2, 0, 1, 512, 0.5, 0.5, 2.25, 2.75}}},
    {"ospert_2017_figure_6",
     2,
     {{0, 0, 7, 512, 0.5, 0, 0, 0.5}, {1, 0, 1, 1024, 0.5, 0.25, 0.5, 1}, {1, 0, 1, 256, 0.5, 0.25, 1, 1.5}}},
    {"ospert_2017_figure_7",
     2,
     {{0, 0, 7, 512, 0.5, 0, 0, 0.5}, {0, 0, 7, 512, 0.5, 0, 1, 1.5}, {1, 0, 4, 1024, 0.5, 0.25, 0.5, 1}}},
    {"ospert_2017_figure_8", 2, {{0, 0, 6, 512, 1, 0, 0, 1}, {1, 0, 1, 1024, 1, 0.25, 1, 2}}},
    {"ospert_2017_figure_9", 2, {{0, 0, 6, 512, 1, 0.25, 0.25, 1.25}, {1, 0, 1, 1024, 1, 0, 0, 1}}},
    {"rtss_2017_fig6_stream_priority_starve",
     2,
     {{0, 0, 8, 1024, 0.5, 0, 0, 5}, {1, -1, 16, 1024, 0.5, 0.2, 0.5, 2.5}, {2, -1, 16, 1024, 0.5, 0.5, 2.5, 4.5}}},
    {"rtss_2017_fig7_stream_priority_preemption",
     2,
     {{0, 0, 8, 1024, 0.5, 0, 0, 2},
      {1, 0, 8, 1024, 0.5, 0.2, 2, 3},
      {2, -1, 8, 1024, 0.5, 0.3, 0.5, 1.5},
      {3, 0, 8, 1024, 0.5, 1.2, 3, 4}}},
    {"stream_priority_cut_ahead",
     2,
     {{0, 0, 8, 1024, 0.5, 0, 0, 2}, {1, 0, 8, 1024, 0.5, 0.2, 2, 3}, {2, -1, 8, 1024, 0.5, 0.3, 0.5, 1.5}}},
    {"rtss_2017_fig8_stream_priority_lower_priority_cut",
     2,
     {{0, 0, 1, 512, 1, 0, 0, 1},
      {1, 0, 1, 512, 1, 0.1, 0.1, 1.1},
      {2, 0, 1, 512, 1, 0.2, 0.2, 1.2},
      {3, 0, 1, 512, 1, 0.3, 0.3, 1.3},
      {4, 0, 1, 512, 1, 0.4, 0.4, 1.4},
      {5, 0, 1, 512, 1, 0.5, 0.5, 1.5},
      {6, 0, 1, 512, 1, 0.6, 0.6, 1.6},
      {7, -1, 1, 1024, 0.5, 0.65, 1.1, 1.6},
      {8, 0, 1, 512, 1, 0.7, 1.1, 2.1}}},
    {"titan_v_queue_test",
     80,
     {{0, 0, 161, 768, 0.5, 0, 0, 1},
      {0, 0, 1, 256, 0.5, 0, 1, 1.5},
      {1, 0, 1, 1024, 0.5, 0.1, 0.5, 1},
      {2, 0, 1, 512, 0.5, 0.2, 0.5, 1}}}};

class HardwareRulesTest : public testing::TestWithParam<std::tuple<std::size_t, Fidelity>> {};

TEST_P(HardwareRulesTest, TimelineIsTheOneDerivedByHand) {
  const Timeline& timeline = kTimelines[std::get<0>(GetParam())];
  const GpuSpec gpu = small_gpu(timeline.sms);
  BenchGpu bench(gpu, std::get<1>(GetParam()));
  std::uint32_t streams = 0;
  for (const Launch& launch : timeline.launches) {
    if (launch.stream == streams) streams = bench.stream(launch.priority) + 1;
  }
  for (std::uint32_t i = 0; i < timeline.launches.size(); ++i) {
    const Launch& launch = timeline.launches[i];
    bench.launch(launch.stream, grid(gpu, launch.blocks, launch.threads, Seconds(launch.spin)), i,
                 Seconds(launch.release));
  }
  bench.run();
  for (std::uint32_t i = 0; i < timeline.launches.size(); ++i) {
    EXPECT_NEAR(bench.start(i), timeline.launches[i].starts, 1e-9) << "kernel " << i;
    EXPECT_NEAR(bench.end(i), timeline.launches[i].ends, 1e-9) << "kernel " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Timelines, HardwareRulesTest,
                         testing::Combine(testing::Range<std::size_t>(0, kTimelines.size()),
                                          testing::Values(Fidelity::automatic, Fidelity::wave)),
                         [](const auto& param) {
                           const bool wave = std::get<1>(param.param) == Fidelity::wave;
                           return std::string(kTimelines[std::get<0>(param.param)].name) + (wave ? "_wave" : "");
                         });

}  // namespace
}  // namespace tessera
