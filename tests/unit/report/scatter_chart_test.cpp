#include "sim/report/scatter_chart.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(ScatterChart, DrawsEveryPointOnceAndTheFrontAsSteps) {
  const ScatterChart chart{.title = "a < b & c",
                           .x_axis = "mm2",
                           .y_axis = "samples/s",
                           .series = {{"front", {{1, 1, "p"}, {2, 3, "q"}, {4, 5, "r"}}, true},
                                      {"reference", {{3, 2, "TPU", true}}, false}}};
  const std::string picture = svg(chart);
  EXPECT_EQ(picture, svg(chart));
  EXPECT_EQ(count(picture, "<title>"), 4u);  // one for each point
  EXPECT_EQ(count(picture, "<path"), 1u);
  EXPECT_EQ(count(picture, " H"), 3u);
  EXPECT_EQ(count(picture, ">TPU</text>"), 1u);  // named
  EXPECT_THAT(picture, HasSubstr("a &lt; b &amp; c"));
  EXPECT_THAT(picture, Not(HasSubstr("nan")));
}

TEST(ScatterChart, NothingIsAnEmptyPicture) {
  const std::string picture = svg({.title = "none", .x_axis = "x", .y_axis = "y", .series = {{"empty", {}, true}}});
  EXPECT_THAT(picture, HasSubstr("</svg>"));
  EXPECT_THAT(picture, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace tessera
