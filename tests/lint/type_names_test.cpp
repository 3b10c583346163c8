#include "tests/lint/type_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::lint {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(TypeNames, AreUniqueInTheRepository) {
  EXPECT_THAT(repeated_type_names(read_source_tree()), IsEmpty());
}

TEST(TypeNames, ARepeatedOneIsFound) {
  EXPECT_THAT(
      repeated_type_names({{"models/a.hpp", "namespace tessera {\nstruct Plan {\n};\n}  // namespace tessera\n"},
                           {"sim/app/b.hpp", "namespace tessera {\nenum class Plan { kA };\n"}}),
      ElementsAre("sim/app/b.hpp:2: Plan is also models/a.hpp's"));
  EXPECT_THAT(
      repeated_type_names({{"models/a.hpp", "namespace tessera {\nstruct Plan {\n};\n}  // namespace tessera\n"},
                           {"sim/app/b.cpp", "namespace tessera {\nclass Plan final : public Base {\n"}}),
      ElementsAre("sim/app/b.cpp:2: Plan is also models/a.hpp's"));
}

TEST(TypeNames, OtherNamespacesAndDeclarationsDoNotCount) {
  EXPECT_THAT(repeated_type_names({{"models/a.hpp", "namespace tessera {\nstruct Plan {\n"},
                                   {"models/b.hpp", "namespace tessera {\nstruct Plan;\n"},
                                   {"models/c.hpp", "namespace tessera::neusight {\nstruct Plan {\n"},
                                   {"models/d.cpp", "namespace tessera {\nnamespace {\nstruct Plan {\n"},
                                   {"tests/unit/e.cpp", "namespace tessera {\nstruct Plan {\n"}}),
              IsEmpty());
}

}  // namespace
}  // namespace tessera::lint
