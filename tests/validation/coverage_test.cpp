// Error bars on GPUs that neither the fit nor the bar has seen: how many measurements they hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "calibration/fit.hpp"
#include "sim/cluster/gpu.hpp"

namespace tessera {
namespace {

constexpr std::size_t kRows = 1500;  // per GPU, operator and dtype: enough for shares, and seconds to fit

std::string generation_of(const std::string& gpu) {
  const std::string architecture = find_gpu(gpu).architecture;
  return architecture.substr(0, architecture.find(' '));
}

/// Every generation left out of a fit in turn: its rows' errors.
std::map<std::string, std::vector<Residue>> left_out_errors(Recipe recipe, const std::filesystem::path& folder) {
  recipe.members = 2;
  const Dataset all = recipe.load(folder);
  Dataset data{all.gpus, {}};
  std::map<std::string, std::vector<std::string>> generations;
  for (const std::string& gpu : all.gpus) generations[generation_of(gpu)].push_back(gpu);
  std::vector<Device> devices;
  for (const std::string& gpu : all.gpus) devices.push_back(derive_device(find_gpu(gpu)));
  std::ranges::copy_if(all.samples, std::back_inserter(data.samples),
                       [&](const Sample& s) { return family_of(s.kernel, devices[s.gpu]) == recipe.family; });
  data = thin(data, kRows);
  std::map<std::string, std::vector<Residue>> errors;
  for (const auto& [generation, gpus] : generations) {
    Dataset own{data.gpus, {}};
    std::ranges::copy_if(data.samples, std::back_inserter(own.samples),
                         [&](const Sample& s) { return std::ranges::find(gpus, data.gpus[s.gpu]) != gpus.end(); });
    if (own.samples.empty()) continue;
    errors[generation] = residues_of(fit_family(recipe, data, gpus), recipe, own);
  }
  return errors;
}

void expect_coverage(FamilyId family) {
  const char* folder = std::getenv("TESSERA_DATA");
  if (folder == nullptr) GTEST_SKIP() << "set TESSERA_DATA to the folder of measurements";
  const auto recipe = std::ranges::find(recipes(), family, &Recipe::family);
  const auto errors = left_out_errors(*recipe, folder);
  double inside = 0, all = 0;
  for (const auto& [generation, own] : errors) {
    std::vector<Residue> others;
    for (const auto& [name, rows] : errors) {
      if (name != generation) others.insert(others.end(), rows.begin(), rows.end());
    }
    const Bar bar = fit_bar(others);
    const auto held = std::ranges::count_if(own, [&](const Residue& r) {
      const double scaled = r.error / widened_scale(bar, r.inputs);
      return scaled >= bar.p10 && scaled <= bar.p90;
    });
    const double share = static_cast<double>(held) / static_cast<double>(own.size());
    std::cout << generation << ": " << 100 * share << " % of " << own.size() << " rows inside\n";
    EXPECT_GE(share, 0.5) << generation;
    inside += static_cast<double>(held);
    all += static_cast<double>(own.size());
  }
  EXPECT_GE(inside / all, 0.75);
  EXPECT_LE(inside / all, 0.85);
}

TEST(Coverage, OfMatrixUnitGemms) {
  expect_coverage(FamilyId::gemm_matrix);
}

TEST(Coverage, OfFp32Gemms) {
  expect_coverage(FamilyId::gemm_simt);
}

}  // namespace
}  // namespace tessera
