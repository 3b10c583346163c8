// Scenarios whose summaries must not change unnoticed. TESSERA_UPDATE_GOLDEN=1 writes the expected files anew.
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/app/run.hpp"
#include "sim/app/scenario.hpp"
#include "sim/base/file.hpp"
#include "sim/config/json.hpp"
#include "sim/report/outputs.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;
constexpr double kTolerance = 1e-9;
const fs::path kSource = TESSERA_SOURCE_DIR;

bool close(double a, double b) {
  return std::abs(a - b) <= kTolerance * std::max(std::abs(a), std::abs(b));
}

/// Where two documents differ: numbers by more than the tolerance, everything else at all.
void compare(const Json& actual, const Json& expected, const std::string& path) {
  if (expected.is_object()) {
    ASSERT_TRUE(actual.is_object()) << path;
    ASSERT_EQ(actual.fields().size(), expected.fields().size()) << path;
    for (const auto& [key, value] : expected.fields()) compare(actual.at(key), value, path + "/" + key);
  } else if (expected.is_array()) {
    ASSERT_TRUE(actual.is_array()) << path;
    ASSERT_EQ(actual.items().size(), expected.items().size()) << path;
    for (std::size_t i = 0; i < expected.items().size(); ++i)
      compare(actual.items()[i], expected.items()[i], fmt::format("{}[{}]", path, i));
  } else if (actual.dump() != expected.dump()) {  // equal texts are equal whatever their type
    ASSERT_FALSE(expected.is_string() || expected.is_null())
        << path << ": " << actual.dump() << " is not " << expected.dump();
    EXPECT_TRUE(close(actual.number(), expected.number()))
        << path << ": " << actual.dump() << " is not " << expected.dump();
  }
}

class Golden : public ::testing::TestWithParam<const char*> {};

TEST_P(Golden, SummaryIsAsBefore) {
  const ScenarioFile file = read_scenario(kSource / GetParam());
  const auto latency = make_latency_model(file.scenario.latency_model);
  for (const RunSection& section : file.scenario.runs) {
    const Json summary = summary_json(run(resolve(file.scenario, section), *latency).summary);
    const fs::path expected =
        kSource / "tests/golden/expected" / fmt::format("{}.{}.json", file.scenario.name, section.name);
    if (std::getenv("TESSERA_UPDATE_GOLDEN") != nullptr) write_file(expected, summary.dump() + "\n");
    compare(summary, read_json(expected), file.scenario.name + "." + section.name);
  }
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Golden,
                         ::testing::Values("scenarios/quickstart.yaml", "tests/golden/scenarios/spread.yaml",
                                           "tests/golden/scenarios/own_collective.yaml",
                                           "tests/golden/scenarios/stage_replicas.yaml",
                                           "tests/golden/scenarios/eager.yaml",
                                           "tests/golden/scenarios/policies.yaml"));

}  // namespace
}  // namespace tessera
