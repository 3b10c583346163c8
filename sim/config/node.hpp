// A parsed document (YAML or JSON) with the position of every value; free of third-party types.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

/// One value of a document. Maps keep their order; scalars keep their text as written.
struct Node {
  enum class Kind { null, scalar, sequence, map };
  Kind kind = Kind::null;
  std::string scalar{};
  bool quoted = false;                                 // "12" is text, 12 is a number
  std::vector<Node> items{};                           // sequence
  std::vector<std::pair<std::string, Node>> fields{};  // map
  int line = 0, column = 0;                            // of the value, from 1
  int key_line = 0, key_column = 0;                    // of its key, where it is a field
  std::string origin{};                                // where it comes from, if not the document's file

  [[nodiscard]] const Node* find(std::string_view key) const;
};

struct Document {
  std::string file;  // as named in messages
  Node root;
};

/// Parse errors, duplicate keys, `<<` merges, empty and binary files throw InputError with positions.
/// JSON files (ending .json) are checked as strict JSON.
Document parse_document(const std::filesystem::path& path);
Document parse_text(std::string_view text, std::string file_name, bool json = false);

/// Sets `path` ("runs.train.parallel.tp", "runs[0].parallel.tp"; a name selects the item whose `name` it is) to
/// the YAML value `value`; adds the keys that are missing. Throws InputError naming `--set` when the path leads through
/// what is not a map, or to no item of a list.
void set_value(Document& document, std::string_view path, std::string_view value);
/// Several, each written "path=value"; throws all their mistakes.
void set_values(Document& document, std::span<const std::string> settings);

}  // namespace tessera
