// How each family is fitted; the options were chosen by pooled leave-one-GPU-out error.
#include <array>

#include "calibration/aiconfigurator.hpp"
#include "calibration/fit.hpp"
#include "calibration/neusight.hpp"

namespace tessera {

std::span<const Recipe> recipes() {
  static const std::array kRecipes{
      Recipe{.family = FamilyId::gemm_simt,
             .source = "sitar-lab/NeuSight 6945927 (MIT): linear, bmm; split=train",
             .load = read_neusight_gemm,
             .train = {.hidden = {48, 48}, .epochs = 15},
             .members = 3,
             .rows_per_group = 8000},
      Recipe{.family = FamilyId::gemm_matrix,
             .source = "ai-dynamo/aiconfigurator 095f58a (Apache-2.0): gemm",
             .load = read_aic_gemm,
             .train = {.hidden = {48, 48}, .epochs = 15},
             .members = 3,
             .rows_per_group = 15000},
  };
  return kRecipes;
}

}  // namespace tessera
