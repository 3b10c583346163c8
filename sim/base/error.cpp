#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace tessera {

namespace {
/// Control characters of the user's text would steer the terminal. Lines stay: a message may carry another one.
std::string visible(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n') || byte == 0x7f) {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown += c;
    }
  }
  return shown;
}

std::string join(const std::vector<Diagnostic>& diagnostics) {
  std::string all;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!all.empty()) all += '\n';
    all += to_string(diagnostic);
  }
  return all;
}
}  // namespace

std::string to_string(const Diagnostic& diagnostic) {
  std::string where = diagnostic.file;
  if (diagnostic.line > 0) where += fmt::format(":{}", diagnostic.line);
  if (diagnostic.line > 0 && diagnostic.column > 0) where += fmt::format(":{}", diagnostic.column);
  if (!where.empty()) where += ": ";
  return visible(where + "error: " + diagnostic.message);
}

InputError::InputError(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(join(diagnostics)), diagnostics_(std::move(diagnostics)) {}

InputError::InputError(Diagnostic diagnostic) : InputError(std::vector<Diagnostic>{std::move(diagnostic)}) {}

void assertion_failed(const char* condition, std::string_view why, const char* file, int line) {
  fmt::print(stderr, "{}:{}: bug in tessera: {} ({}); please report it\n", file, line, why, condition);
  std::abort();
}

}  // namespace tessera
