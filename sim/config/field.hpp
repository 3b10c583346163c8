// How a value of each type is read from a node and shown in the reference; included by reader.hpp.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/base/amount.hpp"
#include "sim/base/dtype.hpp"
#include "sim/base/units.hpp"
#include "sim/config/reader.hpp"

namespace tessera::detail {

/// A node to read, and where it is.
struct Source {
  Reader::Sink& sink;
  const Node& node;
  std::string path;

  /// Reports "path: message" at the node.
  void fail(std::string_view message) const;
  /// Reports "path: expected ..., found ...".
  void expected(std::string_view what) const;
  [[nodiscard]] Source child(const Node& of, std::string_view suffix) const;
};

/// What the reference says about a type.
struct TypeText {
  std::string type, unit, default_text;
};

struct Unit {
  std::string_view name;
  double factor;  // to the SI base unit
};
struct UnitTable {
  std::string_view what;        // "time"
  std::span<const Unit> units;  // ascending
};
const UnitTable& units_of(Seconds);
const UnitTable& units_of(Hertz);
const UnitTable& units_of(Bytes);
const UnitTable& units_of(BytesPerSec);
const UnitTable& units_of(Flops);
const UnitTable& units_of(FlopsPerSec);
const UnitTable& units_of(FlopsPerByte);
const UnitTable& units_of(Joules);
const UnitTable& units_of(Watts);
const UnitTable& units_of(JoulesPerFlop);
const UnitTable& units_of(JoulesPerByte);
const UnitTable& units_of(Area);
const UnitTable& units_of(Money);

std::optional<double> read_quantity(const Source& from, const UnitTable& table);
TypeText describe_quantity(double value, const UnitTable& table);
/// Index of the node's text in `names`; reports the nearest name otherwise.
std::optional<std::size_t> read_name(const Source& from, std::span<const std::string_view> names);
std::string list_of(std::span<const std::string_view> names);

void read_scalar(const Source& from, bool& out);
void read_scalar(const Source& from, int& out);
void read_scalar(const Source& from, std::int64_t& out);
void read_scalar(const Source& from, double& out);
void read_scalar(const Source& from, std::string& out);
void read_scalar(const Source& from, Dtype& out);
TypeText describe_scalar(bool value);
TypeText describe_scalar(std::int64_t value);
TypeText describe_scalar(double value);
TypeText describe_scalar(const std::string& value);
TypeText describe_scalar(Dtype value);

/// A struct with a `describe`. Every Field has `read`, `text`, and `nested`, which adds the rows of what is inside.
template <class T>
struct Field {
  static void read(const Source& from, T& out) {
    if (from.node.kind != Node::Kind::map) return from.expected("a map");
    Reader reader(from.sink, &from.node, from.path);
    describe(reader, out);
    reader.finish();
  }
  static TypeText text(const T&) { return {"map", "", ""}; }
  static void nested(Reader::Sink& sink, const std::string& path, T value) {
    Reader reader(sink, nullptr, path);
    describe(reader, value);
  }
};

template <class T>
concept Scalar = std::same_as<T, bool> || std::same_as<T, int> || std::same_as<T, std::int64_t> ||
    std::same_as<T, double> || std::same_as<T, std::string> || std::same_as<T, Dtype>;

template <Scalar T>
struct Field<T> {
  static void read(const Source& from, T& out) { read_scalar(from, out); }
  static TypeText text(const T& value) {
    if constexpr (std::same_as<T, int>) {
      return describe_scalar(std::int64_t{value});
    } else {
      return describe_scalar(value);
    }
  }
  static void nested(Reader::Sink&, const std::string&, const T&) {}
};

template <int S, int B, int F, int J>
struct Field<Quantity<S, B, F, J>> {
  using Q = Quantity<S, B, F, J>;
  static void read(const Source& from, Q& out) {
    if (const auto value = read_quantity(from, units_of(Q()))) out = Q(*value);
  }
  static TypeText text(const Q& value) { return describe_quantity(value.value(), units_of(Q())); }
  static void nested(Reader::Sink&, const std::string&, const Q&) {}
};

template <class Tag>
struct Field<Amount<Tag>> {
  using A = Amount<Tag>;
  static void read(const Source& from, A& out) {
    if (const auto value = read_quantity(from, units_of(A()))) out = A(*value);
  }
  static TypeText text(const A& value) { return describe_quantity(value.value(), units_of(A())); }
  static void nested(Reader::Sink&, const std::string&, const A&) {}
};

template <class E>
requires(std::is_enum_v<E> && !std::same_as<E, Dtype>) struct Field<E> {
  static void read(const Source& from, E& out) {
    const auto names = enum_names(E{});
    if (const auto index = read_name(from, names)) out = static_cast<E>(*index);
  }
  static TypeText text(const E& value) {
    const auto names = enum_names(E{});
    return {list_of(names), "", std::string(names[static_cast<std::size_t>(value)])};
  }
  static void nested(Reader::Sink&, const std::string&, const E&) {}
};

template <>
struct Field<Node> {
  static void read(const Source& from, Node& out) { out = from.node; }
  static TypeText text(const Node&) { return {"any", "", ""}; }
  static void nested(Reader::Sink&, const std::string&, const Node&) {}
};

template <class T>
struct Field<std::optional<T>> {
  static void read(const Source& from, std::optional<T>& out) {
    out.reset();
    if (from.node.kind != Node::Kind::null) Field<T>::read(from, out.emplace());
  }
  static TypeText text(const std::optional<T>& value) {
    TypeText text = Field<T>::text(value.value_or(T{}));
    if (!value) text.default_text = "not given";
    return text;
  }
  static void nested(Reader::Sink& sink, const std::string& path, const std::optional<T>& value) {
    Field<T>::nested(sink, path, value.value_or(T{}));
  }
};

template <class T>
struct Field<std::vector<T>> {
  static void read(const Source& from, std::vector<T>& out) {
    if (from.node.kind != Node::Kind::sequence) return from.expected("a list");
    out.clear();
    for (std::size_t i = 0; i < from.node.items.size(); ++i) {
      T item{};  // not emplaced: std::vector<bool> has no references
      Field<T>::read(from.child(from.node.items[i], "[" + std::to_string(i) + "]"), item);
      out.push_back(std::move(item));
    }
  }
  static TypeText text(const std::vector<T>& value) {
    TypeText text = Field<T>::text(T{});
    text.type = "list of " + text.type;
    text.default_text.clear();
    for (const T& item : value)
      text.default_text += (text.default_text.empty() ? "" : ", ") + Field<T>::text(item).default_text;
    text.default_text = "[" + text.default_text + "]";
    return text;
  }
  static void nested(Reader::Sink& sink, const std::string& path, const std::vector<T>&) {
    Field<T>::nested(sink, path + "[]", T{});
  }
};

template <class T>
struct Field<std::vector<std::pair<std::string, T>>> {
  using Map = std::vector<std::pair<std::string, T>>;
  static void read(const Source& from, Map& out) {
    if (from.node.kind != Node::Kind::map) return from.expected("a map");
    out.clear();
    for (const auto& [name, node] : from.node.fields) {
      Field<T>::read(from.child(node, "." + name), out.emplace_back(name, T{}).second);
    }
  }
  static TypeText text(const Map&) {
    TypeText text = Field<T>::text(T{});
    return {"map of " + text.type + " by name", text.unit, "{}"};
  }
  static void nested(Reader::Sink& sink, const std::string& path, const Map&) {
    Field<T>::nested(sink, path + ".<name>", T{});
  }
};

/// Throws what the sink collected, in the order of the document, if anything.
void throw_errors(Reader::Sink& sink);

}  // namespace tessera::detail

