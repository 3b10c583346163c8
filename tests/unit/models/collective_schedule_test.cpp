// Collectives written down by users: what they mean, what waits for what, and every mistake.
#include "models/collectives/schedule.hpp"

#include <gmock/gmock.h>

#include <string>

#include "sim/base/error.hpp"
#include "sim/config/reader.hpp"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string mistakes(const std::string& text) {
  try {
    (void)read<CollectiveSchedule>(parse_text(text, "c.yaml"));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

/// Two ranks exchange their halves and add them.
const std::string kExchange =
    "collective: all_reduce\n"
    "ranks: 2\n"
    "chunks: 2\n"
    "steps:\n"
    "  - {from: 0, to: 1, chunk: 1, do: reduce}\n"
    "  - {from: 1, to: 0, chunk: 0, do: reduce}\n"
    "  - {from: 0, to: 1, chunk: 0, do: copy}\n"
    "  - {from: 1, to: 0, chunk: 1, do: copy}\n";

std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(CollectiveScheduleTest, ReadsWhatKeepsItsPromise) {
  const auto schedule = read<CollectiveSchedule>(parse_text(kExchange, "c.yaml"));
  EXPECT_EQ(schedule.kind, CollectiveKind::all_reduce);
  EXPECT_EQ(schedule.steps.size(), 4u);
  EXPECT_EQ(chunk_bytes(schedule, Bytes(1e6)), Bytes(5e5));
}

// The copies wait for the sums; the sums for nothing.
TEST(CollectiveScheduleTest, StepsWaitForTheirData) {
  const auto schedule = read<CollectiveSchedule>(parse_text(kExchange, "c.yaml"));
  EXPECT_THAT(step_dependencies(schedule), ElementsAre(ElementsAre(), ElementsAre(), ElementsAre(1u), ElementsAre(0u)));
}

// Sums into one chunk run side by side; who reads it waits for all; who overwrites it waits for who reads it.
TEST(CollectiveScheduleTest, SumsDoNotWaitForEachOther) {
  CollectiveSchedule schedule{.name = "s", .kind = CollectiveKind::all_reduce, .ranks = 3, .chunks = 3, .steps = {}};
  schedule.steps = {{1, 0, 0, StepAction::reduce, {}},
                    {2, 0, 0, StepAction::reduce, {}},
                    {0, 1, 0, StepAction::copy, {}},
                    {1, 0, 0, StepAction::copy, {}}};
  EXPECT_THAT(step_dependencies(schedule),
              ElementsAre(ElementsAre(), ElementsAre(), ElementsAre(0u, 1u), ElementsAre(0u, 1u, 2u)));
}

TEST(CollectiveScheduleTest, ExchangesOfAllKindsAreChecked) {
  const std::string steps = "steps: [{from: 0, to: 1, chunk: 0, do: copy}, {from: 1, to: 0, chunk: 1, do: copy}]\n";
  EXPECT_EQ(mistakes("collective: all_gather\nranks: 2\nchunks: 2\n" + steps), "");
  EXPECT_EQ(mistakes("collective: alltoall\nranks: 2\nchunks: 4\n"
                     "steps: [{from: 0, to: 1, chunk: 1, do: copy}, {from: 1, to: 0, chunk: 2, do: copy}]\n"),
            "");
  EXPECT_EQ(mistakes("collective: reduce_scatter\nranks: 2\nchunks: 2\n"
                     "steps: [{from: 0, to: 1, chunk: 1, do: reduce}, {from: 1, to: 0, chunk: 0, do: reduce}]\n"),
            "");
  EXPECT_THAT(mistakes("collective: reduce_scatter\nranks: 2\nchunks: 2\n" + steps),
              HasSubstr("rank 0 ends without chunk 0 of rank 1"));
}

TEST(CollectiveScheduleTest, EveryMistakeIsNamed) {
  EXPECT_THAT(mistakes(with(kExchange, "all_reduce", "all_reduse")),
              HasSubstr("c.yaml:1:13: error: collective: unknown collective 'all_reduse'; did you mean 'all_reduce'?"));
  EXPECT_THAT(mistakes(with(kExchange, "ranks: 2", "ranks: 1")), HasSubstr("must be 2 to 1024, found 1"));
  EXPECT_THAT(mistakes(with(kExchange, "chunks: 2", "chunks: 3")), HasSubstr("must be a multiple of 2, found 3"));
  EXPECT_THAT(mistakes(with(kExchange, "from: 0, to: 1, chunk: 1", "from: 0, to: 7, chunk: 1")),
              HasSubstr("step 0: rank 7 of 2 ranks, which are 0 to 1"));
  EXPECT_THAT(mistakes(with(kExchange, "from: 0, to: 1, chunk: 1", "from: 1, to: 1, chunk: 1")),
              HasSubstr("step 0: rank 1 sends to itself"));
  EXPECT_THAT(mistakes(with(kExchange, "chunk: 1, do", "chunk: 2, do")),
              HasSubstr("step 0: chunk 2 of 2 chunks, which are 0 to 1"));
  EXPECT_THAT(mistakes(with(kExchange, "do: reduce", "do: reduce, after: [3]")),
              HasSubstr("step 0: after step 3, which is not an earlier one"));
  EXPECT_THAT(mistakes(with(kExchange, "do: copy", "do: reduce")),
              HasSubstr("step 2: adds rank 1's chunk 0 to rank 1's, which has it already"));
  EXPECT_THAT(mistakes(with(kExchange, "  - {from: 1, to: 0, chunk: 1, do: copy}\n", "")),
              HasSubstr("rank 0 ends without chunk 1 of rank 1"));
  EXPECT_THAT(mistakes(with(kExchange, "ranks: 2\nchunks: 2", "ranks: 3\nchunks: 3")),
              HasSubstr("c.yaml:5:3: error: steps: rank 2 never joins"));
  EXPECT_THAT(mistakes("collective: all_gather\nranks: 2\nchunks: 2\nsteps: [{from: 0, to: 1, chunk: 1, do: copy}]\n"),
              HasSubstr("step 0: rank 0 sends chunk 1, which it does not have"));
  EXPECT_THAT(
      mistakes("collective: all_gather\nranks: 2\nchunks: 2\nsteps: [{from: 0, to: 1, chunk: 0, do: reduce}]\n"),
      HasSubstr("step 0: nothing is summed in this collective"));
}

}  // namespace
}  // namespace tessera
