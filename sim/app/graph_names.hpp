// How files write the enums of sim/graph: once for all sections, in the order of their values.
#pragma once

#include <array>
#include <string_view>

#include "sim/graph/model_config.hpp"

namespace tessera {

constexpr std::array<std::string_view, 2> enum_names(Mode) {
  return {"inference", "training"};
}
constexpr std::array<std::string_view, 3> enum_names(AttentionKind) {
  return {"eager", "flash", "fused_softmax"};
}
constexpr std::array<std::string_view, 2> enum_names(OptimizerKind) {
  return {"none", "adam"};
}

}  // namespace tessera
