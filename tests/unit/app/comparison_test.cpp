#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/app/reproduce/comparison.hpp"

namespace tessera {
namespace {

using ::testing::HasSubstr;

Comparison two_rows() {
  Comparison c;
  c.methods = {"a", "b", "c"};
  c.entries.push_back({{{"gpu", "T4"}}, Seconds(1), {Seconds(1.1), Seconds(0.5), std::nullopt}});
  c.entries.push_back({{{"gpu", "P4"}}, Seconds(2), {Seconds(1.4), std::nullopt, std::nullopt}});
  return c;
}

TEST(Comparison, ErrorsAreMeansOverWhatAMethodPredicts) {
  const auto errors = errors_of(two_rows(), [](const Entry&) { return true; });
  EXPECT_EQ(errors[0].n, 2u);
  EXPECT_NEAR(errors[0].mape, (10.0 + 30.0) / 2, 1e-9);
  EXPECT_EQ(errors[1].n, 1u);
  EXPECT_NEAR(errors[1].mape, 50, 1e-9);
  EXPECT_EQ(errors[2].n, 0u);
}

TEST(Comparison, TablesSayWhereAMethodPredictsFewer) {
  const Comparison c = two_rows();
  const std::string table = markdown(c, "rows", {{"all", [](const Entry&) { return true; }}});
  EXPECT_THAT(table, HasSubstr("| rows | n | a | b | c |"));
  EXPECT_THAT(table, HasSubstr("| all | 2 | 20.0 | 50.0 (1) | - |"));
}

TEST(Comparison, OneLinePerValueAndNoEmptyOnes) {
  const Comparison c = two_rows();
  const auto lines = lines_by(c, "gpu", [](const Entry&) { return true; });
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].label, "P4");
  const std::string table = markdown(c, "gpu", {{"none", [](const Entry&) { return false; }}, lines[1]});
  EXPECT_THAT(table, HasSubstr("| T4 | 1 | 10.0 | 50.0 | - |"));
  EXPECT_EQ(table.find("none"), std::string::npos);
}

}  // namespace
}  // namespace tessera
