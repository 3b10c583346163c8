#include "sim/config/node.hpp"

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/config/json_nodes.hpp"
#include "sim/config/utf8.hpp"

namespace tessera {

namespace {

constexpr int kMaxDepth = 256;          // an alias may contain itself
constexpr std::size_t kMaxNodes = 1e7;  // and aliases of aliases multiply

class Converter {
 public:
  explicit Converter(const std::string& file) : file_(file) {}

  Node convert(const YAML::Node& from, int depth = 0) {
    const YAML::Mark mark = from.Mark();
    Node node{.line = mark.line + 1, .column = mark.column + 1};
    if (depth > kMaxDepth || ++count_ > kMaxNodes) fail(mark, "nested too deeply, or too many aliases");
    const std::string& tag = from.Tag();
    if (!tag.empty() && tag != "?" && tag != "!") fail(mark, fmt::format("tags ('{}') are not supported", tag));
    if (from.IsScalar()) {
      node.kind = Node::Kind::scalar;
      node.scalar = from.Scalar();
      node.quoted = tag == "!";
    } else if (from.IsSequence()) {
      node.kind = Node::Kind::sequence;
      for (const YAML::Node& item : from) node.items.push_back(convert(item, depth + 1));
    } else if (from.IsMap()) {
      node.kind = Node::Kind::map;
      for (const auto& field : from) add_field(node, field.first, field.second, depth);
    }
    return node;
  }

 private:
  [[noreturn]] void fail(const YAML::Mark& mark, std::string message) const {
    throw InputError(Diagnostic{file_, mark.line + 1, mark.column + 1, std::move(message)});
  }

  void add_field(Node& map, const YAML::Node& key, const YAML::Node& value, int depth) {
    if (!key.IsScalar()) fail(key.Mark(), "expected a name as key");
    const std::string& name = key.Scalar();
    if (name == "<<") fail(key.Mark(), "merge keys ('<<') are not supported; write the keys out");
    if (const Node* first = map.find(name)) {
      fail(key.Mark(), fmt::format("key '{}' appears twice; first in line {}", name, first->key_line));
    }
    Node& field = map.fields.emplace_back(name, convert(value, depth + 1)).second;
    field.key_line = key.Mark().line + 1;
    field.key_column = key.Mark().column + 1;
  }

  const std::string& file_;
  std::size_t count_ = 0;
};

Node parse_yaml_nodes(std::string_view text, const std::string& file) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.size() > 1) {
      const YAML::Mark mark = documents[1].Mark();
      throw InputError(Diagnostic{file, mark.line + 1, mark.column + 1, "expected one document, found a second one"});
    }
    if (documents.empty() || documents.front().IsNull()) throw InputError(Diagnostic{file, 0, 0, "the file is empty"});
    return Converter(file).convert(documents.front());
  } catch (const YAML::DeepRecursion& error) {
    throw InputError(Diagnostic{file, error.mark.line + 1, error.mark.column + 1, "nested too deeply"});
  } catch (const YAML::Exception& error) {
    throw InputError(Diagnostic{file, error.mark.line + 1, error.mark.column + 1, "not YAML: " + error.msg});
  }
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const auto& field) { return field.first == key; });
  return found == fields.end() ? nullptr : &found->second;
}

Document parse_document(const std::filesystem::path& path) {
  return parse_text(read_file(path), path.string(), path.extension() == ".json");
}

Document parse_text(std::string_view text, std::string file_name, bool json) {
  check_text(text, file_name);
  Node root = json ? parse_json_nodes(text, file_name) : parse_yaml_nodes(text, file_name);
  return {std::move(file_name), std::move(root)};
}

}  // namespace tessera
