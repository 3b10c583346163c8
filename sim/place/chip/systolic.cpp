#include "sim/place/chip/systolic.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "sim/base/error.hpp"

namespace tessera {
namespace {

// um^2 at 22 nm, from an exact linear fit of the 29,360 published areas.
constexpr double kTensorMac = 760.041386, kVectorMac = 759.823853;

struct Point {
  double size, value;
};
constexpr std::array kSramArea{Point{1024, 6133.98},    Point{2048, 8248.43},     Point{4096, 12610.5},
                               Point{8192, 22139.9},    Point{16384, 38583.0},    Point{32768, 63338.4},
                               Point{65536, 115579.0},  Point{131072, 204764.0},  Point{262144, 446565.0},
                               Point{524288, 897890.0}, Point{1048576, 1634130.0}};
constexpr double kMiB = 1048576;
constexpr std::array kBufferArea{
    Point{2 * kMiB, 3338220.0},     Point{4 * kMiB, 6078640.0},     Point{8 * kMiB, 11952400.0},
    Point{16 * kMiB, 23745200.0},   Point{32 * kMiB, 46750900.0},   Point{64 * kMiB, 88605700.0},
    Point{128 * kMiB, 175423000.0}, Point{160 * kMiB, 225221000.0}, Point{256 * kMiB, 349364000.0}};
// pJ a word, recovered from the same log.
constexpr std::array kSramEnergy{Point{256 * 1024.0, 14.352644}, Point{kMiB, 26.758944}};
constexpr std::array kBufferEnergy{Point{32 * kMiB, 155.924294}, Point{128 * kMiB, 316.129794},
                                   Point{256 * kMiB, 440.881294}};
constexpr double kMacEnergy = 2.2, kRegisterEnergy = 0.222334;
constexpr double kDramEnergy = 512.0 / 4;  // 512 pJ for 64 bits

// An HBM2 PHY is as wide as the stack's 6.05 mm bump field (JESD235); its depth of 2.5 mm is an assumption.
constexpr double kPhyWidth = 6.05, kPhyArea = 6.05 * 2.5;
constexpr double kPhazeBandwidth = 128 * 2 * 1.05e9;
constexpr double kStackBandwidth = 300e9;  // 1,200 GB/s on TPUv4's four stacks

/// The tabulated value, or a straight line on log-log scales through the two nearest points.
double at(std::span<const Point> table, double size) {
  auto right = std::ranges::lower_bound(table, size, {}, &Point::size);
  if (right != table.end() && right->size == size) return right->value;
  right = std::clamp(right, table.begin() + 1, table.end() - 1);
  const auto left = right - 1;
  const double slope = std::log(right->value / left->value) / std::log(right->size / left->size);
  return left->value * std::pow(size / left->size, slope);
}

constexpr SystolicChip chip(int tensor_cores, int vector_cores, int side, double buffer_MiB) {
  return {.tensor_cores = tensor_cores,
          .vector_cores = vector_cores,
          .width = side,
          .depth = side,
          .lanes = side,
          .buffer = Bytes(buffer_MiB * kMiB)};
}

}  // namespace

std::string describe(const SystolicChip& chip) {
  return fmt::format("{}x{}x{} + {}x{}, {:g} MiB{}", chip.tensor_cores, chip.width, chip.depth, chip.vector_cores,
                     chip.lanes, chip.buffer.value() / kMiB,
                     chip.hbm_stacks == 0 ? "" : fmt::format(", {} HBM", chip.hbm_stacks));
}

Bytes tensor_sram(const SystolicChip& chip) {
  return max(Bytes(1024), Bytes(16.0 * chip.width * chip.depth));
}

Bytes vector_sram(const SystolicChip& chip) {
  return max(Bytes(1024), Bytes(16.0 * chip.lanes));
}

Area area(const SystolicChip& chip) {
  const double tensor = kTensorMac * chip.width * chip.depth + at(kSramArea, tensor_sram(chip).value());
  const double vector = kVectorMac * chip.lanes + at(kSramArea, vector_sram(chip).value());
  const double square_um =
      chip.tensor_cores * tensor + chip.vector_cores * vector + at(kBufferArea, chip.buffer.value());
  return Area(square_um * 1e-6 + chip.hbm_stacks * kPhyArea);
}

double beachfront_ratio(const SystolicChip& chip) {
  return chip.hbm_stacks * kPhyWidth / (2 * std::sqrt(area(chip).value()));
}

BytesPerSec hbm_bandwidth(const SystolicChip& chip) {
  return BytesPerSec(chip.hbm_stacks == 0 ? kPhazeBandwidth : chip.hbm_stacks * kStackBandwidth);
}

SystolicEnergy energy(const SystolicChip& chip) {
  const auto picojoules = [](double pJ) { return Joules(pJ * 1e-12); };
  return {.mac = picojoules(kMacEnergy),
          .register_word = picojoules(kRegisterEnergy),
          .sram_word = picojoules(at(kSramEnergy, tensor_sram(chip).value())),
          .buffer_word = picojoules(at(kBufferEnergy, chip.buffer.value())),
          .dram_word = picojoules(kDramEnergy)};
}

std::span<const NamedChip> baseline_chips() {
  // A100-like: 312 TFLOP/s bf16 at our clock are 148,571 MACs, the nearest grid point is 8 x 128 x 128 (275 TFLOP/s);
  // 40 MiB of L2 lie between 32 and 64.
  static constexpr std::array kChips{
      NamedChip{"TPUv4-like", chip(8, 2, 128, 128)}, NamedChip{"TPUv3-like", chip(4, 2, 128, 32)},
      NamedChip{"TPUv2-like", chip(2, 2, 128, 32)},  NamedChip{"v6-like", chip(2, 1, 256, 128)},
      NamedChip{"v7-like", chip(4, 2, 256, 256)},    NamedChip{"A100-like", chip(8, 64, 128, 32)},
  };
  return kChips;
}

const SystolicChip& baseline_chip(std::string_view name) {
  const auto found = std::ranges::find(baseline_chips(), name, &NamedChip::name);
  TESSERA_ASSERT(found != baseline_chips().end(), "a baseline chip has this name");
  return found->chip;
}

}  // namespace tessera
