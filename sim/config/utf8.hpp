// Tells a text file from a binary or an empty one.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

/// Throws InputError when `text` is empty, or with the position of the first NUL or byte that is not UTF-8.
void check_text(std::string_view text, const std::string& file_name);

}  // namespace tessera
