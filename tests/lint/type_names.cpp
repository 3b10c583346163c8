#include "tests/lint/type_names.hpp"

#include <map>
#include <regex>
#include <sstream>

namespace tessera::lint {

namespace {

bool is_of_the_library(const std::string& path) {
  return is_code(path) && !path.starts_with("tests/") && !path.starts_with("calibration/microbench/cuda/");
}

/// The namespace that a line is in, as clang-format writes them: openings and closings at the line's beginning.
class NamespaceStack {
 public:
  void read(const std::string& line) {
    if (line.starts_with("}  // namespace") && !names_.empty()) names_.pop_back();
    static const std::regex opening(R"(^(inline )?namespace ([\w:]*) ?\{)");
    if (std::smatch found; std::regex_search(line, found, opening)) names_.push_back(found[2]);
  }
  /// Empty where a name is the file's own.
  std::string name() const {
    std::string joined;
    for (const std::string& name : names_) {
      if (name.empty()) return {};
      joined += name + "::";
    }
    return joined;
  }

 private:
  std::vector<std::string> names_;
};

}  // namespace

std::vector<std::string> repeated_type_names(const SourceTree& tree) {
  static const std::regex definition(
      R"(^(?:struct|class|union|enum(?: class)?) (?:\[\[\w+\]\] )?(\w+)(?: final)?(?: :[^:;][^;{]*)?(?: \{.*)?$)");
  std::map<std::string, std::string> file_of;
  std::vector<std::string> repeated;
  for (const auto& [path, text] : tree) {
    if (!is_of_the_library(path)) continue;
    NamespaceStack stack;
    std::istringstream lines(text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      stack.read(line);
      std::smatch found;
      if (stack.name().empty() || !std::regex_search(line, found, definition)) continue;
      const auto [first, is_new] = file_of.emplace(stack.name() + found[1].str(), path);
      if (!is_new) {
        repeated.push_back(path + ":" + std::to_string(number) + ": " + found[1].str() + " is also " + first->second +
                           "'s");
      }
    }
  }
  return repeated;
}

}  // namespace tessera::lint
