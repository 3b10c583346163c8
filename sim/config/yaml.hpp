// Writes a document as YAML that `parse_document` reads back.
#pragma once

#include <string>
#include <string_view>

#include "sim/config/json.hpp"

namespace tessera {

/// Maps and lists in block style, in their order; text that would be read as a number, a word of YAML or a mark is
/// quoted. `comment`: lines put first.
std::string yaml_text(const Json& root, std::string_view comment = {});

}  // namespace tessera
