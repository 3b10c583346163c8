// The lists of operators in NeuSight's tables: Python literals of lists, tuples, strings and whole numbers.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/app/reproduce/neusight_checkout.hpp"

namespace tessera {
namespace {

constexpr double kFp32 = 4;  // bytes

struct Literal {
  std::string text;            // of a string
  std::int64_t number = 0;     // of a number
  std::vector<Literal> items;  // of a list or tuple
  enum class Kind : std::uint8_t { text, number, items } kind = Kind::number;
};

class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : rest_(text) {}

  std::optional<Literal> whole() {
    auto value = literal();
    skip();
    return rest_.empty() ? value : std::nullopt;
  }

 private:
  void skip() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())) != 0) rest_.remove_prefix(1);
  }
  bool take(char c) {
    skip();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::optional<Literal> literal() {
    if (take('[')) return items(']');
    if (take('(')) return items(')');
    if (take('\'')) return text();
    Literal value;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value.number);
    if (error != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  std::optional<Literal> items(char close) {
    Literal value;
    value.kind = Literal::Kind::items;
    while (!take(close)) {
      auto item = literal();
      if (!item) return std::nullopt;
      value.items.push_back(std::move(*item));
      if (!take(',') && (rest_.empty() || rest_.front() != close)) return std::nullopt;
    }
    return value;
  }
  std::optional<Literal> text() {
    const std::size_t end = rest_.find('\'');
    if (end == std::string_view::npos) return std::nullopt;
    Literal value;
    value.kind = Literal::Kind::text;
    value.text = std::string(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return value;
  }

  std::string_view rest_;
};

double elements(const Literal& shape) {
  double product = 1;
  for (const Literal& size : shape.items) product *= static_cast<double>(size.number);
  return product;
}

/// "VECmulu" is mulu; Linear has (rows, reduction, columns) and BMM the batch before them; MEM has shapes.
std::optional<std::string> one(const Literal& op) {
  const bool pair = op.items.size() == 2 && op.items[0].kind == Literal::Kind::text;
  if (!pair || op.items[1].kind != Literal::Kind::items) return std::nullopt;
  const std::string& name = op.items[0].text;
  const std::vector<Literal>& arguments = op.items[1].items;
  if (name == "MEM") {
    double bytes = 0;
    for (const Literal& shape : arguments) bytes += kFp32 * elements(shape);
    return fmt::format("mem:{:.0f}", bytes);
  }
  std::vector<std::int64_t> numbers;
  for (const Literal& argument : arguments) numbers.push_back(argument.number);
  if (name == "Linear") return fmt::format("linear:1,{}", fmt::join(numbers, ","));
  std::string lower = name.starts_with("VEC") ? name.substr(3) : name;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return fmt::format("{}:{}", lower, fmt::join(numbers, ","));
}

}  // namespace

std::optional<double> element_count(std::string_view python) {
  const auto shapes = LiteralReader(python).whole();
  if (!shapes || shapes->kind != Literal::Kind::items) return std::nullopt;
  const bool several = !shapes->items.empty() && shapes->items.front().kind == Literal::Kind::items;
  if (!several) return shapes->items.empty() ? 0 : elements(*shapes);
  double sum = 0;
  for (const Literal& shape : shapes->items) sum += elements(shape);
  return sum;
}

std::optional<std::string> operator_text(std::string_view python) {
  const auto list = LiteralReader(python).whole();
  if (!list || list->kind != Literal::Kind::items) return std::nullopt;
  std::string text;
  for (const Literal& op : list->items) {
    const auto written = one(op);
    if (!written) return std::nullopt;
    text += (text.empty() ? "" : ";") + *written;
  }
  return text;
}

}  // namespace tessera
