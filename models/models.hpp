// The makers behind the table of latency models; internal to this folder.
#pragma once

#include <filesystem>
#include <memory>

#include "models/latency_model.hpp"

namespace tessera {

std::unique_ptr<LatencyModel> make_habitat(const std::filesystem::path& weights);
std::unique_ptr<LatencyModel> make_li(const std::filesystem::path& weights);
std::unique_ptr<LatencyModel> make_neusight(const std::filesystem::path& weights);
std::unique_ptr<LatencyModel> make_roofline(const std::filesystem::path& weights);
std::unique_ptr<LatencyModel> make_tile_model(const std::filesystem::path& weights);

}  // namespace tessera
