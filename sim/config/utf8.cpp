#include "sim/config/utf8.hpp"

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace tessera {

namespace {

/// Length of the UTF-8 sequence at the beginning of `text` (RFC 3629), 0 if there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return lead == 0 ? 0 : 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xED && byte(1) > 0x9F;
  const bool too_large = lead == 0xF4 && byte(1) > 0x8F;
  return overlong || surrogate || too_large ? 0 : length;
}

}  // namespace

void check_text(std::string_view text, const std::string& file_name) {
  if (trim(text).empty()) throw InputError(Diagnostic{.file = file_name, .message = "the file is empty"});
  int line = 1;
  std::size_t line_start = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = sequence_length(text.substr(at));
    if (length == 0) {
      throw InputError(Diagnostic{
          file_name, line, static_cast<int>(at - line_start) + 1,
          fmt::format("a binary file (byte 0x{:02x}); expected text in UTF-8", static_cast<unsigned char>(text[at]))});
    }
    if (text[at] == '\n') {
      ++line;
      line_start = at + 1;
    }
    at += length;
  }
}

}  // namespace tessera
