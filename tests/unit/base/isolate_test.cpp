#include "sim/base/isolate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "sim/base/error.hpp"

namespace tessera {
namespace {

std::string failure_of(const std::function<std::string()>& job) {
  try {
    run_isolated(job);
  } catch (const RunError& error) {
    return error.what();
  }
  return "no failure";
}

TEST(Isolate, ReturnsTheStringWhateverItsBytesAndSize) {
  EXPECT_EQ(run_isolated([] { return std::string(); }), "");
  std::string large(5'000'000, 'x');  // far beyond a pipe's buffer
  large[1000] = '\0';
  EXPECT_EQ(run_isolated([&] { return large; }), large);
}

TEST(Isolate, RunsInAnotherProcess) {
  int here = 1;
  const std::string pid = run_isolated([&] {
    here = 2;
    return std::to_string(::getpid());
  });
  EXPECT_NE(pid, std::to_string(::getpid()));
  EXPECT_EQ(here, 1);
}

TEST(Isolate, InputErrorKeepsItsDiagnostics) {
  try {
    run_isolated([]() -> std::string { throw InputError({{"a.yaml", 3, 7, "two\nlines"}, {"", 0, 0, "nowhere"}}); });
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "a.yaml:3:7: error: two\nlines\nerror: nowhere");
    EXPECT_EQ(error.diagnostics().size(), 2);
  }
}

TEST(Isolate, OtherExceptionsBecomeRunErrors) {
  EXPECT_EQ(failure_of([]() -> std::string { throw RunError("does not fit"); }), "does not fit");
  EXPECT_EQ(failure_of([]() -> std::string { throw std::logic_error("odd"); }), "odd");
}

TEST(Isolate, SignalsAreNamed) {
  EXPECT_THAT(failure_of([]() -> std::string {
                ::raise(SIGKILL);
                return "";
              }),
              testing::HasSubstr("SIGKILL"));
  EXPECT_THAT(failure_of([]() -> std::string {
                std::signal(SIGSEGV, SIG_DFL);
                ::raise(SIGSEGV);
                return "";
              }),
              testing::HasSubstr("SIGSEGV"));
}

TEST(Isolate, EndingEarlyIsAFailure) {
  EXPECT_THAT(failure_of([]() -> std::string { ::_exit(0); }), testing::HasSubstr("ended early, with code 0"));
  EXPECT_THAT(failure_of([]() -> std::string { ::_exit(3); }), testing::HasSubstr("ended early, with code 3"));
}

}  // namespace
}  // namespace tessera
