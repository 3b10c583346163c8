// The range of every quantity in a description; shared by the describes of this layer.
#pragma once

#include <string>
#include <string_view>

#include "sim/base/units.hpp"
#include "sim/config/reader.hpp"

namespace tessera {

/// What a value may be. Wide: they catch slips of the unit and keep every later formula finite.
template <class T>
struct Bounds {
  T low, high;
  std::string_view text;
};

inline constexpr Bounds kClock{Hertz(1e6), Hertz(1e11), "1 MHz to 100 GHz"};
inline constexpr Bounds kBandwidth{BytesPerSec(1e6), BytesPerSec(1e15), "1 MB/s to 1 PB/s"};
inline constexpr Bounds kPeak{FlopsPerSec(1e6), FlopsPerSec(1e21), "1 MFLOP/s to 1 ZFLOP/s"};
inline constexpr Bounds kLatency{Seconds(0), Seconds(1), "0 to 1 s"};
inline constexpr Bounds kMemory{Bytes(0x1p20), Bytes(0x1p50), "1 MiB to 1 PiB"};
inline constexpr Bounds kOnChip{Bytes(0x1p10), Bytes(0x1p40), "1 KiB to 1 TiB"};
inline constexpr Bounds kPower{Watts(0.1), Watts(1e6), "0.1 W to 1 MW"};
inline constexpr Bounds kHostPower{Watts(0), Watts(1e6), "0 to 1 MW"};
inline constexpr Bounds kProcess{0.1, 1e5, "0.1 to 100000"};
inline constexpr Bounds kOversubscription{1.0, 1e3, "1 to 1000"};
inline constexpr Bounds kShare{0.0, 1.0, "0 to 1"};
inline constexpr Bounds kSpeed{0.01, 10.0, "0.01 to 10"};
inline constexpr Bounds kJitter{0.0, 0.5, "0 to 0.5"};
inline constexpr Bounds kUnits{1, 65536, "1 to 65536"};
inline constexpr Bounds kGpusPerNode{1, 1024, "1 to 1024"};
inline constexpr Bounds kNics{0, 1024, "0 to 1024"};
inline constexpr Bounds kRadix{4, 1024, "4 to 1024"};
inline constexpr Bounds kNodes{1, 1000000, "1 to 1000000"};

template <class T>
void check_bounds(Reader& r, std::string_view key, const T& value, const Bounds<T>& bounds) {
  if (r.has(key) && !(value >= bounds.low && value <= bounds.high))
    r.error(key, std::string("must be ").append(bounds.text));
}

/// As `Reader::required`, and what is out of bounds is a mistake.
template <class T>
void required_within(Reader& r, std::string_view key, T& out, const Bounds<T>& bounds, std::string_view meaning) {
  T value = bounds.low;  // stays where reading fails, so that one mistake is reported once
  r.required(key, value, meaning);
  check_bounds(r, key, value, bounds);
  if (!r.printing()) out = value;
}

/// As `Reader::optional`, and what is out of bounds is a mistake where the key is given.
template <class T>
void optional_within(Reader& r, std::string_view key, T& out, const Bounds<T>& bounds, std::string_view meaning) {
  if (r.has(key)) {
    required_within(r, key, out, bounds, meaning);
  } else {
    r.optional(key, out, meaning);
  }
}

}  // namespace tessera
