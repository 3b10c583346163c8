#include "sim/app/validation/where.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.hpp"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const char* const kTable =
    "gpu,set,latency_ms,note\n"
    "T4,a,1.0,\n"
    "V100,b,2,x\n"
    "A100,a,3.50,y\n"
    "H100,,,z\n";

std::vector<std::size_t> select(const std::string& where) {
  return select_rows(CsvTable::parse(kTable, "t.csv"), parse_where(where));
}

TEST(Where, EmptySelectsAll) {
  EXPECT_THAT(select(""), ElementsAre(0, 1, 2, 3));
}

TEST(Where, ComparesNumbersAsNumbersAndTextAsText) {
  EXPECT_THAT(select("latency_ms=1"), ElementsAre(0));
  EXPECT_THAT(select("latency_ms=2.0"), ElementsAre(1));
  EXPECT_THAT(select("gpu=T4"), ElementsAre(0));
  EXPECT_THAT(select("gpu!=T4"), ElementsAre(1, 2, 3));
}

TEST(Where, OrdersAndLeavesEmptyCellsOut) {
  EXPECT_THAT(select("latency_ms>2"), ElementsAre(2));
  EXPECT_THAT(select("latency_ms>=2"), ElementsAre(1, 2));
  EXPECT_THAT(select("latency_ms<2"), ElementsAre(0));
  EXPECT_THAT(select("latency_ms<=2"), ElementsAre(0, 1));
  EXPECT_THAT(select("set="), ElementsAre(3));
  EXPECT_THAT(select("note!="), ElementsAre(1, 2, 3));
}

TEST(Where, AllConditionsMustHold) {
  EXPECT_THAT(select("set=a, latency_ms > 2"), ElementsAre(2));
}

TEST(Where, RefusesWhatIsNoComparison) {
  for (const char* bad : {"split", "=3", "a=1,b", "a!1", "a>>1", "a=>1", "a==1", "a<>1"}) {
    try {
      parse_where(bad);
      FAIL() << bad;
    } catch (const InputError& error) {
      EXPECT_EQ(error.diagnostics().front().file, "--where");
      EXPECT_THAT(error.diagnostics().front().message, HasSubstr("is no comparison"));
    }
  }
}

TEST(Where, OrderNeedsANumber) {
  for (const char* bad : {"a>abc", "a<", "a>=1e400", "a=1e400", "a<nan", "a>inf"}) {
    try {
      parse_where(bad);
      FAIL() << bad;
    } catch (const InputError& error) {
      EXPECT_THAT(to_string(error.diagnostics().front()),
                  HasSubstr("--where: error: '" + std::string(bad) + "': expected a number"));
    }
  }
}

TEST(Where, NamesTheNearestColumn) {
  try {
    select("latency_mss>1");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.diagnostics().front().message, HasSubstr("'latency_ms'"));
  }
}

}  // namespace
}  // namespace tessera
