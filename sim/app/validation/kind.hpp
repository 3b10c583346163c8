// What a file of measurements holds, by its columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/units.hpp"
#include "sim/config/csv.hpp"

namespace tessera {

/// kernel: one operator on one GPU. model: forward (and backward) of a model. training: iterations on a cluster.
/// collective: one collective.
enum class MeasurementKind : std::uint8_t { kernel, model, training, collective };
std::string_view to_string(MeasurementKind kind);

/// The kind whose telling columns the table has (`op`; `model` and `mode`; `iter_time_s`; `collective`).
/// InputError listing them where it has none.
MeasurementKind kind_of(const CsvTable& table, const std::string& file);

/// The column that a kind is measured by unless --measure names another.
std::string_view default_measure(MeasurementKind kind);

/// What one unit of a measured column is, by its suffix: _s, _ms or _us. InputError on any other.
Seconds unit_of(std::string_view column);

}  // namespace tessera
