// How each family is fitted; the options were chosen by pooled leave-one-GPU-out error.
#include <array>

#include "calibration/aiconfigurator.hpp"
#include "calibration/fit.hpp"
#include "calibration/neusight.hpp"

namespace tessera {

namespace {

/// AIConfigurator's rows, and NeuSight's of GPUs whose matrix unit takes fp32 (AMD; the source has only split=test
/// there).
Dataset read_gemm_matrix(const std::filesystem::path& data) {
  Dataset all = read_aic_gemm(data);
  const Dataset fp32 = read_neusight_gemm(data);
  for (std::size_t gpu = 0; gpu < fp32.gpus.size(); ++gpu) {
    if (find_gpu(fp32.gpus[gpu]).matrix_unit != MatrixUnit::mfma) continue;
    for (Sample sample : fp32.samples) {
      if (sample.gpu != gpu) continue;
      sample.gpu = all.gpu_index(fp32.gpus[gpu]);
      sample.fit = true;
      all.samples.push_back(sample);
    }
  }
  return all;
}

}  // namespace

std::span<const Recipe> recipes() {
  static const std::array kRecipes{
      Recipe{.family = FamilyId::gemm_simt,
             .source = "sitar-lab/NeuSight 6945927 (MIT): linear, bmm; split=train",
             .load = read_neusight_gemm,
             .train = {.hidden = {48, 48}, .epochs = 12, .weight_decay = 1},
             .members = 3,
             .rows_per_group = 6000,
             .fit_constants = true},
      Recipe{.family = FamilyId::gemm_matrix,
             .source = "ai-dynamo/aiconfigurator 095f58a (Apache-2.0): gemm; sitar-lab/NeuSight 6945927 (MIT): AMD",
             .load = read_gemm_matrix,
             .train = {.hidden = {48, 48}, .epochs = 12, .weight_decay = 1},
             .members = 3,
             .rows_per_group = 8000,
             .session_offsets = false,
             .fit_constants = true,
             .train_seen = {.hidden = {64, 64}, .epochs = 25},
             .seen_members = 3},
      Recipe{.family = FamilyId::vector,
             .source = "sitar-lab/NeuSight 6945927 (MIT): elementwise; split=train",
             .load = read_neusight_vector,
             .train = {},
             .rows_per_group = 400,
             .fit_constants = true},
      Recipe{.family = FamilyId::rows,
             .source = "sitar-lab/NeuSight 6945927 (MIT): softmax, layernorm; split=train",
             .load = read_neusight_vector,
             .train = {},
             .rows_per_group = 1000,
             .fit_constants = true},
      Recipe{.family = FamilyId::memory,
             .source = "sitar-lab/NeuSight 6945927 (MIT): elementwise; split=train",
             .load = read_neusight_copies,
             .train = {},
             .rows_per_group = 1000,
             .fit_constants = true},
      Recipe{.family = FamilyId::prefill,
             .source = "ai-dynamo/aiconfigurator 095f58a (Apache-2.0): context_attention, bf16",
             .load = read_aic_prefill,
             .train = {.hidden = {32, 32}, .epochs = 15, .weight_decay = 0.5},
             .members = 3,
             .rows_per_group = 10000,
             .session_offsets = false,
             .fit_constants = true,
             .train_seen = {.hidden = {48, 48}, .epochs = 20},
             .seen_members = 2},
      Recipe{.family = FamilyId::decode,
             .source = "ai-dynamo/aiconfigurator 095f58a (Apache-2.0): generation_attention, bf16",
             .load = read_aic_decode,
             .train = {.hidden = {48, 48}, .epochs = 15, .weight_decay = 0.1},
             .members = 3,
             .rows_per_group = 10000,
             .session_offsets = false,
             .fit_constants = true,
             .train_seen = {.hidden = {48, 48}, .epochs = 20},
             .seen_members = 2},
      Recipe{.family = FamilyId::conv,
             .source = "sitar-lab/NeuSight 6945927 (MIT): conv; split=train",
             .load = read_neusight_conv,
             .train = {.hidden = {16, 16}, .epochs = 15},
             .members = 3,
             .rows_per_group = 5000},
      Recipe{.family = FamilyId::moe,
             .source = "ai-dynamo/aiconfigurator 095f58a (Apache-2.0): moe, bf16 and fp8",
             .load = read_aic_moe,
             .train = {.hidden = {16, 16}, .epochs = 10},
             .members = 3,
             .rows_per_group = 6000,
             .train_seen = {.hidden = {48, 48}, .epochs = 20},
             .seen_members = 2},
      Recipe{.family = FamilyId::mla_prefill,
             .source = "ai-dynamo/aiconfigurator 095f58a (Apache-2.0): context_mla, bf16",
             .load = read_aic_mla_prefill,
             .train = {.hidden = {32, 32}, .epochs = 15, .weight_decay = 0.5},
             .members = 3,
             .rows_per_group = 3000,
             .fit_constants = true,
             .train_seen = {.hidden = {48, 48}, .epochs = 20},
             .seen_members = 2},
      Recipe{.family = FamilyId::mla_decode,
             .source = "ai-dynamo/aiconfigurator 095f58a (Apache-2.0): generation_mla, bf16",
             .load = read_aic_mla_decode,
             .train = {.hidden = {32, 32}, .epochs = 15, .weight_decay = 0.5},
             .members = 3,
             .rows_per_group = 3000,
             .fit_constants = true,
             .train_seen = {.hidden = {48, 48}, .epochs = 20},
             .seen_members = 2},
  };
  return kRecipes;
}

}  // namespace tessera
