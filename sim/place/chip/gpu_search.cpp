#include "sim/place/chip/gpu_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "sim/base/error.hpp"

namespace tessera {

namespace {

/// All combinations of a grid's values, one parameter after the other.
class Grid {
 public:
  Grid(const GpuTemplate& centre, const GpuGrid& grid) : points_{centre} {
    vary(grid.dies, [](GpuTemplate& g, int v) { g.dies = v; });
    vary(grid.sms, [](GpuTemplate& g, int v) { g.sms = v; });
    vary(grid.fp32_lanes_per_sm, [](GpuTemplate& g, int v) { g.fp32_lanes_per_sm = v; });
    vary(grid.matrix_fmas_per_sm, [](GpuTemplate& g, int v) { g.matrix_fmas_per_sm = v; });
    vary(grid.clock_ratio, [](GpuTemplate& g, double v) {
      g.base_clock *= v;
      g.boost_clock *= v;
      g.matrix_clock *= v;
    });
    vary(grid.l2, [](GpuTemplate& g, Bytes v) { g.l2 = v; });
    vary(grid.hbm_stacks, [](GpuTemplate& g, int v) { g.hbm_stacks = v; });
    vary(grid.stack_bandwidth, [](GpuTemplate& g, BytesPerSec v) { g.stack_bandwidth = v; });
    vary(grid.stack_capacity, [](GpuTemplate& g, Bytes v) { g.stack_capacity = v; });
    vary(grid.nvlink_ports, [](GpuTemplate& g, int v) { g.nvlink_ports = v; });
    vary(grid.power_cap, [](GpuTemplate& g, Watts v) { g.power_cap = v; });
  }
  [[nodiscard]] const std::vector<GpuTemplate>& points() const { return points_; }

 private:
  template <class Value, class Set>
  void vary(const std::vector<Value>& values, Set set) {
    if (values.empty()) return;
    std::vector<GpuTemplate> varied;
    for (const GpuTemplate& point : points_) {
      for (const Value& value : values) set(varied.emplace_back(point), value);
    }
    points_ = std::move(varied);
  }

