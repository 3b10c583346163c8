// Runs the built program as a user does.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tessera::testing {

struct Outcome {
  int code = -1;
  std::string out, err;
};

/// `tessera ARGUMENTS` by the shell; redirections among the arguments have the last word.
/// `before` is what the shell does first.
Outcome run_program(const std::string& arguments, const std::string& before = "");

/// `text` with its first `from` replaced; a test failure where there is none.
std::string with(std::string text, std::string_view from, std::string_view to);

/// A folder for one test, gone afterwards.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Writes a file and returns its path.
  [[nodiscard]] std::string file(std::string_view name, std::string_view content) const;

 private:
  std::filesystem::path path_;
};

/// A wrong scenario: `simulate` prints nothing, names the file with `position` (":3:5: error: ") and `message`, exit 2.
void expect_refused(const Scratch& scratch, const std::string& scenario, const std::string& position,
                    const std::string& message);

}  // namespace tessera::testing
