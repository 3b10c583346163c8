#include "sim/base/dtype.hpp"

namespace tessera {

namespace {
struct Row {
  std::string_view name;
  double bytes;
};
constexpr std::array<Row, kDtypeCount> kRows{
    {{"fp32", 4}, {"tf32", 4}, {"fp16", 2}, {"bf16", 2}, {"fp8", 1}, {"int8", 1}, {"nvfp4", 0.5625}}};
}  // namespace

std::string_view to_string(Dtype dtype) {
  return kRows[static_cast<std::size_t>(dtype)].name;
}

std::optional<Dtype> parse_dtype(std::string_view name) {
  for (Dtype dtype : kDtypes) {
    if (to_string(dtype) == name) return dtype;
  }
  return std::nullopt;
}

Bytes element_size(Dtype dtype) {
  return Bytes(kRows[static_cast<std::size_t>(dtype)].bytes);
}

}  // namespace tessera