namespace tessera {

template <class T>
void Reader::field(std::string_view key, T& out, std::string_view meaning, bool required) {
  if (map_ == nullptr) {
    if (sink_.reference == nullptr) return;
    detail::TypeText text = detail::Field<T>::text(out);
    sink_.reference->push_back(
        {path_to(key), text.type, text.unit, required ? "" : text.default_text, std::string(meaning), required});
    return detail::Field<T>::nested(sink_, path_to(key), out);
  }
  const std::size_t errors_before = sink_.errors.size();
  if (const Node* node = take(key, required)) detail::Field<T>::read({sink_, *node, path_to(key)}, out);
  if (sink_.errors.size() > errors_before) failed_.emplace_back(key);
}

template <class T>
void Reader::required(std::string_view key, T& out, std::string_view meaning) {
  field(key, out, meaning, true);
}

template <class T>
void Reader::optional(std::string_view key, T& out, std::string_view meaning) {
  field(key, out, meaning, false);
}

template <class T>
T read(const Document& document) {
  Reader::Sink sink{.file = document.file};
  T result{};
  detail::Field<T>::read({sink, document.root, ""}, result);
  detail::throw_errors(sink);
  return result;
}

template <class T>
std::vector<ReferenceRow> reference() {
  std::vector<ReferenceRow> rows;
  Reader::Sink sink{.file = "", .reference = &rows};
  detail::Field<T>::nested(sink, "", T{});
  return rows;
}

}  // namespace tessera
