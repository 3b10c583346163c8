#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "sim/app/reproduce/kept_predictions.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"

namespace tessera {
namespace {

using neusight::Operation;

/// A millisecond per row.
class Rows final : public neusight::RivalModel {
 public:
  [[nodiscard]] std::vector<neusight::Priced> price(std::span<const Operation> operations,
                                                    const GpuSpec& /*gpu*/) const override {
    std::vector<neusight::Priced> prices;
    for (const Operation& operation : operations) prices.push_back({Seconds(1e-3 * static_cast<double>(operation.b))});
    return prices;
  }
};

const Kernel kGelu{Op::gelu, Dtype::fp32, VectorShape{64, 32}};
const Kernel kBmm{Op::bmm, Dtype::fp32, GemmShape{.batch = 2, .m = 3, .n = 4, .k = 5, .layout = GemmLayout::nn}};
const Kernel kNormBackward{Op::layernorm_backward, Dtype::fp32, VectorShape{16, 8}};

KeptPredictions kept() {
  KeptPredictions notes;
  const std::vector<Kernel> kernels{kGelu, kBmm, kNormBackward};
  (void)recording(std::make_unique<Rows>(), notes)->predict(kernels, find_gpu("T4"), {});
  return notes;
}

KeptPredictions written_and_read() {
  const auto path = std::filesystem::temp_directory_path() / ("tessera-kept-" + std::to_string(::getpid()) + ".csv");
  write_file(path, kept().csv());
  KeptPredictions read = read_kept(path);
  std::filesystem::remove(path);
  return read;
}

TEST(KeptPredictions, StandInForTheirModel) {
  const std::vector<Kernel> kernels{kGelu, kBmm, kNormBackward};
  const auto costs = answering(written_and_read())->predict(kernels, find_gpu("T4"), {});
  EXPECT_NEAR(costs[0].time.p50.value(), 64e-3, 1e-9);
  EXPECT_NEAR(costs[1].time.p50.value(), 2e-3, 1e-9);
  EXPECT_NEAR(costs[2].time.p50.value(), 16e-3, 1e-9);  // as a mul over its rows
}

TEST(KeptPredictions, LayoutAndBiasDoNotMatterToThem) {
  const Kernel other{Op::bmm, Dtype::fp32, GemmShape{.batch = 2, .m = 3, .n = 4, .k = 5, .layout = GemmLayout::nt}};
  EXPECT_NO_THROW((void)answering(kept())->predict(std::span(&other, 1), find_gpu("T4"), {}));
}

TEST(KeptPredictions, RefuseWhatTheyDoNotHold) {
  const auto model = answering(kept());
  const Kernel other{Op::gelu, Dtype::fp32, VectorShape{65, 32}};
  EXPECT_THROW((void)model->predict(std::span(&other, 1), find_gpu("T4"), {}), RunError);
  EXPECT_THROW((void)model->predict(std::span(&kGelu, 1), find_gpu("P4"), {}), RunError);
}

TEST(KeptPredictions, AreATableInOrder) {
  EXPECT_EQ(kept().csv(), "gpu,op,b,m,n,k,predicted_ms\nT4,bmm,2,3,4,5,2\nT4,mul,16,0,8,0,16\nT4,gelu,64,0,32,0,64\n");
}

}  // namespace
}  // namespace tessera
