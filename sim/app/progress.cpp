#include "sim/app/progress.hpp"

#include <unistd.h>

#include <cstdio>

#include <fmt/format.h>

namespace tessera {

Progress::Progress(std::string_view text) : shown_(isatty(STDERR_FILENO) != 0) {
  if (!shown_) return;
  fmt::print(stderr, "{} ...", text);
  std::fflush(stderr);
}

Progress::~Progress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

}  // namespace tessera
