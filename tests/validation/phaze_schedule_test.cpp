// Schedules of recorded layers against recorded makespans; TESSERA_DATA names the folder that holds them.
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "sim/place/schedule/ilp.hpp"
#include "tests/validation/phaze_layers.hpp"

namespace tessera {
namespace {

/// The recorded bounds and makespans are sums in another order.
constexpr double kRounding = 1e-12;

TEST(PhazeSchedule, EveryRecordedLayerIsClosed) {
  const char* data = std::getenv("TESSERA_DATA");
  if (data == nullptr) GTEST_SKIP() << "set TESSERA_DATA to the folder of recorded data";
  const std::vector<RecordedLayer> layers = recorded_layers(std::filesystem::path(data) / "phaze" / "llama2");
  ASSERT_EQ(layers.size(), 4u * 9 * 2 * 2);
  for (const RecordedLayer& layer : layers) {
    SCOPED_TRACE(layer.name);
    const Schedule schedule = optimal_schedule(layer.problem());
    EXPECT_EQ(schedule_violations(layer.problem(), schedule), std::vector<std::string>{});
    EXPECT_EQ(schedule.gap(), 0.0);
    EXPECT_LE(schedule.makespan, layer.makespan * (1.0 + kRounding));
    EXPECT_GE(schedule.makespan, layer.bound * (1.0 - kRounding));
    EXPECT_LE(schedule_bound(layer.problem()).makespan, schedule.makespan * (1.0 + kRounding));
  }
}

/// Cbc's programme shares no bound with ours. It closes few layers within seconds: those of one tensor and one vector
/// core.
TEST(PhazeSchedule, CbcAgreesWhereItCloses) {
  const char* data = std::getenv("TESSERA_DATA");
  if (data == nullptr) GTEST_SKIP() << "set TESSERA_DATA to the folder of recorded data";
  if (linear_solvers().empty() || linear_solvers().front().name != "cbc") GTEST_SKIP() << "Cbc is not built in";
  int tried = 0;
  for (const RecordedLayer& layer : recorded_layers(std::filesystem::path(data) / "phaze" / "llama2")) {
    if (!layer.name.starts_with("mbs 1 chip 1+1 x128 layer 0") || tried == 2) continue;
    SCOPED_TRACE(layer.name);
    ++tried;
    const Schedule ours = optimal_schedule(layer.problem());
    const Schedule theirs = ilp_schedule(layer.problem(), {.limit = Seconds(4.0)}).schedule;
    EXPECT_EQ(schedule_violations(layer.problem(), theirs), std::vector<std::string>{});
    EXPECT_GE(theirs.makespan, ours.makespan * (1.0 - kRounding));
    EXPECT_LE(theirs.bound.makespan, ours.makespan * (1.0 + kRounding));
    EXPECT_TRUE(theirs.limit_reached || theirs.makespan <= ours.makespan * (1.0 + kRounding));
  }
  EXPECT_EQ(tried, 2);
}

}  // namespace
}  // namespace tessera
