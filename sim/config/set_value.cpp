#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/config/node.hpp"

namespace tessera {

namespace {

/// One step of a path: a name, or an index in brackets.
struct Step {
  std::string name{};
  std::optional<std::size_t> index{};
};

class Setter {
 public:
  Setter(std::string_view path, std::string_view value) : origin_(fmt::format("--set {}={}", path, value)) {}

  [[noreturn]] void fail(const std::string& message) const {
    throw InputError(Diagnostic{.file = origin_, .message = message});
  }

  [[nodiscard]] std::vector<Step> steps(std::string_view path) const {
    std::vector<Step> result;
    for (const std::string& part : split(path, '.')) {
      const std::size_t bracket = part.find('[');
      const std::string name = part.substr(0, bracket);
      if (name.empty()) fail("expected a path such as runs.train.parallel.tp or runs[0].parallel.tp");
      result.push_back({.name = name});
      std::string_view rest = std::string_view(part).substr(name.size());
      while (!rest.empty()) {
        std::size_t index = 0;
        const auto [end, wrong] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), index);
        const auto length = static_cast<std::size_t>(end - rest.data());
        if (rest.front() != '[' || wrong != std::errc{} || length >= rest.size() || *end != ']') {
          fail(fmt::format("expected an index such as [0], found '{}'", rest));
        }
        result.push_back({.index = index});
        rest.remove_prefix(length + 1);
      }
    }
    return result;
  }

  /// The node that `step` leads to. A field that is missing is added: whether it may be there, the reader knows.
  Node& follow(Node& node, const Step& step, const std::string& so_far) const {
    if (step.index) {
      if (node.kind != Node::Kind::sequence) fail(fmt::format("{} is not a list", so_far));
      if (*step.index < node.items.size()) return node.items[*step.index];
      fail(fmt::format("{} has {} items; there is no [{}]", so_far, node.items.size(), *step.index));
    }
    std::vector<std::string> names;
    if (node.kind == Node::Kind::sequence) {
      for (Node& item : node.items) {
        const Node* name = item.find("name");
        if (name != nullptr && name->scalar == step.name) return item;
        if (name != nullptr) names.push_back(name->scalar);
      }
    } else if (node.kind != Node::Kind::scalar) {
      for (auto& [name, field] : node.fields) {
        if (name == step.name) return field;
      }
      node.kind = Node::Kind::map;
      return node.fields.emplace_back(step.name, Node{.origin = origin_}).second;
    }
    fail(fmt::format("{} has no '{}'{}", so_far, step.name, did_you_mean(step.name, names)));
  }

  void mark(Node& node) const {
    node.origin = origin_;
    node.line = node.key_line = 0;
    for (Node& item : node.items) mark(item);
    for (auto& field : node.fields) mark(field.second);
  }

  [[nodiscard]] Node value(std::string_view text) const {
    Node list = parse_text("- " + std::string(text), origin_).root;
    mark(list.items.front());
    return std::move(list.items.front());
  }

 private:
  std::string origin_;
};

}  // namespace

void set_value(Document& document, std::string_view path, std::string_view value) {
  const Setter setter(path, value);
  const std::vector<Step> steps = setter.steps(path);
  Node* node = &document.root;
  std::string so_far = "the document";
  for (std::size_t i = 0; i < steps.size(); ++i) {
    node = &setter.follow(*node, steps[i], so_far);
    if (steps[i].index) {
      so_far += fmt::format("[{}]", *steps[i].index);
    } else {
      so_far = i == 0 ? steps[i].name : so_far + "." + steps[i].name;
    }
  }
  *node = setter.value(value);
}

void set_values(Document& document, std::span<const std::string> settings) {
  std::vector<Diagnostic> mistakes;
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos) {
      mistakes.push_back({.file = "--set", .message = fmt::format("'{}' is not of the form path=value", setting)});
      continue;
    }
    try {
      set_value(document, setting.substr(0, equals), setting.substr(equals + 1));
    } catch (const InputError& error) {
      mistakes.insert(mistakes.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  }
  if (!mistakes.empty()) throw InputError(std::move(mistakes));
}

}  // namespace tessera
