#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/report/bar_chart.hpp"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

BarChart chart() {
  return {.title = "A < B & C",
          .axis = "%",
          .categories = {"one", "two"},
          .series = {{"ours", {10.0, 20.0}}, {"theirs", {40.0, std::nullopt}}},
          .ceiling = 0};
}

TEST(BarChart, OneBarPerValueAndNoneForNothing) {
  const std::string text = svg(chart());
  EXPECT_EQ(count(text, "font-size=\"10\""), 3u);  // values on bars
  for (const char* value : {">10.0<", ">20.0<", ">40.0<", ">one<", ">two<", ">ours<", ">theirs<"}) {
    EXPECT_THAT(text, HasSubstr(value));
  }
}

TEST(BarChart, HeightsAreProportional) {
  // The scale ends at 40 (steps of 10): 256 pixels.
  const std::string text = svg(chart());
  EXPECT_THAT(text, HasSubstr("height=\"256.0\""));
  EXPECT_THAT(text, HasSubstr("height=\"128.0\""));
  EXPECT_THAT(text, HasSubstr("height=\"64.0\""));
}

TEST(BarChart, CutsBarsAtTheCeilingButSaysTheirValue) {
  BarChart cut = chart();
  cut.ceiling = 20;
  const std::string text = svg(cut);
  EXPECT_THAT(text, HasSubstr(">40.0<"));
  EXPECT_EQ(count(text, "height=\"256.0\""), 2u);  // 20 and the cut 40
}

TEST(BarChart, EscapesText) {
  EXPECT_THAT(svg(chart()), HasSubstr("A &lt; B &amp; C"));
  EXPECT_THAT(svg(chart()), Not(HasSubstr("A < B")));
}

}  // namespace
}  // namespace tessera
