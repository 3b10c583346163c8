// The families, in the order of FamilyId.
#include <array>

#include "models/attention.hpp"
#include "models/conv.hpp"
#include "models/family.hpp"
#include "models/gemm.hpp"
#include "models/moe.hpp"
#include "models/vector.hpp"

namespace tessera {

std::span<const Family> families() {
  static constexpr std::array kFamilies{
      Family{"gemm_simt", "matrix multiplication on fp32 lanes", kGemmInputs, kGemmSimtConstants, analyse_gemm_simt},
      Family{"gemm_matrix", "matrix multiplication on matrix units", kGemmInputs, kGemmMatrixConstants,
             analyse_gemm_matrix},
      Family{"vector", "elementwise operators", {}, kVectorConstants, analyse_vector},
      Family{"rows", "softmax and norms", {}, kRowsConstants, analyse_rows},
      Family{"memory", "copies, look-ups, optimizer steps", {}, kMemoryConstants, analyse_memory},
      Family{"prefill", "attention over many new tokens, and its backward", kPrefillInputs, kPrefillConstants,
             analyse_prefill},
      Family{"decode", "attention of one new token", kDecodeInputs, kDecodeConstants, analyse_decode, true},
      Family{"conv", "two-dimensional convolution", kConvInputs, kConvConstants, analyse_conv},
      Family{"moe", "grouped matrix multiplications of experts", kMoeInputs, kMoeConstants, analyse_moe},
      Family{"mla_prefill", "latent attention over many new tokens", kPrefillInputs, kPrefillConstants,
             analyse_prefill},
      Family{"mla_decode", "latent attention of one new token", kMlaDecodeInputs, kMlaDecodeConstants,
             analyse_mla_decode},
  };
  return kFamilies;
}

}  // namespace tessera
