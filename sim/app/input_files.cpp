#include "sim/app/input_files.hpp"

#include <string>
#include <system_error>

#include <fmt/format.h>

#include "sim/base/error.hpp"

namespace tessera {

void require_different(std::span<const std::filesystem::path> files, std::string_view flag) {
  for (std::size_t i = 0; i < files.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      std::error_code absent;
      if (std::filesystem::equivalent(files[i], files[j], absent))
        throw InputError(
            Diagnostic{.file = std::string(flag), .message = fmt::format("{} is given twice", files[i].string())});
    }
}

}  // namespace tessera
