#include "sim/base/error.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Error, DiagnosticShowsWhatIsKnown) {
  EXPECT_EQ(to_string(Diagnostic{"a.yaml", 3, 7, "wrong"}), "a.yaml:3:7: error: wrong");
  EXPECT_EQ(to_string(Diagnostic{"a.csv", 3, 0, "wrong"}), "a.csv:3: error: wrong");
  EXPECT_EQ(to_string(Diagnostic{"a.csv", 0, 7, "wrong"}), "a.csv: error: wrong");
  EXPECT_EQ(to_string(Diagnostic{"", 0, 0, "wrong"}), "error: wrong");
}

TEST(Error, ControlCharactersAreShown) {
  EXPECT_EQ(to_string(Diagnostic{"a\tb", 1, 2, "'\x1b[31m\x7f' \xc3\xa9\nnext"}),
            "a\\x09b:1:2: error: '\\x1b[31m\\x7f' \xc3\xa9\nnext");
}

TEST(Error, InputErrorCarriesAllOfThem) {
  const InputError error({{"a", 1, 1, "x"}, {"b", 2, 2, "y"}});
  EXPECT_STREQ(error.what(), "a:1:1: error: x\nb:2:2: error: y");
  ASSERT_EQ(error.diagnostics().size(), 2);
  EXPECT_EQ(error.diagnostics()[1].message, "y");
}

TEST(ErrorDeathTest, AssertionAbortsAndSaysWhere) {
  EXPECT_NO_FATAL_FAILURE(TESSERA_ASSERT(1 + 1 == 2, "never"));
  EXPECT_DEATH(TESSERA_ASSERT(1 + 1 == 3, "sums are wrong"), "error_test.cpp:.*sums are wrong \\(1 \\+ 1 == 3\\)");
}

}  // namespace
}  // namespace tessera
