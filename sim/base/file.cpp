#include "sim/base/file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace tessera {

namespace fs = std::filesystem;

namespace {

/// Names beside a missing file, for the hint.
std::vector<std::string> siblings(const fs::path& path) {
  std::vector<std::string> names;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

[[noreturn]] void unreadable(const fs::path& path, std::string message) {
  throw InputError(Diagnostic{.file = path.string(), .message = std::move(message)});
}

constexpr std::size_t kMaxStream = std::size_t{256} << 20;  // a device may never end

std::string read_stream(std::istream& in, const fs::path& path) {
  std::string content;
  std::string chunk(std::size_t{1} << 16, '\0');
  while (in) {
    in.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    content.append(chunk, 0, static_cast<std::size_t>(in.gcount()));
    if (content.size() > kMaxStream) unreadable(path, "gives more than 256 MiB; expected a file or a shorter stream");
  }
  return content;
}

[[noreturn]] void unwritable(const fs::path& path, const std::string& why) {
  throw RunError(fmt::format("cannot write {}: {}", path.string(), why));
}

/// The file that a chain of links leads to, there or not; a chain of 40 is a circle to the system, too.
fs::path behind_links(fs::path path) {
  std::error_code failed;
  for (int i = 0; i < 40 && fs::is_symlink(fs::symlink_status(path, failed)); ++i) {
    path = path.parent_path() / fs::read_symlink(path, failed);
  }
  return path;
}

void write_through(const fs::path& path, std::string_view content) {
  std::ofstream out(path, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out) unwritable(path, "the device is full or does not take it");
}

void write_and_rename(const fs::path& path, std::string_view content) {
  const fs::path beside = path.parent_path() / fmt::format(".{}.{}.tmp", path.filename().string(), ::getpid());
  std::ofstream out(beside, std::ios::binary | std::ios::trunc);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  std::error_code failed;
  if (out) fs::rename(beside, path, failed);
  if (!out || failed) {
    std::error_code ignored;
    fs::remove(beside, ignored);
    unwritable(path, failed ? failed.message() : "the folder is not writable or the disk is full");
  }
}

}  // namespace

std::string read_file(const fs::path& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (status.type() == fs::file_type::not_found) {
    unreadable(path, "no such file" + did_you_mean(path.filename().string(), siblings(path)));
  }
  if (failed) unreadable(path, "cannot be read: " + failed.message());
  if (fs::is_directory(status)) unreadable(path, "is a folder; expected a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) unreadable(path, "cannot be opened for reading");
  std::string content;
  if (const auto size = fs::file_size(path, failed); !failed && fs::is_regular_file(status)) {
    content.resize(size);
    in.read(content.data(), static_cast<std::streamsize>(size));
    content.resize(static_cast<std::size_t>(in.gcount()));
  } else {
    content = read_stream(in, path);
  }
  if (in.bad()) unreadable(path, "cannot be read");
  return content;
}

void write_file(const fs::path& path, std::string_view content) {
  std::error_code failed;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), failed);
  const fs::file_status status = fs::status(path, failed);
  if (status.type() == fs::file_type::none) unwritable(path, failed.message());
  if (fs::is_other(status)) return write_through(path, content);
  write_and_rename(behind_links(path), content);
}

}  // namespace tessera
