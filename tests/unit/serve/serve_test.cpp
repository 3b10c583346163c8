#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.hpp"
#include "sim/serve/policy.hpp"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(StaticBatching, TakesTheFirstAndPadsToTheLongest) {
  const std::vector<Request> waiting{{100}, {300}, {200}, {900}};
  const Batch batch = make_serving_policy("static")->next(waiting, 3);
  EXPECT_THAT(batch.requests, ElementsAre(0u, 1u, 2u));
  EXPECT_EQ(batch.padded_tokens, 3 * 300);
}

TEST(StaticBatching, TakesWhatThereIs) {
  const std::vector<Request> waiting{{7}};
  EXPECT_EQ(make_serving_policy("static")->next(waiting, 8).padded_tokens, 7);
  EXPECT_THAT(make_serving_policy("static")->next({}, 8).requests, IsEmpty());
}

TEST(Serving, UnknownNameIsInputErrorWithTheNearest) {
  try {
    make_serving_policy("statik");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("unknown serving policy 'statik'; did you mean 'static'?"));
  }
}

}  // namespace
}  // namespace tessera
