#include "sim/app/tenants/arrivals.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/base/error.hpp"
#include "sim/config/csv.hpp"

namespace tessera {

namespace {

constexpr double kLatest = 1e9;  // 30 years; from there on microseconds are lost

bool full(std::size_t have, std::int64_t most) {
  return most > 0 && have >= static_cast<std::size_t>(most);
}

}  // namespace

std::vector<Seconds> poisson_dates(Hertz rate, std::int64_t burst, Seconds end, std::int64_t most, Rng& rng) {
  std::vector<Seconds> dates;
  Seconds at;
  while (!full(dates.size(), most)) {
    at += -std::log(1 - rng.uniform()) * static_cast<double>(burst) / rate;
    if (at >= end) break;
    for (std::int64_t i = 0; i < burst && !full(dates.size(), most); ++i) dates.push_back(at);
  }
  return dates;
}

std::vector<Seconds> trace_dates(const std::filesystem::path& path, Seconds end, std::int64_t most) {
  const CsvTable table = CsvTable::read(path);
  const std::size_t column = table.need("arrival_s");
  std::vector<Seconds> dates;
  std::vector<Diagnostic> wrong;
  double last = 0;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const double at = table.number(row, column).value_or(-1);
    if (!(at >= last && at <= kLatest)) {
      wrong.push_back(
          table.at(row, column,
                   fmt::format("found '{}', expected a date from {} s on, up to 1e9", table.cell(row, column), last)));
      continue;
    }
    last = at;
    if (Seconds(at) < end && !full(dates.size(), most)) dates.emplace_back(at);
  }
  if (table.rows() == 0) wrong.push_back({path.string(), 1, 1, "the trace has no arrivals"});
  if (!wrong.empty()) throw InputError(std::move(wrong));
  return dates;
}

std::vector<Seconds> every(const std::vector<Seconds>& dates, std::size_t of, std::size_t first) {
  std::vector<Seconds> some;
  for (std::size_t i = first; i < dates.size(); i += of) some.push_back(dates[i]);
  return some;
}

}  // namespace tessera
