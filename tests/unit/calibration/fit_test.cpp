// Fits on made-up measurements whose truth is known.
#include "calibration/fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "calibration/constants.hpp"
#include "sim/base/error.hpp"
#include "sim/base/paths.hpp"
#include "sim/base/rng.hpp"

namespace tessera {
namespace {

constexpr std::array kGpus{"A100-SXM-80GB", "H100-SXM-80GB", "H200-SXM-141GB"};

/// bf16 GEMMs that take `slower(k)` times their closed form.
template <class Slower>
Dataset made_up(std::size_t rows, const FamilyWeights& truth, Slower slower) {
  const Family& family = families()[static_cast<std::size_t>(FamilyId::gemm_matrix)];
  Rng rng(5);
  Dataset data;
  for (const char* gpu : kGpus) {
    const Device device = derive_device(find_gpu(gpu));
    for (std::size_t i = 0; i < rows; ++i) {
      const GemmShape shape{.m = 64 + rng.below(8000), .n = 64 + rng.below(8000), .k = 64 + rng.below(8000)};
      Sample sample{.gpu = data.gpu_index(gpu), .kernel = {Op::gemm, Dtype::bf16, shape}};
      const KernelAnalysis a = family.analyse(sample.kernel, device, sample.context, truth);
      sample.time = a.base * slower(static_cast<double>(shape.k)) + a.floor;
      data.samples.push_back(sample);
    }
  }
  return data;
}

FamilyWeights starting_point() {
  return unfitted(families()[static_cast<std::size_t>(FamilyId::gemm_matrix)]);
}

Recipe recipe(bool constants) {
  return {.family = FamilyId::gemm_matrix,
          .source = "made up",
          .load = nullptr,
          .train = {.hidden = {16}, .epochs = 40},
          .members = 1,
          .rows_per_group = 100000,
          .session_offsets = false,
          .fit_constants = constants};
}

TEST(Fit, LearnsWhatTheClosedFormMissesAndCarriesItToAnUnseenGpu) {
  const Dataset data = made_up(1500, starting_point(), [](double k) { return 1.2 + 2000 / (k + 1000); });
  const FamilyWeights weights = fit_family(recipe(false), data, std::vector<std::string>{"H200-SXM-141GB"});
  const LeftOut before = errors_on(starting_point(), recipe(false), data, "H200-SXM-141GB").front();
  const LeftOut after = errors_on(weights, recipe(false), data, "H200-SXM-141GB").front();
  EXPECT_EQ(after.rows, 1500U);
  EXPECT_EQ(after.op, "gemm bf16");
  EXPECT_GT(before.mean_error, 0.3);
  EXPECT_LT(after.mean_error, 0.05);
}

TEST(Fit, TheSameDataGivesTheSameWeights) {
  const Dataset data = made_up(300, starting_point(), [](double) { return 1.3; });
  const std::string first = to_json(fit_family(recipe(true), data, {})).dump();
  EXPECT_EQ(first, to_json(fit_family(recipe(true), data, {})).dump());
}

TEST(Fit, ALeftOutGpuChangesNothing) {
  Dataset data = made_up(300, starting_point(), [](double) { return 1.3; });
  const std::vector<std::string> without{"H200-SXM-141GB"};
  const std::string first = to_json(fit_family(recipe(true), data, without)).dump();
  for (Sample& sample : data.samples) {
    if (data.gpus[sample.gpu] == "H200-SXM-141GB") sample.time *= 10;
  }
  EXPECT_EQ(first, to_json(fit_family(recipe(true), data, without)).dump());
}

TEST(Constants, AreFoundAgain) {
  FamilyWeights truth = starting_point();
  truth.constants[1].second *= 3;    // start_cycles
  truth.constants[5].second *= 0.6;  // memory_share
  const Dataset data = made_up(300, truth, [](double) { return 1.0; });
  FamilyWeights fitted = starting_point();
  fit_constants(recipe(true), data, fitted);
  EXPECT_NEAR(fitted.constants[1].second / truth.constants[1].second, 1, 0.25);
  EXPECT_NEAR(fitted.constants[5].second / truth.constants[5].second, 1, 0.1);
}

TEST(Fit, AnUnknownFamilyIsAnErrorWithTheNearestName) {
  try {
    fit({.data = ".", .out = ".", .leave_out = {}, .families = {"gemm_simd"}, .error_table = false, .progress = {}});
    FAIL();
  } catch (const InputError& e) {
    EXPECT_EQ(e.diagnostics().front().message,
              "unknown family 'gemm_simd'; did you mean 'gemm_simt'?; there are gemm_simt, gemm_matrix, vector, rows, "
              "memory, prefill, decode, conv, moe, mla_prefill, mla_decode");
  }
}

TEST(Recipes, AreOnePerFamilyAndItsInputsFit) {
  std::vector<FamilyId> seen;
  for (const Recipe& row : recipes()) {
    EXPECT_EQ(std::ranges::count(seen, row.family), 0);
    seen.push_back(row.family);
    EXPECT_LE(families()[static_cast<std::size_t>(row.family)].inputs.size(), kMaxInputs);
    EXPECT_GT(row.rows_per_group, 0U);
  }
}

TEST(Recipes, MadeTheCommittedWeights) {
  for (const Recipe& row : recipes()) {
    const Family& family = families()[static_cast<std::size_t>(row.family)];
    const FamilyWeights weights =
        read_weights(home() / "calibration" / "weights" / (std::string(family.name) + ".json"));
    EXPECT_EQ(weights.data, row.source) << family.name;
    const std::size_t nets = family.inputs.empty() ? 0 : static_cast<std::size_t>(row.members);
    EXPECT_EQ(weights.nets.size(), nets) << family.name;
    EXPECT_EQ(weights.seen_nets.size(), static_cast<std::size_t>(row.seen_members)) << family.name;
  }
}

}  // namespace
}  // namespace tessera
