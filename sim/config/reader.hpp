// Fills structs from a Node and collects every mistake; the same `describe` prints the reference.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/config/node.hpp"

namespace tessera {

/// One line of the scenario reference.
struct ReferenceRow {
  std::string path, type, unit, default_text, meaning;
  bool required = false;
};

/// Walks one map of a document. For every struct there is one `void describe(Reader&, T&)`, found by ADL,
/// which calls `required` and `optional` per key; an unknown or repeated key is a mistake.
///
///   void describe(Reader& r, LinkSpec& s) {
///     r.required("bandwidth", s.bandwidth, "one direction, payload");
///     r.optional("latency", s.latency, "one hop");
///   }
///
/// Supported T: bool, int, int64_t, double, std::string, Dtype, every Quantity (a unit is demanded: "450 GB/s"),
/// std::optional<T> (null: not given), std::vector<T>, std::vector<std::pair<std::string, T>> (a map, in order),
/// Node (taken as it is), structs with a `describe`, and enums whose names, in the order of their values, are given by
///   constexpr std::array<std::string_view, 2> enum_names(Fold) { return {"on", "off"}; }
class Reader {
 public:
  /// The key must be there.
  template <class T>
  void required(std::string_view key, T& out, std::string_view meaning);
  /// `out` holds the default, which stays where the key is missing.
  template <class T>
  void optional(std::string_view key, T& out, std::string_view meaning);

  /// Reports a mistake at `key`'s value (or at the map where `key` is missing or empty). Says nothing where reading
  /// `key` failed: its value is not the user's.
  void error(std::string_view key, std::string_view message);
  /// True if the map has the key (false while printing the reference).
  [[nodiscard]] bool has(std::string_view key) const;
  /// True if this map had no mistake so far: checks across fields make sense only then.
  [[nodiscard]] bool ok() const;
  /// True while printing the reference: a describe whose keys depend on a value shows all of them.
  [[nodiscard]] bool printing() const { return map_ == nullptr; }
  /// Accept and ignore all keys not asked for (HF config.json carries many that do not concern us).
  void allow_unknown();

  // --- below: the machinery ---
  struct Sink {  // shared by the readers of one document
    std::string file;
    std::vector<Diagnostic> errors{};
    std::vector<ReferenceRow>* reference = nullptr;
  };
  Reader(Sink& sink, const Node* map, std::string path);
  /// Reports keys of the map that nobody asked for.
  void finish();

 private:
  template <class T>
  void field(std::string_view key, T& out, std::string_view meaning, bool required);
  [[nodiscard]] std::string path_to(std::string_view key) const;
  /// The value of `key`, or null where it is missing (reported if `required`).
  const Node* take(std::string_view key, bool required);

  Sink& sink_;
  const Node* map_;  // null while printing the reference
  std::string path_;
  std::vector<std::string> known_, failed_;
  std::size_t errors_before_;
  bool allow_unknown_ = false;
};

/// Reads `T` from a document; throws InputError with all mistakes.
template <class T>
T read(const Document& document);

/// The reference of `T`: one row per key, nested keys by path.
template <class T>
std::vector<ReferenceRow> reference();

}  // namespace tessera

#include "sim/config/field.hpp"  // what the templates above do
