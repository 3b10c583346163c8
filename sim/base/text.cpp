#include "sim/base/text.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace tessera {

namespace {

/// Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> table((a.size() + 1) * width);
  for (std::size_t i = 0; i <= a.size(); ++i) table[i * width] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) table[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t& here = table[i * width + j];
      const std::size_t substituted = table[(i - 1) * width + j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      here = std::min({table[(i - 1) * width + j] + 1, table[i * width + j - 1] + 1, substituted});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        here = std::min(here, table[(i - 2) * width + j - 2] + 1);
      }
    }
  }
  return table.back();
}

/// Similar: at most two in five letters differ, or one name is a part of the other.
bool similar(std::string_view a, std::string_view b, std::size_t distance) {
  const bool few_changes = distance * 5 <= std::max(a.size(), b.size()) * 2;
  const bool part =
      std::min(a.size(), b.size()) >= 2 && (a.find(b) != std::string_view::npos || b.find(a) != std::string_view::npos);
  return few_changes || part || (distance == 1 && a.size() <= 2);
}

/// A name cut short means one that begins with it, rather than one of other letters: H100 is no MI100.
int part_rank(std::string_view wanted, std::string_view offered) {
  if (wanted.size() < 2 || offered.find(wanted) == std::string_view::npos) return 2;
  return offered.starts_with(wanted) ? 0 : 1;
}

}  // namespace

std::string normalise(std::string_view name) {
  std::string result;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) result += static_cast<char>(std::tolower(byte));
  }
  return result;
}

std::optional<std::string> nearest_name(std::string_view name, std::span<const std::string> candidates) {
  const std::string wanted = normalise(name);
  std::optional<std::string> best;
  std::pair<int, std::size_t> best_rank;
  if (wanted.empty()) return best;
  for (const std::string& candidate : candidates) {
    const std::string offered = normalise(candidate);
    const std::size_t distance = edit_distance(wanted, offered);
    const std::pair rank(part_rank(wanted, offered), distance);
    if (similar(wanted, offered, distance) && (!best || rank < best_rank)) {
      best = candidate;
      best_rank = rank;
    }
  }
  return best;
}

namespace {

/// "; did you mean 'a', 'b' or 'c'?"
std::string one_of(const std::vector<std::string>& names) {
  std::string text = "; did you mean";
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += i == 0 ? " '" : i + 1 == names.size() ? "' or '" : "', '";
    text += names[i];
  }
  return text + "'?";
}

}  // namespace

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  constexpr std::size_t kMostNamed = 5;
  const std::string wanted = normalise(name);
  std::vector<std::string> longer;
  for (const std::string& candidate : candidates) {
    if (part_rank(wanted, normalise(candidate)) == 0) longer.push_back(candidate);
  }
  if (longer.size() > 1 && longer.size() <= kMostNamed) return one_of(longer);
  const std::optional<std::string> near = nearest_name(name, candidates);
  return near ? "; did you mean '" + *near + "'?" : "";
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = text.find(separator); end != std::string_view::npos; end = text.find(separator, begin)) {
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.emplace_back(text.substr(begin));
  return parts;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

}  // namespace tessera
