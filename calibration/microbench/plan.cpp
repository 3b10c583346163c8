#include "calibration/microbench/plan.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

namespace tessera::microbench {
namespace {

constexpr Seconds kLongestCall(0.2);
/// Operands are rotated between this many copies at most.
constexpr double kCopies = 5;

void check_names(const std::vector<std::string>& only) {
  std::vector<std::string> names;
  for (const Benchmark& row : benchmarks()) names.emplace_back(row.name);
  std::vector<Diagnostic> wrong;
  for (const std::string& name : only) {
    if (std::ranges::find(names, name) != names.end()) continue;
    wrong.push_back({.file = "--only",
                     .message = fmt::format("unknown benchmark '{}'{}; there are {}", name, did_you_mean(name, names),
                                            fmt::join(names, ", "))});
  }
  if (!wrong.empty()) throw InputError(std::move(wrong));
}

template <class List, class Value>
bool wanted(const List& list, const Value& value) {
  return list.empty() || std::ranges::find(list, value) != list.end();
}

std::vector<PlannedCase> possible(const Benchmark& row, const GpuSpec& gpu, const PlanOptions& options) {
  std::vector<PlannedCase> cases;
  for (Case& c : row.cases(gpu)) {
    const Seconds one = rough_time(c, gpu);
    const bool fits = c.table != Table::kernels || kCopies * c.moved < gpu.memory / 3.0;
    if (!fits || one > kLongestCall || !wanted(options.dtypes, c.dtype)) continue;
    const Seconds expected = row.set_up + sampling_time(options.sampling, c.timing, c.hold, one);
    std::string id = case_id(c);
    cases.push_back({std::move(c), std::move(id), expected});
  }
  return cases;
}

Seconds total(const std::vector<PlannedCase>& cases) {
  return std::accumulate(cases.begin(), cases.end(), Seconds(0),
                         [](Seconds sum, const PlannedCase& c) { return sum + c.expected; });
}

/// Cases at equal distances whose times add up to at most `time`.
std::vector<PlannedCase> thinned(std::vector<PlannedCase> all, Seconds time) {
  const auto index = [&](std::size_t i, std::size_t keep) { return i * all.size() / keep; };
  std::size_t keep = all.size();
  for (; keep > 0; --keep) {
    Seconds sum;
    for (std::size_t i = 0; i < keep; ++i) sum += all[index(i, keep)].expected;
    if (sum <= time) break;
  }
  std::vector<PlannedCase> some;
  for (std::size_t i = 0; i < keep; ++i) some.push_back(std::move(all[index(i, keep)]));
  return some;
}

}  // namespace

Seconds Plan::expected() const {
  return total(cases);
}

Plan make_plan(const GpuSpec& gpu, const PlanOptions& options) {
  check_names(options.only);
  struct Group {
    double share;
    std::vector<PlannedCase> cases;
  };
  std::vector<Group> groups;
  for (const Benchmark& row : benchmarks()) {
    if (wanted(options.only, row.name)) groups.push_back({row.share, possible(row, gpu, options)});
  }
  // Benchmarks that need less than their share leave the rest to the others: smallest need per share first.
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return total(groups[a].cases) / groups[a].share < total(groups[b].cases) / groups[b].share;
  });
  double shares = 0;
  for (const Group& group : groups) shares += group.share;
  Seconds left = options.budget;
  Plan plan{.cases = {}, .left_out = 0, .sampling = options.sampling};
  for (const std::size_t i : order) {
    Group& group = groups[i];
    const std::size_t all = group.cases.size();
    group.cases = thinned(std::move(group.cases), left * (group.share / shares));
    plan.left_out += all - group.cases.size();
    left -= total(group.cases);
    shares -= group.share;
  }
  for (Group& group : groups)
    for (PlannedCase& c : group.cases) plan.cases.push_back(std::move(c));
  return plan;
}

}  // namespace tessera::microbench
