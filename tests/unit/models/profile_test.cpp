// Profiles as files, and predictions shifted by them.
#include <unistd.h>

#include <cmath>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/calibrated_model.hpp"
#include "models/log_error.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"

namespace tessera {
namespace {

using ::testing::HasSubstr;

Profile sample() {
  Profile profile;
  profile.gpu = "L40S";
  profile.date = "2026-05-31";
  profile.weights = "0123456789abcdef";
  profile.sources = {{"kernels.csv", "fedcba9876543210"}};
  profile.host_launch = Seconds(4.25e-6);
  profile.offsets = {{FamilyId::gemm_matrix, std::nullopt, 0, 0.05, 0.06},
                     {FamilyId::gemm_matrix, Dtype::bf16, 12, 0.125, 0.03}};
  return profile;
}

/// `text` through a file of a folder that goes away again.
Profile reread(std::string_view text) {
  const auto folder = std::filesystem::temp_directory_path() / ("tessera-profile-" + std::to_string(getpid()));
  const auto path = folder / "mine.yaml";
  write_file(path, text);
  const auto remove = [&folder](const std::string*) { std::filesystem::remove_all(folder); };
  const std::string name = path.string();
  const std::unique_ptr<const std::string, decltype(remove)> cleaning(&name, remove);
  return read_profile(path);
}

std::string mistake_in(std::string text, std::string_view from, std::string_view to) {
  text.replace(text.find(from), from.size(), to);
  try {
    reread(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no mistake";
}

TEST(Profile, ReadsWhatItWrites) {
  const Profile profile = reread(to_yaml(sample()));
  EXPECT_EQ(profile.name, "mine");
  EXPECT_EQ(profile.gpu, "L40S");
  EXPECT_EQ(profile.date, "2026-05-31");
  EXPECT_EQ(profile.weights, "0123456789abcdef");
  ASSERT_EQ(profile.sources.size(), 1u);
  EXPECT_EQ(profile.sources[0].hash, "fedcba9876543210");
  EXPECT_NEAR(profile.host_launch->value(), 4.25e-6, 1e-12);
  ASSERT_EQ(profile.offsets.size(), 2u);
  EXPECT_EQ(profile.offsets[1].family, FamilyId::gemm_matrix);
  EXPECT_EQ(profile.offsets[1].dtype, Dtype::bf16);
  EXPECT_EQ(profile.offsets[1].rows, 12);
  EXPECT_DOUBLE_EQ(profile.offsets[1].log_offset, 0.125);
  EXPECT_DOUBLE_EQ(profile.offsets[1].deviation, 0.03);
}

TEST(Profile, MistakesNameWhatWasFoundAndExpected) {
  const std::string good = to_yaml(sample());
  EXPECT_THAT(mistake_in(good, "version: 1", "version: 2"), HasSubstr("this program reads version 1, found 2"));
  EXPECT_THAT(mistake_in(good, "gpu: L40S", "gpu: L40SS"), HasSubstr("no GPU named 'L40SS'; did you mean 'L40S'?"));
  EXPECT_THAT(mistake_in(good, "gemm_matrix", "gemm_matrx"),
              HasSubstr("unknown family 'gemm_matrx'; did you mean 'gemm_matrix'?"));
  EXPECT_THAT(mistake_in(good, "0.12500", "12.5"), HasSubstr("log_offset: must be between -3 and 3, found 12.5"));
  EXPECT_THAT(mistake_in(good, "0.03000", "-1"), HasSubstr("deviation: must be between 0 and 3, found -1"));
  EXPECT_THAT(mistake_in(good, "rows: 12", "rows: -12"), HasSubstr("must not be negative, found -12"));
  EXPECT_THAT(mistake_in(good, "2026-05-31", "2026-02-31"),
              HasSubstr("expected a date such as 2026-05-31, found '2026-02-31'"));
  EXPECT_THAT(mistake_in(good, "2026-05-31", "yesterday"), HasSubstr("found 'yesterday'"));
  EXPECT_THAT(mistake_in(good, "4.25 us", "4.25 s"),
              HasSubstr("host_launch: must be above 0 and at most 1000 us, found 4.25e+06 us"));
  EXPECT_THAT(mistake_in(good, "rows: 0", "dtype: bf16, rows: 0"), HasSubstr("two rows of gemm_matrix bf16"));
  EXPECT_THAT(mistake_in(good, "offsets:", "offset:"), HasSubstr("did you mean 'offsets'?"));
}

TEST(Profile, UnknownNamesAndMissingFilesAreMistakes) {
  EXPECT_THROW(find_profile("no-such-profile"), InputError);
  EXPECT_THROW(find_profile("no-such-folder/profile.yaml"), InputError);
}

TEST(Profile, ADtypeWithoutARowTakesTheFamilysRest) {
  const Profile profile = sample();
  EXPECT_EQ(profile.offset_of(FamilyId::gemm_matrix, Dtype::bf16)->rows, 12);
  EXPECT_EQ(profile.offset_of(FamilyId::gemm_matrix, Dtype::fp8)->rows, 0);
  EXPECT_EQ(profile.offset_of(FamilyId::rows, Dtype::bf16), nullptr);
}

TEST(Profile, ABareLaunchIsALowerBoundForAFrameworks) {
  Profile profile = sample();
  EXPECT_EQ(profile.launch_time(Seconds(5e-6)), Seconds(4.25e-6));
  profile.bare_launch = true;
  EXPECT_EQ(profile.launch_time(Seconds(5e-6)), Seconds(5e-6));
  EXPECT_EQ(profile.launch_time(Seconds(3e-6)), Seconds(4.25e-6));
  profile.host_launch.reset();
  EXPECT_EQ(profile.launch_time(Seconds(5e-6)), Seconds(5e-6));
}

/// 1 s, p10-p90 of one shared and one own deviation of 0.1 each.
class Fixed final : public LatencyModel {
 public:
  [[nodiscard]] std::vector<KernelCost> predict(std::span<const Kernel> kernels, const GpuSpec&,
                                                const PredictContext&) const override {
    const double half = kHalfBand * 0.1 * std::sqrt(2);
    KernelCost cost;
    cost.time = {Seconds(std::exp(-half)), Seconds(1), Seconds(std::exp(half))};
    cost.shared_ratio = 0.5;
    cost.energy = Joules(10);
    cost.provenance = Provenance::fitted;
    return std::vector(kernels.size(), cost);
  }
};

TEST(CalibratedModel, ShiftsAndNarrows) {
  const Fixed base;
  const Kernel kernel{Op::gemm, Dtype::bf16, GemmShape{.m = 1024, .n = 1024, .k = 1024}};
  const KernelCost cost =
      CalibratedModel(base, {sample()}).predict(std::span(&kernel, 1), find_gpu("L40S"), {}).front();
  const double half = kHalfBand * std::hypot(0.1, 0.03);
  EXPECT_NEAR(cost.time.p50.value(), std::exp(0.125), 1e-12);
  EXPECT_NEAR(cost.time.p10.value(), std::exp(0.125 - half), 1e-12);
  EXPECT_NEAR(cost.time.p90.value(), std::exp(0.125 + half), 1e-12);
  EXPECT_NEAR(cost.shared_ratio, 0.0009 / 0.0109, 1e-12);
  EXPECT_NEAR(cost.energy.value(), 10 * std::exp(0.125), 1e-12);
  EXPECT_EQ(cost.provenance, Provenance::calibrated);
}

TEST(CalibratedModel, LeavesOtherGpusAndUnknownFamiliesAlone) {
  const Fixed base;
  const Kernel gemm{Op::gemm, Dtype::bf16, GemmShape{.m = 1024, .n = 1024, .k = 1024}};
  const Kernel norm{Op::layernorm, Dtype::bf16, VectorShape{64, 1024}};
  const CalibratedModel model(base, {sample()});
  for (const auto& [kernel, gpu] : {std::pair{gemm, "A40"}, {norm, "L40S"}}) {
    const KernelCost cost = model.predict(std::span(&kernel, 1), find_gpu(gpu), {}).front();
    EXPECT_EQ(cost.time.p50, Seconds(1)) << gpu;
    EXPECT_EQ(cost.provenance, Provenance::fitted) << gpu;
  }
}

TEST(CalibratedModel, NeverWidens) {
  Profile profile = sample();
  profile.offsets[1].deviation = 1;
  const Fixed base;
  const Kernel kernel{Op::gemm, Dtype::bf16, GemmShape{.m = 1024, .n = 1024, .k = 1024}};
  const KernelCost cost = CalibratedModel(base, {profile}).predict(std::span(&kernel, 1), find_gpu("L40S"), {}).front();
  EXPECT_NEAR(cost.time.p90 / cost.time.p10, std::exp(2 * kHalfBand * 0.1 * std::sqrt(2)), 1e-12);
}

}  // namespace
}  // namespace tessera
