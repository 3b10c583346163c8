// Rows of collectives: what they mean, and every mistake named at its cell.
#include "sim/app/validation/collective_rows.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/collectives/tuner.hpp"
#include "sim/base/error.hpp"

namespace tessera {
namespace {

using testing::HasSubstr;

const std::string kHeader = "platform,collective,n_gpus,n_nodes,message_bytes,dtype,latency_us\n";

std::vector<Outcome> predict(const std::string& rows) {
  const CsvTable table = CsvTable::parse(kHeader + rows, "c.csv");
  std::vector<std::size_t> all(table.rows());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  Catalogue catalogue;
  Mistakes mistakes;
  std::vector<Outcome> outcomes =
      predict_collective_rows(table, all, {}, catalogue, load_collective_parameters(), mistakes);
  mistakes.check();
  return outcomes;
}

Seconds time_of(const std::string& row) {
  return predict(row + "\n").at(0).prediction.value().time.p50;
}

TEST(CollectiveRows, AreTheClosedFormOfTheFirstGpus) {
  const ClusterSpec cluster = find_cluster("dgx-h100");
  const std::vector<int> gpus{0, 1, 2, 3};
  const CollectiveModel model(load_collective_parameters());
  const GroupShape shape = shape_of(gpus, CollectiveKind::all_gather, cluster, Topology(cluster));
  EXPECT_EQ(time_of("dgx-h100,all_gather,4,1,1048576,fp16,9"),
            model.cost(CollectiveKind::all_gather, Bytes(1048576.0), shape).time);
}

// The bar of a class that the fit has seen is narrower than that of others.
TEST(CollectiveRows, HaveABarByWhetherTheClassWasMeasured) {
  const auto rows = predict("dgx-h100,all_gather,4,1,1048576,fp16,9\nmi300x-platform,all_gather,4,1,1048576,fp16,9\n");
  const Prediction seen = rows[0].prediction.value(), unseen = rows[1].prediction.value();
  EXPECT_EQ(seen.provenance, Provenance::fitted);
  EXPECT_EQ(unseen.provenance, Provenance::extrapolated);
  EXPECT_LT(seen.time.p90 / seen.time.p10, unseen.time.p90 / unseen.time.p10);
}

// Two trays of four GPUs are one NVLink domain: the same as eight GPUs of one host of eight.
TEST(CollectiveRows, HostsOfARackAreOneNode) {
  EXPECT_LT(time_of("gb200-nvl72,all_gather,8,2,1000000000,fp16,9"),
            time_of("dgx-b200,all_gather,8,2,1000000000,fp16,9") / 3);
}

TEST(CollectiveRows, EveryMistakeIsNamedAtItsCell) {
  try {
    predict(
        "dgx-h100,all_reduse,4,1,1024,fp16,9\n"
        "dgx-h100,all_reduce,9,1,1024,fp16,9\n"
        "dgx-h100,all_reduce,5,2,1024,fp16,9\n"
        "dgx-h100,all_reduce,4,1,-8,fp16,9\n"
        "dgx-h101,all_reduce,4,1,1024,fp16,9\n"
        "dgx-h100,all_reduce,4,1,1024,fp17,9\n");
    FAIL();
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_THAT(text,
                HasSubstr("c.csv:2: error: collective: unknown collective 'all_reduse'; did you mean 'all_reduce'?"));
    EXPECT_THAT(text, HasSubstr("at most 8 there, found 9"));
    EXPECT_THAT(text, HasSubstr("equally many on each of 2 nodes"));
    EXPECT_THAT(text, HasSubstr("expected 1 to 1e+15 bytes, found -8"));
    EXPECT_THAT(text, HasSubstr("c.csv:6:"));
    EXPECT_THAT(text, HasSubstr("c.csv:7: error: dtype: unknown dtype 'fp17'; did you mean 'fp16'?"));
  }
}

}  // namespace
}  // namespace tessera
