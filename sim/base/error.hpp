// The three kinds of failure: bad input (exit 2), an infeasible or failed run (exit 1), a bug (abort).
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// One mistake in a user's file or flag. `line` and `column` count from 1; 0 means not known.
struct Diagnostic {
  std::string file{};
  int line = 0;
  int column = 0;
  std::string message{};  // what was found, what was expected, the nearest valid name
};

/// "file:line:col: error: message", leaving out what is not known; control characters as \x1b.
std::string to_string(const Diagnostic& diagnostic);

/// Everything wrong with the user's input, at once. Printed by main only; exit code 2.
class InputError : public std::runtime_error {
 public:
  explicit InputError(std::vector<Diagnostic> diagnostics);
  explicit InputError(Diagnostic diagnostic);
  [[nodiscard]] const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

/// A run that cannot be done or failed (does not fit, deadlock, unwritable file); exit code 1.
class RunError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[noreturn]] void assertion_failed(const char* condition, std::string_view why, const char* file, int line);

}  // namespace tessera

/// For bugs only, on in every build; never reachable from user input.
#define TESSERA_ASSERT(condition, why) \
  ((condition) ? void(0) : ::tessera::assertion_failed(#condition, why, __FILE__, __LINE__))
