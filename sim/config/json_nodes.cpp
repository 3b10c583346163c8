#include "sim/config/json_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "sim/base/error.hpp"

namespace tessera {

namespace {

constexpr std::size_t kMaxDepth = 256;  // deeper is no document of ours, and recursion must end

/// Reads the text and tells how far the parser got, which its call-backs do not.
class Cursor {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor() = default;
  Cursor(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  Cursor operator++(int) {
    const Cursor before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Cursor& other) const { return at_ == other.at_; }

 private:
  const char* at_ = nullptr;
  const char** reached_ = nullptr;
};

class Positions {
 public:
  explicit Positions(std::string_view text) {
    starts_.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') starts_.push_back(i + 1);
    }
  }
  [[nodiscard]] std::pair<int, int> of(std::size_t offset) const {
    const auto next = std::upper_bound(starts_.begin(), starts_.end(), offset);
    const auto line = next - starts_.begin();
    return {static_cast<int>(line), static_cast<int>(offset - *(next - 1)) + 1};
  }

 private:
  std::vector<std::size_t> starts_;
};

/// The parser's call-backs. A call comes when the last character of its token has been read (for a number: one more).
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(std::string_view text, const std::string& file) : text_(text), file_(file), positions_(text) {}

  [[nodiscard]] std::pair<Cursor, Cursor> range() {
    return {Cursor(text_.data(), &reached_), Cursor(text_.data() + text_.size(), &reached_)};
  }
  [[nodiscard]] Node take() { return std::move(root_); }

  bool null() override { return add({.kind = Node::Kind::null}, offset() - 4); }
  bool boolean(bool value) override {
    return add({.kind = Node::Kind::scalar, .scalar = value ? "true" : "false"}, offset() - (value ? 4 : 5));
  }
  bool number_integer(number_integer_t) override { return number(); }
  bool number_unsigned(number_unsigned_t) override { return number(); }
  bool number_float(number_float_t, const string_t&) override { return number(); }
  bool string(string_t& value) override {
    return add({.kind = Node::Kind::scalar, .scalar = value, .quoted = true}, opening_quote());
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Node::Kind::map); }
  bool start_array(std::size_t) override { return open(Node::Kind::sequence); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    const auto [line, column] = positions_.of(opening_quote());
    if (open_.back()->find(name) != nullptr) fail(line, column, fmt::format("key '{}' appears twice", name));
    open_.back()->fields.emplace_back(name, Node{.key_line = line, .key_column = column});
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::json::exception& error) override {
    const auto [line, column] = positions_.of(std::min(byte == 0 ? 0 : byte - 1, text_.size()));
    const std::string_view what = error.what();  // "[json...] parse error at line 1, column 2: syntax error while ..."
    const std::size_t colon = what.find(": ");
    fail(line, column, fmt::format("not JSON: {}", colon == what.npos ? what : what.substr(colon + 2)));
  }

 private:
  [[noreturn]] void fail(int line, int column, std::string message) const {
    throw InputError(Diagnostic{file_, line, column, std::move(message)});
  }
  [[nodiscard]] std::size_t offset() const { return static_cast<std::size_t>(reached_ - text_.data()); }

  /// Offset of the quote that opens the string that ends here; quotes inside have an odd number of backslashes before.
  [[nodiscard]] std::size_t opening_quote() const {
    for (std::size_t quote = text_.rfind('"', offset() - 2);; quote = text_.rfind('"', quote - 1)) {
      std::size_t before = quote;
      while (before > 0 && text_[before - 1] == '\\') --before;
      if ((quote - before) % 2 == 0) return quote;
    }
  }

  bool number() {
    constexpr std::string_view kNumber = "+-.0123456789eE";
    const std::size_t last = text_.find_last_of(kNumber, offset() - 1);
    const std::size_t before = text_.find_last_not_of(kNumber, last);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    return add({.kind = Node::Kind::scalar, .scalar = std::string(text_.substr(begin, last - begin + 1))}, begin);
  }

  bool open(Node::Kind kind) {
    const auto [line, column] = positions_.of(offset() - 1);
    if (open_.size() >= kMaxDepth) fail(line, column, fmt::format("nested deeper than {} levels", kMaxDepth));
    open_.push_back(place({.kind = kind}, offset() - 1));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  bool add(Node node, std::size_t begin) {
    place(std::move(node), begin);
    return true;
  }
  Node* place(Node node, std::size_t begin) {
    std::tie(node.line, node.column) = positions_.of(begin);
    if (open_.empty()) return &(root_ = std::move(node));
    Node& parent = *open_.back();
    if (parent.kind == Node::Kind::sequence) return &parent.items.emplace_back(std::move(node));
    Node& field = parent.fields.back().second;
    node.key_line = field.key_line;
    node.key_column = field.key_column;
    return &(field = std::move(node));
  }

  std::string_view text_;
  const std::string& file_;
  Positions positions_;
  const char* reached_ = nullptr;
  Node root_;
  std::vector<Node*> open_;  // a parent does not grow while a child of it is open
};

}  // namespace

Node parse_json_nodes(std::string_view text, const std::string& file_name) {
  Builder builder(text, file_name);
  const auto [first, last] = builder.range();
  nlohmann::json::sax_parse(first, last, &builder);
  return builder.take();
}

}  // namespace tessera
