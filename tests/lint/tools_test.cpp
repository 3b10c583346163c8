// clang-format and cppcheck, where they are installed.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/lint/source_tree.hpp"

namespace tessera::lint {
namespace {

struct Outcome {
  int code;
  std::string output;
};

Outcome run(const std::string& command) {
  Outcome outcome{127, ""};
  FILE* pipe = ::popen(("cd '" TESSERA_SOURCE_DIR "' && " + command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  char chunk[4096];
  while (const std::size_t size = std::fread(chunk, 1, sizeof chunk, pipe)) outcome.output.append(chunk, size);
  const int status = ::pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return outcome;
}

TEST(Tools, ClangFormat) {
  // Versions differ in what they make of one and the same style.
  const std::string version = run("clang-format --version").output;
  if (version.find("version 14.") == std::string::npos) GTEST_SKIP() << "clang-format 14 is not installed";
  std::string files;
  for (const auto& [path, text] : read_source_tree()) {
    if (is_code(path)) files += " '" + path + "'";
  }
  const Outcome outcome = run("clang-format --dry-run --Werror" + files);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
}

TEST(Tools, Cppcheck) {
  if (run("cppcheck --version").code != 0) GTEST_SKIP() << "cppcheck is not installed";
  // What is suppressed is what 2.10 gets wrong: it gives up on some C++20, takes designated initialisers for null
  // pointers and braces for calls, and loses track of lifetimes in lambdas and out-parameters.
  const Outcome outcome =
      run("cppcheck --std=c++20 --enable=warning,performance,portability --inline-suppr --suppress=internalAstError"
          " --suppress=nullPointer --suppress=ignoredReturnValue --suppress=danglingLifetime"
          " --suppress=returnDanglingLifetime --error-exitcode=1 --quiet -I . sim models calibration");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
}

}  // namespace
}  // namespace tessera::lint
