// A search around a parametric GPU: every neighbour on a grid, priced by the tile-latency model, and the Pareto front.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "models/latency_model.hpp"
#include "sim/place/chip/gpu_costs.hpp"

namespace tessera {

/// What one GPU is to run over and over: kernels with how often each runs, and what they produce.
struct GpuWorkload {
  struct Part {
    Kernel kernel;
    double count = 1;
  };
  std::vector<Part> parts{};
  double items = 1;  // samples or tokens of one run
  Bytes memory{};    // that must fit
  PredictContext context{};
};

/// Values that each parameter may take; an empty list keeps the centre's.
struct GpuGrid {
  std::vector<int> sms{}, fp32_lanes_per_sm{}, matrix_fmas_per_sm{}, hbm_stacks{}, nvlink_ports{}, dies{};
  std::vector<double> clock_ratio{};  // of all three clocks
  std::vector<Bytes> l2{}, stack_capacity{};
  std::vector<BytesPerSec> stack_bandwidth{};
  std::vector<Watts> power_cap{};
};
/// SMs 3/4 to 5/4, half to twice the matrix unit, one stack less to three more, L2 x 1/2 to 2, clocks +- 10 %, power
/// cap x 3/4 to 3/2, and two dies beside one; lanes and ports as they are.
GpuGrid neighbourhood(const GpuTemplate& centre);

/// Limits that a candidate must keep; none: no limit.
struct GpuLimits {
  std::optional<Area> area{};  // of all dies, p50
  std::optional<Watts> power_cap{};
  std::optional<Money> rent_per_hour{};
};

struct GpuPoint {
  GpuTemplate gpu{};
  Estimate<Seconds> time{};     // of one run; the bar as if all kernels were wrong together
  double items_per_second = 0;  // at p50
  Estimate<Area> area{};
  Watts power{};  // mean over a run
  Estimate<Money> rent_per_hour{};
  double out_of_range = 0;  // largest of the kernels'
};
/// RunError: a dtype that the GPU has not.
GpuPoint evaluate(const GpuTemplate& gpu, const GpuWorkload& workload, const LatencyModel& model);

struct GpuSearchResult {
  std::vector<GpuPoint> front{};  // by descending throughput: nothing is better in one and as good in all of
                                  // throughput, area, power, rent
  GpuPoint centre{};
  std::size_t candidates = 0, unbuildable = 0, over_limits = 0, too_small = 0;  // too_small: the workload does not fit
  Bytes largest_memory{};  // of buildable candidates, for the message when none fits
};
/// Every point of the grid. RunError: no candidate is left, with the nearest miss. InputError: an empty or
/// contradictory grid.
GpuSearchResult search_gpus(const GpuTemplate& centre, const GpuGrid& grid, const GpuLimits& limits,
                            const GpuWorkload& workload, const LatencyModel& model);

}  // namespace tessera
