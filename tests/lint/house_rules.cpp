#include "tests/lint/house_rules.hpp"

#include <algorithm>
#include <array>
#include <regex>
#include <span>
#include <sstream>
#include <string_view>

namespace tessera::lint {

namespace {

constexpr int kMaxLines = 400;

struct Rule {
  const char* pattern;
  const char* what;
  bool (*applies)(const std::string& path);
};

bool in_layers(const std::string& path) {
  return is_code(path) && !path.starts_with("tests/");
}
bool below_app(const std::string& path) {
  return in_layers(path) && !path.starts_with("sim/app/") && path != "sim/base/error.cpp";
}
bool anywhere(const std::string& path) {
  return path != ".ci/run" && !path.starts_with("tests/lint/");
}

constexpr std::array kCodeRules{
    Rule{R"(\b(std::)?(shared_ptr|make_shared)\b)", "shared ownership; use a value or unique_ptr", in_layers},
    Rule{R"((^|[^_\w])exit\()", "exit; throw RunError or InputError", in_layers},
    Rule{R"(\busing namespace (?!literals))", "using namespace in a header", is_header},
    Rule{R"(\bstd::(cout|cerr|clog)\b|\b(std::)?f?printf\(|\bfmt::print\()", "printing below sim/app", below_app},
};
constexpr std::array kTextRules{
    Rule{R"(\b(TODO|FIXME|XXX)\b)", "unfinished business", anywhere},
    Rule{R"((^|[\s"'`(=])/(home|work|root|tmp)/)", "a path of one machine", anywhere},
    Rule{R"((^|[\s"'`(/=])shared/)", "a folder outside the repository", anywhere},
};

std::string without_comment(const std::string& line) {
  return line.substr(0, line.find("//"));
}

/// Rules with their patterns compiled, which takes longer than the search.
class RuleSet {
 public:
  explicit RuleSet(std::span<const Rule> rules) : rules_(rules) {
    for (const Rule& rule : rules) patterns_.emplace_back(rule.pattern, std::regex::optimize);
  }
  template <class Report>
  void apply(const std::string& path, const std::string& line, Report report) const {
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (rules_[i].applies(path) && std::regex_search(line, patterns_[i])) report(rules_[i].what);
    }
  }

 private:
  std::span<const Rule> rules_;
  std::vector<std::regex> patterns_;
};

class Checker {
 public:
  std::vector<std::string> violations;

  void check(const std::string& path, const std::string& text) {
    std::istringstream lines(text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      const auto report = [&](const char* what) { add(path, number, what); };
      text_rules_.apply(path, line, report);
      code_rules_.apply(path, without_comment(line), report);
    }
    if (in_layers(path)) check_catches(path, text);
    if (is_code(path) && number > kMaxLines) add(path, number, "more than 400 lines");
    if (is_header(path) && !text.starts_with("// ")) add(path, 1, "a header begins with what it is, in one sentence");
    if (is_header(path) && text.find("\n#pragma once\n") == std::string::npos) add(path, 1, "no #pragma once");
  }

 private:
  /// Who catches everything must throw or keep it: it may be SimGrid's own.
  void check_catches(const std::string& path, const std::string& text) {
    static constexpr std::string_view kCatch = "catch (...)";
    for (std::size_t at = text.find(kCatch); at != std::string::npos; at = text.find(kCatch, at + 1)) {
      const std::string body = text.substr(at, text.find('}', at) - at);
      if (body.find("throw;") != std::string::npos || body.find("current_exception") != std::string::npos) continue;
      const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
      add(path, static_cast<int>(line), "catches everything and loses it");
    }
  }

  void add(const std::string& path, int line, std::string_view what) {
    violations.push_back(path + ":" + std::to_string(line) + ": " + std::string(what));
  }

  RuleSet text_rules_{kTextRules};
  RuleSet code_rules_{kCodeRules};
};

}  // namespace

std::vector<std::string> house_violations(const SourceTree& tree) {
  Checker checker;
  for (const auto& [path, text] : tree) checker.check(path, text);
  return checker.violations;
}

}  // namespace tessera::lint
