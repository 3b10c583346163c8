// Strict JSON to nodes with positions.
#pragma once

#include <string>
#include <string_view>

#include "sim/config/node.hpp"

namespace tessera {

/// Throws InputError with the position of the first mistake; a key that appears twice is one.
Node parse_json_nodes(std::string_view text, const std::string& file_name);

}  // namespace tessera
