#include "tests/lint/layers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::lint {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Layers, TheRepositoryKeepsTheRule) {
  EXPECT_THAT(layer_violations(read_source_tree()), IsEmpty());
}

TEST(Layers, DownwardsAndWithinIsAllowed) {
  EXPECT_THAT(layer_violations({{"sim/base/a.hpp", "#include <fmt/core.h>\n#include <unistd.h>\n"},
                                {"sim/base/b.cpp", "#include \"sim/base/a.hpp\"\n"},
                                {"sim/graph/c.cpp", "#include \"sim/base/a.hpp\"\n// #include \"sim/app/z.hpp\"\n"},
                                {"tests/unit/d.cpp", "#include <simgrid/s4u.hpp>\n"}}),
              IsEmpty());
}

TEST(Layers, UpwardsAndSidewaysIsFound) {
  EXPECT_THAT(layer_violations({{"sim/base/a.cpp", "#include \"sim/config/b.hpp\"\n"},
                                {"sim/config/b.hpp", ""},
                                {"sim/graph/c.hpp", "  #  include \"sim/trace/d.hpp\"\n"},
                                {"sim/trace/d.hpp", ""}}),
              ElementsAre("sim/base/a.cpp: includes \"sim/config/b.hpp\", but sim/config/ is not below sim/base/",
                          "sim/graph/c.hpp: includes \"sim/trace/d.hpp\", but sim/trace/ is not below sim/graph/"));
}

TEST(Layers, IncludesGoByPathFromTheRoot) {
  EXPECT_THAT(layer_violations({{"sim/base/a.cpp", "#include \"b.hpp\"\n#include \"tests/x.hpp\"\n"},
                                {"sim/base/b.hpp", ""},
                                {"tests/x.hpp", ""}}),
              ElementsAre("sim/base/a.cpp: includes \"b.hpp\", which is no file, by path from the root",
                          "sim/base/a.cpp: includes \"tests/x.hpp\", which is in no layer"));
}

TEST(Layers, LibrariesStayWhereTheyBelong) {
  EXPECT_THAT(layer_violations({{"models/a.cpp", "#include <Eigen/Dense>\n#include <simgrid/s4u.hpp>\n"},
                                {"sim/app/b.cpp", "#include <boost/graph.hpp>\n"}}),
              ElementsAre("models/a.cpp: sees <simgrid/s4u.hpp>, which only sim/des/ may",
                          "sim/app/b.cpp: includes <boost/graph.hpp>, which no layer may"));
}

TEST(Layers, LibrariesDoNotLeakThroughHeaders) {
  EXPECT_THAT(layer_violations({{"models/a.hpp", "#include <Eigen/Dense>\n"},
                                {"models/b.hpp", "#include \"models/a.hpp\"\n"},
                                {"sim/des/c.cpp", "#include \"models/b.hpp\"\n"}}),
              ElementsAre("sim/des/c.cpp: sees <Eigen/Dense>, which only models/ calibration/ may"));
}

}  // namespace
}  // namespace tessera::lint
