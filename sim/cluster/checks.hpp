// Keys that must be above zero; shared by the describes of this layer.
#pragma once

#include <string_view>

#include "sim/config/reader.hpp"

namespace tessera {

/// As `Reader::required`, and zero or less is a mistake.
template <class T>
void required_positive(Reader& r, std::string_view key, T& out, std::string_view meaning) {
  T value(1);  // stays where reading fails, so that one mistake is reported once
  r.required(key, value, meaning);
  if (r.has(key) && !(value > T(0))) r.error(key, "must be more than 0");
  if (!r.printing()) out = value;
}

/// As `Reader::optional`, and zero or less is a mistake where the key is given.
template <class T>
void optional_positive(Reader& r, std::string_view key, T& out, std::string_view meaning) {
  if (r.has(key)) {
    required_positive(r, key, out, meaning);
  } else {
    r.optional(key, out, meaning);
  }
}

}  // namespace tessera
