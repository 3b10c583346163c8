// Cells of a table of measurements that must make sense: nonsense is named where it stands, not fitted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "calibration/dataset.hpp"
#include "sim/base/units.hpp"
#include "sim/config/csv.hpp"

namespace tessera {

/// A dimension; InputError with file and line where it is not a whole number above 0.
std::int64_t dimension_at(const CsvTable& table, std::size_t row, std::size_t column);

/// A time in ms; InputError with file and line where it is not finite and above 0.
Seconds milliseconds_at(const CsvTable& table, std::size_t row, std::size_t column);

/// Whether NeuSight's `split` is train; InputError where it is neither that nor test.
bool is_train(const CsvTable& table, std::size_t row, std::size_t column);

/// `data`, or an InputError that names the folder where it has no row to fit on.
Dataset with_rows_to_fit(Dataset data, const std::filesystem::path& folder);

}  // namespace tessera
