#include "sim/base/isolate.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace tessera {

namespace {

// What the child sends: one letter, then the text. Diagnostics are fields that end in NUL.
constexpr char kResult = 'R';
constexpr char kInputError = 'I';
constexpr char kFailure = 'F';

std::string pack(const std::vector<Diagnostic>& diagnostics) {
  std::string packed;
  for (const Diagnostic& d : diagnostics) {
    packed += fmt::format("{}{}{}{}{}{}{}{}", d.file, '\0', d.line, '\0', d.column, '\0', d.message, '\0');
  }
  return packed;
}

std::vector<Diagnostic> unpack(std::string_view packed) {
  std::vector<Diagnostic> diagnostics;
  const std::vector<std::string> fields = split(packed, '\0');
  for (std::size_t i = 0; i + 3 < fields.size(); i += 4) {
    diagnostics.push_back({fields[i], std::stoi(fields[i + 1]), std::stoi(fields[i + 2]), fields[i + 3]});
  }
  return diagnostics;
}

std::string outcome(const std::function<std::string()>& job) {
  try {
    return kResult + job();
  } catch (const InputError& error) {
    return kInputError + pack(error.diagnostics());
  } catch (const std::exception& error) {
    return kFailure + std::string(error.what());
  }
}

void send(int pipe, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::write(pipe, text.data(), text.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) ::_exit(1);
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string receive(int pipe) {
  std::string text;
  char chunk[65536];
  for (;;) {
    const ssize_t got = ::read(pipe, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(chunk, static_cast<std::size_t>(got));
  }
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitpid");
  }
  return status;
}

}  // namespace

std::string run_isolated(const std::function<std::string()>& job) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    ::close(ends[0]);
    send(ends[1], outcome(job));
    ::_exit(0);  // no destructors or buffers of the parent's here
  }
  ::close(ends[1]);
  const std::string text = receive(ends[0]);
  ::close(ends[0]);
  const int status = wait_for(child);
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const char* name = ::sigabbrev_np(signal);
    throw RunError(
        fmt::format("the run's process was ended by SIG{} ({})", name != nullptr ? name : "?", ::strsignal(signal)));
  }
  if (text.empty() || WEXITSTATUS(status) != 0) {
    throw RunError(fmt::format("the run's process ended early, with code {}", WEXITSTATUS(status)));
  }
  if (text.front() == kInputError) throw InputError(unpack(std::string_view(text).substr(1)));
  if (text.front() == kFailure) throw RunError(text.substr(1));
  return text.substr(1);
}

}  // namespace tessera
