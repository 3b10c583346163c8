// One line of progress on a terminal, nothing anywhere else.
#pragma once

#include <string_view>

namespace tessera {

/// Shows `text` on stderr while it lives, if stderr is a terminal.
class Progress {
 public:
  explicit Progress(std::string_view text);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  bool shown_;
};

}  // namespace tessera
