// What the charts have in common.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

/// As text inside an SVG element.
inline std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace tessera