  std::vector<GpuTemplate> points_;
};

bool at_least_as_good(const GpuPoint& a, const GpuPoint& b) {
  return a.items_per_second >= b.items_per_second && a.area.p50 <= b.area.p50 && a.power <= b.power &&
         a.rent_per_hour.p50 <= b.rent_per_hour.p50;
}

/// Keeps what nothing else is at least as good as; of equals the first.
void add_to_front(std::vector<GpuPoint>& front, GpuPoint point) {
  for (const GpuPoint& other : front) {
    if (at_least_as_good(other, point)) return;
  }
  std::erase_if(front, [&](const GpuPoint& other) { return at_least_as_good(point, other); });
  front.push_back(std::move(point));
}

/// The limit that is missed, or "".
std::string missed_limit(const GpuTemplate& gpu, const GpuSpec& spec, const GpuLimits& limits) {
  if (limits.area && die_area(gpu).p50 > *limits.area) {
    return fmt::format("{:.0f} mm2 of {:.0f} allowed", die_area(gpu).p50.value(), limits.area->value());
  }
  if (limits.power_cap && gpu.power_cap > *limits.power_cap) {
    return fmt::format("{:.0f} W of {:.0f} allowed", gpu.power_cap.value(), limits.power_cap->value());
  }
  if (limits.rent_per_hour && rent_per_hour(spec).p50 > *limits.rent_per_hour) {
    return fmt::format("{:.2f} USD an hour of {:.2f} allowed", rent_per_hour(spec).p50.value(),
                       limits.rent_per_hour->value());
  }
  return "";
}

[[noreturn]] void nothing_left(const GpuSearchResult& result, const GpuWorkload& workload, const std::string& error,
                               const std::string& missed) {
  std::string why;
  if (result.too_small > 0) {
    why = fmt::format("the workload needs {:.1f} GiB and the largest has {:.1f}", workload.memory.value() / 0x1p30,
                      result.largest_memory.value() / 0x1p30);
  } else {
    why = missed.empty() ? error : missed;
  }
  throw RunError(
      fmt::format("none of {} GPUs can be used: {} cannot be built, {} are over a limit, {} have too little memory; {}",
                  result.candidates, result.unbuildable, result.over_limits, result.too_small, why));
}

std::vector<int> scaled(int value, std::initializer_list<double> ratios) {
  std::vector<int> values;
  for (const double ratio : ratios) values.push_back(static_cast<int>(std::lround(value * ratio)));
  return values;
}

}  // namespace

GpuGrid neighbourhood(const GpuTemplate& centre) {
  GpuGrid grid;
  grid.sms = scaled(centre.sms, {0.75, 0.875, 1.0, 1.125, 1.25});
  grid.matrix_fmas_per_sm = scaled(centre.matrix_fmas_per_sm, {0.5, 1.0, 2.0});
  for (int more = -1; more <= 3; ++more) {
    if (centre.hbm_stacks + more > 0) grid.hbm_stacks.push_back(centre.hbm_stacks + more);
  }
  grid.dies = centre.dies == 1 ? std::vector{1, 2} : std::vector{centre.dies};
  grid.clock_ratio = {0.9, 1.0, 1.1};
  grid.l2 = {centre.l2 * 0.5, centre.l2, centre.l2 * 2.0};
  grid.power_cap = {centre.power_cap * 0.75, centre.power_cap, centre.power_cap * 1.25, centre.power_cap * 1.5};
  return grid;
}

GpuPoint evaluate(const GpuTemplate& gpu, const GpuWorkload& workload, const LatencyModel& model) {
  const GpuSpec spec = to_spec(gpu);
  std::vector<Kernel> kernels;
  for (const GpuWorkload::Part& part : workload.parts) kernels.push_back(part.kernel);
  const CostTable costs = model.predict(kernels, spec, workload.context);
  GpuPoint point{.gpu = gpu, .area = die_area(gpu), .rent_per_hour = rent_per_hour(spec)};
  Joules energy;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const double count = workload.parts[i].count;
    point.time.p10 += costs[i].time.p10 * count;
    point.time.p50 += costs[i].time.p50 * count;
    point.time.p90 += costs[i].time.p90 * count;
    energy += costs[i].energy * count;
    point.out_of_range = std::max(point.out_of_range, costs[i].out_of_range);
  }
  point.items_per_second = workload.items / point.time.p50.value();
  point.power = min(gpu.power_cap, energy / point.time.p50);
  return point;
}

GpuSearchResult search_gpus(const GpuTemplate& centre, const GpuGrid& grid, const GpuLimits& limits,
                            const GpuWorkload& workload, const LatencyModel& model) {
  if (workload.parts.empty()) throw InputError(Diagnostic{.message = "a search of GPUs needs a workload with kernels"});
  GpuSearchResult result;
  result.centre = evaluate(centre, workload, model);
  std::string first_error, first_missed;
  const Grid all(centre, grid);
  for (const GpuTemplate& gpu : all.points()) {
    ++result.candidates;
    if (const std::vector<std::string> errors = gpu_template_errors(gpu); !errors.empty()) {
      ++result.unbuildable;
      if (first_error.empty()) first_error = errors.front();
      continue;
    }
    const GpuSpec spec = to_spec(gpu);
    result.largest_memory = max(result.largest_memory, spec.memory);
    if (std::string missed = missed_limit(gpu, spec, limits); !missed.empty()) {
      ++result.over_limits;
      if (first_missed.empty()) first_missed = std::move(missed);
    } else if (spec.memory < workload.memory) {
      ++result.too_small;
    } else {
      add_to_front(result.front, evaluate(gpu, workload, model));
    }
  }
  if (result.front.empty()) nothing_left(result, workload, first_error, first_missed);
  std::stable_sort(result.front.begin(), result.front.end(),
                   [](const GpuPoint& a, const GpuPoint& b) { return a.items_per_second > b.items_per_second; });
  return result;
}

}  // namespace tessera
