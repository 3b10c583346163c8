// Small text helpers: nearest names for error messages, and numbers with units for people.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/estimate.hpp"
#include "sim/base/units.hpp"

namespace tessera {

/// Lower case without punctuation and spaces: names of GPUs and models are compared this way.
std::string normalise(std::string_view name);

/// The candidate that begins with `name`, else contains it, else is at all similar (normalised); the smallest edit
/// distance decides among these.
std::optional<std::string> nearest_name(std::string_view name, std::span<const std::string> candidates);

/// "; did you mean 'x'?" or "" where nothing is near. Where two to five candidates begin with `name`, all of them.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);

/// Three or four significant digits with a fitting unit: "1.23 ms", "24.5 GiB", "3.35 TB/s", "989 TFLOP/s", "5.1 kJ".
std::string format(Seconds time);
std::string format(Bytes size);
std::string format(BytesPerSec rate);
std::string format(FlopsPerSec rate);
std::string format(Flops work);
std::string format(Joules energy);
std::string format(Watts power);
/// "1.23 ms (1.10-1.40)".
std::string format(const Estimate<Seconds>& time);

}  // namespace tessera
