// Descriptions written to a temporary folder, and the message of an InputError.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"

namespace tessera::test {

/// A folder of its own that goes away with the test.
class Folder {
 public:
  Folder() : path_(std::filesystem::path(testing::TempDir()) / ("cluster_test_" + std::to_string(getpid()))) {}
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string write(const std::string& name, const std::string& text) const {
    write_file(path_ / name, text);
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

/// What `act` throws as InputError, without the folders of the files named.
inline std::string mistake(const std::function<void()>& act) {
  try {
    act();
  } catch (const InputError& error) {
    std::string all;
    for (Diagnostic diagnostic : error.diagnostics()) {
      diagnostic.file = std::filesystem::path(diagnostic.file).filename().string();
      all += (all.empty() ? "" : "\n") + to_string(diagnostic);
    }
    return all;
  }
  return "nothing was wrong";
}

/// `text` with the line that starts with `key` replaced; removed where `line` is empty.
inline std::string with_line(const std::string& text, const std::string& key, const std::string& line) {
  const std::size_t at = text.find("\n" + key) + 1;
  const std::size_t end = text.find('\n', at);
  return text.substr(0, at) + (line.empty() ? "" : line + "\n") + text.substr(end + 1);
}

}  // namespace tessera::test
