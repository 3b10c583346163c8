// Numbers with units for people: three significant digits, in the unit that gives the fewest of them before the point.
#include <fmt/format.h>

#include <cmath>
#include <span>

#include "sim/base/text.hpp"

namespace tessera {

namespace {

struct Scale {
  double from;  // values of this size on are shown in this unit
  double unit;
  const char* name;
};

constexpr Scale scale(double unit, const char* name) {
  return {0.9995 * unit, unit, name};  // 0.9995 would be rounded up to 1.00
}

constexpr Scale kTime[] = {scale(1e-9, "ns"), scale(1e-6, "us"), scale(1e-3, "ms"),
                           scale(1, "s"),     {3600, 3600, "h"}, {172800, 86400, "d"}};
constexpr Scale kSize[] = {scale(1, "B"), scale(0x1p10, "KiB"), scale(0x1p20, "MiB"), scale(0x1p30, "GiB"),
                           scale(0x1p40, "TiB")};
constexpr Scale kRate[] = {scale(1, "B/s"), scale(1e3, "kB/s"), scale(1e6, "MB/s"), scale(1e9, "GB/s"),
                           scale(1e12, "TB/s")};
constexpr Scale kFlopRate[] = {scale(1, "FLOP/s"),     scale(1e6, "MFLOP/s"),  scale(1e9, "GFLOP/s"),
                               scale(1e12, "TFLOP/s"), scale(1e15, "PFLOP/s"), scale(1e18, "EFLOP/s")};
constexpr Scale kWork[] = {scale(1, "FLOP"),     scale(1e6, "MFLOP"),  scale(1e9, "GFLOP"),
                           scale(1e12, "TFLOP"), scale(1e15, "PFLOP"), scale(1e18, "EFLOP")};
constexpr Scale kEnergy[] = {scale(1e-6, "uJ"), scale(1e-3, "mJ"), scale(1, "J"),
                             scale(1e3, "kJ"),  scale(1e6, "MJ"),  scale(1e9, "GJ")};
constexpr Scale kPower[] = {scale(1, "W"), scale(1e3, "kW"), scale(1e6, "MW")};

const Scale& scale_of(double value, std::span<const Scale> scales) {
  std::size_t chosen = 0;
  for (std::size_t i = 1; i < scales.size(); ++i) {
    if (std::abs(value) >= scales[i].from) chosen = i;
  }
  return scales[chosen];
}

int decimals(double shown) {
  const double size = std::abs(shown);
  if (size >= 99.95 || size == 0) return 0;
  return size >= 9.995 ? 1 : 2;
}

std::string show(double value, std::span<const Scale> scales, const char* zero) {
  if (value == 0) return fmt::format("0 {}", zero);
  const Scale& scale = scale_of(value, scales);
  const double shown = value / scale.unit;
  return fmt::format("{:.{}f} {}", shown, decimals(shown), scale.name);
}

}  // namespace

std::string format(Seconds time) {
  return show(time.value(), kTime, "s");
}
std::string format(Bytes size) {
  return show(size.value(), kSize, "B");
}
std::string format(BytesPerSec rate) {
  return show(rate.value(), kRate, "B/s");
}
std::string format(FlopsPerSec rate) {
  return show(rate.value(), kFlopRate, "FLOP/s");
}
std::string format(Flops work) {
  return show(work.value(), kWork, "FLOP");
}
std::string format(Joules energy) {
  return show(energy.value(), kEnergy, "J");
}
std::string format(Watts power) {
  return show(power.value(), kPower, "W");
}

std::string format(const Estimate<Seconds>& time) {
  const double unit = scale_of(time.p50.value(), kTime).unit;
  const int digits = decimals(time.p50.value() / unit);
  return fmt::format("{} ({:.{}f}-{:.{}f})", format(time.p50), time.p10.value() / unit, digits, time.p90.value() / unit,
                     digits);
}

}  // namespace tessera
