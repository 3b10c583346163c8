#include "sim/config/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/config/json_nodes.hpp"
#include "sim/config/utf8.hpp"

namespace tessera {

namespace {

template <class T, class Variant>
const T& get(const Variant& value, const char* expected) {
  if (const T* held = std::get_if<T>(&value)) return *held;
  throw RunError(fmt::format("JSON: expected {}", expected));
}

/// The integer where the text is one that fits, else the double.
Json to_number(const std::string& text) {
  const char* const end = text.data() + text.size();
  std::int64_t whole = 0;
  if (const auto read = std::from_chars(text.data(), end, whole); read.ec == std::errc{} && read.ptr == end)
    return whole;
  double value = 0;
  std::from_chars(text.data(), end, value);
  return value;
}

Json to_json(Node&& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return {};
    case Node::Kind::scalar:
      if (node.quoted) return std::move(node.scalar);
      if (node.scalar == "true" || node.scalar == "false") return node.scalar == "true";
      return to_number(node.scalar);
    case Node::Kind::sequence: {
      Json::Array items;
      items.reserve(node.items.size());
      for (Node& item : node.items) items.push_back(to_json(std::move(item)));
      return items;
    }
    case Node::Kind::map: {
      Json::Object fields;
      fields.reserve(node.fields.size());
      for (auto& [name, field] : node.fields) fields.emplace_back(std::move(name), to_json(std::move(field)));
      return fields;
    }
  }
  return {};
}

class Writer {
 public:
  Writer(std::string& out, int indent) : out_(out), indent_(indent) {}

  void write(std::monostate) { out_ += "null"; }
  void write(bool value) { out_ += value ? "true" : "false"; }
  void write(std::int64_t value) { fmt::format_to(std::back_inserter(out_), "{}", value); }
  void write(double value) {
    if (!std::isfinite(value)) throw RunError(fmt::format("JSON: {} is not a number that it can hold", value));
    fmt::format_to(std::back_inserter(out_), "{}", value);
  }
  void write(const std::string& text) {
    out_ += '"';
    for (const char c : text) escape(c);
    out_ += '"';
  }

  /// Items between brackets, each on its own line, or all on one.
  template <class Items, class WriteItem>
  void list(char open, char close, const Items& items, bool one_line, WriteItem write_item) {
    out_ += open;
    ++depth_;
    for (auto it = items.begin(); it != items.end(); ++it) {
      if (it != items.begin()) out_ += one_line && indent_ >= 0 ? ", " : ",";
      if (!one_line) new_line();
      write_item(*it);
    }
    --depth_;
    if (!one_line && !items.empty()) new_line();
    out_ += close;
  }
  [[nodiscard]] bool one_line() const { return indent_ < 0; }
  void key(const std::string& name) {
    write(name);
    out_ += indent_ < 0 ? ":" : ": ";
  }

 private:
  void new_line() {
    out_ += '\n';
    out_.append(static_cast<std::size_t>(indent_) * static_cast<std::size_t>(depth_), ' ');
  }
  void escape(char c) {
    if (c == '"' || c == '\\') {
      out_ += '\\';
      out_ += c;
    } else if (c == '\n') {
      out_ += "\\n";
    } else if (c == '\t') {
      out_ += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out_), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out_ += c;
    }
  }

  std::string& out_;
  int indent_;
  int depth_ = 0;
};

}  // namespace

void Json::push(Json item) {
  if (is_null()) value_ = Array{};
  TESSERA_ASSERT(is_array(), "pushed onto JSON that is no array");
  std::get<Array>(value_).push_back(std::move(item));
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) value_ = Object{};
  TESSERA_ASSERT(is_object(), "a field set on JSON that is no object");
  Object& object = std::get<Object>(value_);
  const auto found = std::find_if(object.begin(), object.end(), [&](const auto& field) { return field.first == key; });
  return found != object.end() ? found->second : object.emplace_back(std::string(key), Json()).second;
}

const Json* Json::find(std::string_view key) const {
  for (const auto& [name, value] : fields()) {
    if (name == key) return &value;
  }
  return nullptr;
}

const Json& Json::at(std::string_view key) const {
  if (const Json* found = find(key)) return *found;
  throw RunError(fmt::format("JSON: missing key '{}'", key));
}

const Json::Array& Json::items() const {
  return get<Array>(value_, "an array");
}
const Json::Object& Json::fields() const {
  return get<Object>(value_, "an object");
}
bool Json::boolean() const {
  return get<bool>(value_, "true or false");
}
const std::string& Json::text() const {
  return get<std::string>(value_, "text");
}

double Json::number() const {
  if (const auto* whole = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*whole);
  return get<double>(value_, "a number");
}

std::int64_t Json::integer() const {
  const auto* value = std::get_if<double>(&value_);
  if (value != nullptr && *value == std::floor(*value) && std::abs(*value) <= 0x1p53) {
    return static_cast<std::int64_t>(*value);
  }
  return get<std::int64_t>(value_, "a whole number");
}

std::string Json::dump(int indent) const {
  std::string out;
  Writer writer(out, indent);
  const auto write = [&writer](const auto& self, const Json& json) -> void {
    if (const auto* array = std::get_if<Array>(&json.value_)) {
      const bool numbers = std::all_of(array->begin(), array->end(), [](const Json& item) {
        return std::holds_alternative<double>(item.value_) || std::holds_alternative<std::int64_t>(item.value_);
      });
      writer.list('[', ']', *array, numbers || writer.one_line(), [&](const Json& item) { self(self, item); });
    } else if (const auto* object = std::get_if<Object>(&json.value_)) {
      writer.list('{', '}', *object, writer.one_line(), [&](const auto& field) {
        writer.key(field.first);
        self(self, field.second);
      });
    } else {
      std::visit(
          [&](const auto& scalar) {
            if constexpr (requires { writer.write(scalar); }) writer.write(scalar);
          },
          json.value_);
    }
  };
  write(write, *this);
  return out;
}

Json parse_json(std::string_view text, const std::string& file_name) {
  check_text(text, file_name);
  return to_json(parse_json_nodes(text, file_name));
}

Json read_json(const std::filesystem::path& path) {
  return parse_json(read_file(path), path.string());
}

}  // namespace tessera
