#include "models/runtime.hpp"

namespace tessera {

std::string_view to_string(Runtime runtime) {
  static constexpr std::array<std::string_view, kRuntimes.size()> kNames{"",       "pytorch",  "trtllm", "vllm",
                                                                         "sglang", "cublaslt", "other"};
  return kNames[static_cast<std::size_t>(runtime)];
}

Runtime parse_runtime(std::string_view name) {
  for (const Runtime runtime : kRuntimes) {
    if (to_string(runtime) == name) return runtime;
  }
  return Runtime::other;
}

}  // namespace tessera
