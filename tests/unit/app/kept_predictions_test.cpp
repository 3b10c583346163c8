#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "sim/app/reproduce/kept_predictions.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"

namespace tessera {
namespace {

/// Two kernels; the second method says nothing of the second one.
Comparison kernels() {
  Comparison c;
  c.methods = {"ours", "theirs"};
  c.entries.push_back({{{"gpu", "T4"}, {"operator", "gelu"}, {"op", "elementwise"}, {"rows", "64"}, {"h", "32"}},
                       Seconds(1),
                       {Seconds(2e-3), Seconds(3e-3)}});
  c.entries.push_back({{{"gpu", "T4"}, {"operator", "bmm"}, {"b", "2"}, {"m", "3"}, {"n", "4"}, {"k", "5"}},
                       Seconds(1),
                       {Seconds(4e-3), std::nullopt}});
  return c;
}

std::unique_ptr<LatencyModel> kept(std::string_view method) {
  const auto path = std::filesystem::path(testing::TempDir()) / "kept.csv";
  write_file(path, kept_csv(kernels(), method));
  return read_kept(path);
}

const Kernel kGelu{Op::gelu, Dtype::fp32, VectorShape{64, 32}};
const Kernel kBmm{Op::bmm, Dtype::fp32, GemmShape{.batch = 2, .m = 3, .n = 4, .k = 5, .layout = GemmLayout::nn}};

TEST(KeptPredictions, AnswerForTheirKernels) {
  const std::vector<Kernel> both{kGelu, kBmm};
  const auto costs = kept("ours")->predict(both, find_gpu("T4"), {});
  EXPECT_NEAR(costs[0].time.p50.value(), 2e-3, 1e-9);
  EXPECT_NEAR(costs[1].time.p50.value(), 4e-3, 1e-9);
}

TEST(KeptPredictions, RefuseWhatTheyDoNotHold) {
  const auto model = kept("theirs");
  EXPECT_NO_THROW((void)model->predict(std::span(&kGelu, 1), find_gpu("T4"), {}));
  EXPECT_THROW((void)model->predict(std::span(&kBmm, 1), find_gpu("T4"), {}), RunError);
  EXPECT_THROW((void)model->predict(std::span(&kGelu, 1), find_gpu("P4"), {}), RunError);
}

TEST(KeptPredictions, HoldNothingMeasured) {
  const std::string text = kept_csv(kernels(), "theirs");
  EXPECT_EQ(text, "gpu,op,b,m,n,k,rows,h,predicted_ms\nT4,gelu,,,,,64,32,3\n");
}

}  // namespace
}  // namespace tessera
