// Whose kernels run: libraries differ on one GPU and shape by 5 to 30 %.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tessera {

enum class Runtime : std::uint8_t {
  unspecified,  // decode: the fastest of the fitted runtimes' kernels; all other families: their typical kernel
  pytorch,
  trtllm,
  vllm,
  sglang,
  cublaslt,
  other,  // named, but none of these
};
inline constexpr std::array kRuntimes{Runtime::unspecified, Runtime::pytorch,  Runtime::trtllm, Runtime::vllm,
                                      Runtime::sglang,      Runtime::cublaslt, Runtime::other};

/// As in the `validate` contract; empty for `unspecified`.
std::string_view to_string(Runtime runtime);
/// `unspecified` for an empty name, `other` for one that is none of the contract's.
Runtime parse_runtime(std::string_view name);

}  // namespace tessera
