#include "sim/config/yaml.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "sim/base/text.hpp"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 10> kWords{"", "~", "null", "Null", "NULL", "true", "false", "yes", "no", "on"};

bool reads_as_number(std::string_view text) {
  double number = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  return wrong != std::errc::invalid_argument && end == text.data() + text.size();
}

/// Plain YAML takes it for the same text.
bool is_plain(std::string_view text) {
  constexpr std::string_view kFirst = "-?:,[]{}#&*!|>'\"%@`+. ";
  if (std::ranges::find(kWords, text) != kWords.end() || reads_as_number(text)) return false;
  if (kFirst.find(text.front()) != std::string_view::npos || text.back() == ' ' || text.back() == ':') return false;
  if (text.find(": ") != std::string_view::npos || text.find(" #") != std::string_view::npos) return false;
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::string scalar(const Json& value) {
  if (!value.is_string()) return value.dump(-1);
  return is_plain(value.text()) ? value.text() : value.dump(-1);
}

bool is_leaf(const Json& value) {
  return !(value.is_object() && !value.fields().empty()) && !(value.is_array() && !value.items().empty());
}

class Writer {
 public:
  void write(const Json& value, std::size_t indent) {
    if (value.is_array())
      for (const Json& item : value.items()) {
        margin(indent);
        text_ += "-";
        put(item, indent);
      }
    else
      for (const auto& [key, field] : value.fields()) {
        margin(indent);
        text_ += scalar(key) + ":";
        put(field, indent);
      }
  }
  std::string text_{};

 private:
  void margin(std::size_t indent) { text_.append(indent, ' '); }
  void put(const Json& value, std::size_t indent) {
    if (is_leaf(value)) {
      text_ += " " + scalar(value) + "\n";
    } else {
      text_ += "\n";
      write(value, indent + 2);
    }
  }
};

}  // namespace

std::string yaml_text(const Json& root, std::string_view comment) {
  Writer writer;
  for (const std::string& line : split(comment, '\n'))
    if (!comment.empty()) writer.text_ += "# " + line + "\n";
  if (is_leaf(root))
    writer.text_ += scalar(root) + "\n";
  else
    writer.write(root, 0);
  return writer.text_;
}

}  // namespace tessera
