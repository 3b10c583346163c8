#include "tests/lint/source_tree.hpp"

#include <filesystem>

#include "sim/base/file.hpp"

namespace tessera::lint {

namespace fs = std::filesystem;

SourceTree read_source_tree() {
  const fs::path root = TESSERA_SOURCE_DIR;
  SourceTree tree;
  for (fs::recursive_directory_iterator it(root), end; it != end; ++it) {
    const std::string name = it->path().filename().string();
    const bool foreign = (name.starts_with('.') && name != ".ci") || name.starts_with("build") || name == "results";
    if (it->is_directory() && foreign) {
      it.disable_recursion_pending();
    } else if (it->is_regular_file() && it->path().extension() != ".gz") {
      tree[fs::relative(it->path(), root).string()] = read_file(it->path());
    }
  }
  return tree;
}

bool is_header(const std::string& path) {
  return path.ends_with(".hpp");
}

bool is_code(const std::string& path) {
  return is_header(path) || path.ends_with(".cpp") || path.ends_with(".cu");
}

}  // namespace tessera::lint
