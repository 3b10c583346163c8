// A search around a known GPU, as the user writes it, and what it finds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sim/config/json.hpp"
#include "sim/config/reader.hpp"
#include "sim/graph/model_config.hpp"
#include "sim/place/chip/gpu_search.hpp"

namespace tessera {

struct GpuAroundSection {
  GpuAroundSection() = default;  // no aggregate: g++ 12 warns of uninitialized members in T{} otherwise
  std::string around;
  std::optional<Area> area;
  std::optional<Watts> power_cap;
  std::optional<Money> rent;  // an hour
};

struct GpuSearchWorkload {
  GpuSearchWorkload() = default;  // no aggregate, as above
  std::string model;
  Mode mode = Mode::training;
  std::int64_t sequence = 0, batch = 1;
};

struct GpuScenario {
  GpuScenario() = default;  // no aggregate, as above
  std::string name;
  std::string latency_model = "tile";
  GpuAroundSection gpu;
  GpuSearchWorkload workload;
};

void describe(Reader& r, GpuScenario& s);

/// True where the document asks for a search around a GPU.
bool is_gpu_search(const Document& document);
GpuSearchResult search_around(const GpuScenario& scenario);

std::string gpu_table(const GpuScenario& scenario, const GpuSearchResult& result);
Json gpu_json(const GpuScenario& scenario, const GpuSearchResult& result);
std::string gpu_picture(const GpuScenario& scenario, const GpuSearchResult& result);

std::string gpu_search_reference();

}  // namespace tessera
