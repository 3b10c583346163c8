// Schedules of recorded layers against recorded makespans; TESSERA_DATA names the folder that holds them.
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "sim/place/schedule/schedule.hpp"
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

}  // namespace
}  // namespace tessera
