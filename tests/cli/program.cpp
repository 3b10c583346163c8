#include "tests/cli/program.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/file.hpp"

namespace tessera::testing {

Outcome run_program(const std::string& arguments, const std::string& before) {
  const Scratch scratch;
  const auto out = scratch.path() / "out", err = scratch.path() / "err";
  const std::string command =
      fmt::format("{}'{}' </dev/null >'{}' 2>'{}' {}", before, TESSERA_BINARY, out.string(), err.string(), arguments);
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(out), read_file(err)};
}

std::string with(std::string text, std::string_view from, std::string_view to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

Scratch::Scratch() {
  std::string name = (std::filesystem::temp_directory_path() / "tessera_test_XXXXXX").string();
  path_ = mkdtemp(name.data());
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string Scratch::file(std::string_view name, std::string_view content) const {
  write_file(path_ / name, content);
  return (path_ / name).string();
}

void expect_refused(const Scratch& scratch, const std::string& scenario, const std::string& position,
                    const std::string& message) {
  const std::string path = scratch.file("s.yaml", scenario);
  const Outcome outcome = run_program("simulate " + path);
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, ::testing::HasSubstr(path + position));
  EXPECT_THAT(outcome.err, ::testing::HasSubstr(message));
}

}  // namespace tessera::testing
