#include "sim/config/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "sim/base/text.hpp"

namespace tessera {

namespace {

Diagnostic at(const Reader::Sink& sink, const Node& node, bool key, std::string message) {
  return {.file = node.origin.empty() ? sink.file : node.origin,
          .line = key ? node.key_line : node.line,
          .column = key ? node.key_column : node.column,
          .message = std::move(message)};
}

std::string labelled(std::string_view path, std::string_view message) {
  return path.empty() ? std::string(message) : fmt::format("{}: {}", path, message);
}

}  // namespace

Reader::Reader(Sink& sink, const Node* map, std::string path)
    : sink_(sink), map_(map), path_(std::move(path)), errors_before_(sink.errors.size()) {}

void Reader::error(std::string_view key, std::string_view message) {
  if (map_ == nullptr || std::find(failed_.begin(), failed_.end(), key) != failed_.end()) return;
  const Node* node = key.empty() ? nullptr : map_->find(key);
  const std::string path = key.empty() ? path_ : path_to(key);
  sink_.errors.push_back(at(sink_, node != nullptr ? *node : *map_, false, labelled(path, message)));
}

bool Reader::has(std::string_view key) const {
  return map_ != nullptr && map_->find(key) != nullptr;
}

bool Reader::ok() const {
  return sink_.errors.size() == errors_before_;
}

void Reader::allow_unknown() {
  allow_unknown_ = true;
}

void Reader::finish() {
  if (map_ == nullptr || allow_unknown_) return;
  for (const auto& [name, node] : map_->fields) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    std::string hint = did_you_mean(name, known_);
    if (hint.empty()) hint = fmt::format("; expected one of {}", fmt::join(known_, ", "));
    sink_.errors.push_back(at(sink_, node, true, labelled(path_, fmt::format("unknown key '{}'{}", name, hint))));
  }
}

std::string Reader::path_to(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

const Node* Reader::take(std::string_view key, bool required) {
  known_.emplace_back(key);
  const Node* node = map_->find(key);
  if (node == nullptr && required) error("", fmt::format("missing key '{}'", key));
  return node;
}

namespace detail {

namespace {
std::string found(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "nothing";
    case Node::Kind::scalar:
      return fmt::format("'{}'", node.scalar);
    case Node::Kind::sequence:
      return "a list";
    case Node::Kind::map:
      return "a map";
  }
  return "";
}
}  // namespace

void Source::fail(std::string_view message) const {
  sink.errors.push_back(at(sink, node, false, labelled(path, message)));
}

void Source::expected(std::string_view what) const {
  fail(fmt::format("expected {}, found {}", what, found(node)));
}

Source Source::child(const Node& of, std::string_view suffix) const {
  std::string below = path + std::string(suffix);
  if (path.empty() && suffix.starts_with('.')) below.erase(0, 1);
  return {sink, of, std::move(below)};
}

void throw_errors(Reader::Sink& sink) {
  if (sink.errors.empty()) return;
  std::stable_sort(sink.errors.begin(), sink.errors.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
  throw InputError(std::move(sink.errors));
}

}  // namespace detail

}  // namespace tessera
