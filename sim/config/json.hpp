// A JSON value to build and write; reading of trusted JSON (our own weights, traces).
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tessera {

/// Ordered JSON value. Numbers are written with the fewest digits that read back equal.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  Json() = default;  // null
  Json(bool b) : value_(b) {}
  Json(double d) : value_(d) {}
  Json(int i) : value_(static_cast<std::int64_t>(i)) {}
  Json(std::int64_t i) : value_(i) {}
  Json(std::size_t i) : value_(static_cast<std::int64_t>(i)) {}
  Json(const char* s) : value_(std::string(s)) {}
  Json(std::string_view s) : value_(std::string(s)) {}
  Json(std::string s) : value_(std::move(s)) {}
  Json(Array a) : value_(std::move(a)) {}
  Json(Object o) : value_(std::move(o)) {}
  static Json array() { return Json(Array{}); }
  static Json object() { return Json(Object{}); }

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  [[nodiscard]] bool is_object() const { return std::holds_alternative<Object>(value_); }
  [[nodiscard]] bool is_array() const { return std::holds_alternative<Array>(value_); }
  [[nodiscard]] bool is_string() const { return std::holds_alternative<std::string>(value_); }

  /// Appends to an array (null becomes one).
  void push(Json item);
  /// Sets or adds a field of an object (null becomes one).
  Json& operator[](std::string_view key);

  /// Checked access; throws RunError naming what was missing.
  [[nodiscard]] const Json& at(std::string_view key) const;
  [[nodiscard]] const Json* find(std::string_view key) const;
  [[nodiscard]] const Array& items() const;
  [[nodiscard]] const Object& fields() const;
  [[nodiscard]] double number() const;
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] const std::string& text() const;

  /// indent < 0: one line. Arrays of numbers stay on one line either way. NaN and infinities throw RunError.
  [[nodiscard]] std::string dump(int indent = 2) const;

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
};

/// Strict JSON; throws InputError with file:line:col.
Json parse_json(std::string_view text, const std::string& file_name);
Json read_json(const std::filesystem::path& path);

}  // namespace tessera
