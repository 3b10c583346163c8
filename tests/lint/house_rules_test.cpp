#include "tests/lint/house_rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::lint {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(HouseRules, TheRepositoryKeepsThem) {
  EXPECT_THAT(house_violations(read_source_tree()), IsEmpty());
}

TEST(HouseRules, CleanFilesPass) {
  EXPECT_THAT(house_violations({{"sim/base/a.hpp", "// What it is.\n#pragma once\nvoid f();  // not an exit(1)\n"},
                                {"sim/des/a.cpp", "  ::_exit(0);\n"},
                                {"sim/app/a.cpp", "  fmt::print(\"x\");\n"},
                                {"README.md", "See https://example.org/home/x and ../shared memory.\n"}}),
              IsEmpty());
}

TEST(HouseRules, EachIsFound) {
  EXPECT_THAT(house_violations({{"sim/base/a.hpp", "#include <memory>\nusing namespace std;\n"}}),
              ElementsAre("sim/base/a.hpp:2: using namespace in a header",
                          "sim/base/a.hpp:1: a header begins with what it is, in one sentence",
                          "sim/base/a.hpp:1: no #pragma once"));
  const std::string machine = std::string("see /ho") + "me/me/x\n";
  const std::string unfinished = std::string("// TO") + "DO later\n";
  EXPECT_THAT(house_violations({{"README.md", machine}}), ElementsAre("README.md:1: a path of one machine"));
  EXPECT_THAT(house_violations({{"models/a.cpp", unfinished}}), ElementsAre("models/a.cpp:1: unfinished business"));
  EXPECT_THAT(
      house_violations(
          {{"sim/des/a.cpp", "std::shared_ptr<int> p;\n} catch (...) {\n  std::exit(1);\n  std::cerr << 1;\n}\n"}}),
      ElementsAre("sim/des/a.cpp:1: shared ownership; use a value or unique_ptr",
                  "sim/des/a.cpp:3: exit; throw RunError or InputError", "sim/des/a.cpp:4: printing below sim/app",
                  "sim/des/a.cpp:2: catches everything and loses it"));
  EXPECT_THAT(house_violations({{"sim/des/a.cpp", "} catch (...) {\n  clean();\n  throw;\n}\n"}}), IsEmpty());
  std::string lines;
  for (int i = 0; i < 401; ++i) lines += "x\n";
  EXPECT_THAT(house_violations({{"sim/des/a.cpp", lines}}), ElementsAre("sim/des/a.cpp:401: more than 400 lines"));
}

}  // namespace
}  // namespace tessera::lint
