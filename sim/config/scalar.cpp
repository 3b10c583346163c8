// Scalars and quantities: from text, and as the reference shows them.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "sim/base/text.hpp"
#include "sim/config/field.hpp"

namespace tessera::detail {

namespace {

constexpr Unit kTime[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}};
constexpr Unit kFrequency[] = {{"Hz", 1}, {"kHz", 1e3}, {"MHz", 1e6}, {"GHz", 1e9}};
constexpr Unit kSize[] = {{"B", 1},    {"kB", 1e3},     {"KiB", 0x1p10}, {"MB", 1e6},    {"MiB", 0x1p20},
                          {"GB", 1e9}, {"GiB", 0x1p30}, {"TB", 1e12},    {"TiB", 0x1p40}};
constexpr Unit kBandwidth[] = {{"Mbit/s", 1e6 / 8}, {"MB/s", 1e6},        {"Gbit/s", 1e9 / 8}, {"GB/s", 1e9},
                               {"GiB/s", 0x1p30},   {"Tbit/s", 1e12 / 8}, {"TB/s", 1e12},      {"B/s", 1}};
constexpr Unit kWork[] = {{"FLOP", 1}, {"MFLOP", 1e6}, {"GFLOP", 1e9}, {"TFLOP", 1e12}, {"PFLOP", 1e15}};
constexpr Unit kFlopRate[] = {{"FLOP/s", 1}, {"MFLOP/s", 1e6}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}};
constexpr Unit kIntensity[] = {{"FLOP/B", 1}};
constexpr Unit kEnergy[] = {{"J", 1}, {"kJ", 1e3}, {"MJ", 1e6}, {"Wh", 3600}, {"kWh", 3.6e6}, {"MWh", 3.6e9}};
constexpr Unit kPower[] = {{"W", 1}, {"kW", 1e3}, {"MW", 1e6}};
constexpr Unit kEnergyPerFlop[] = {{"fJ/FLOP", 1e-15}, {"pJ/FLOP", 1e-12}, {"nJ/FLOP", 1e-9}};
constexpr Unit kEnergyPerByte[] = {{"fJ/B", 1e-15}, {"pJ/B", 1e-12}, {"nJ/B", 1e-9}};
constexpr Unit kArea[] = {{"mm2", 1}, {"cm2", 100}};
constexpr Unit kMoney[] = {{"USD", 1}, {"kUSD", 1e3}, {"MUSD", 1e6}};

std::string names(const UnitTable& table) {
  std::string all;
  for (const Unit& unit : table.units) all += (all.empty() ? "" : ", ") + std::string(unit.name);
  return all;
}

/// The finite number that `text` begins with, and what follows it.
std::optional<double> leading_number(std::string_view& text) {
  double value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc{} || !std::isfinite(value)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool is_plain(const Source& from) {
  return from.node.kind == Node::Kind::scalar && !from.node.quoted;
}

template <class Int>
void read_integer(const Source& from, Int& out) {
  Int value = 0;
  const std::string& text = from.node.scalar;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (is_plain(from) && wrong == std::errc{} && end == text.data() + text.size()) {
    out = value;
  } else if (is_plain(from) && wrong == std::errc::result_out_of_range) {
    from.fail(fmt::format("{} is too large", text));
  } else {
    from.expected("a whole number");
  }
}

std::array<std::string_view, kDtypeCount> dtype_names() {
  std::array<std::string_view, kDtypeCount> result;
  for (std::size_t i = 0; i < kDtypeCount; ++i) result[i] = to_string(kDtypes[i]);
  return result;
}

constexpr std::string_view kBool[] = {"false", "true"};

}  // namespace

#define TESSERA_UNITS(type, what, units)            \
  const UnitTable& units_of(type) {                 \
    static constexpr UnitTable kTable{what, units}; \
    return kTable;                                  \
  }
TESSERA_UNITS(Seconds, "time", kTime)
TESSERA_UNITS(Hertz, "frequency", kFrequency)
TESSERA_UNITS(Bytes, "size", kSize)
TESSERA_UNITS(BytesPerSec, "bandwidth", kBandwidth)
TESSERA_UNITS(Flops, "amount of work", kWork)
TESSERA_UNITS(FlopsPerSec, "rate of work", kFlopRate)
TESSERA_UNITS(FlopsPerByte, "intensity", kIntensity)
TESSERA_UNITS(Joules, "energy", kEnergy)
TESSERA_UNITS(Watts, "power", kPower)
TESSERA_UNITS(JoulesPerFlop, "energy per FLOP", kEnergyPerFlop)
TESSERA_UNITS(JoulesPerByte, "energy per byte", kEnergyPerByte)
TESSERA_UNITS(Area, "die area", kArea)
TESSERA_UNITS(Money, "price", kMoney)
#undef TESSERA_UNITS

std::optional<double> read_quantity(const Source& from, const UnitTable& table) {
  std::string_view rest = trim(from.node.scalar);
  const std::optional<double> number = from.node.kind == Node::Kind::scalar ? leading_number(rest) : std::nullopt;
  const std::string_view name = trim(rest);
  if (!number || (name.empty() && *number != 0)) {
    from.expected(fmt::format("a {} with its unit ({})", table.what, names(table)));
    return std::nullopt;
  }
  if (*number < 0) {
    from.expected(fmt::format("a positive {}", table.what));
    return std::nullopt;
  }
  if (name.empty()) return 0.0;
  for (const Unit& unit : table.units) {
    if (unit.name == name) return *number * unit.factor;
  }
  from.fail(fmt::format("unit '{}' not known here; use one of {}", name, names(table)));
  return std::nullopt;
}

TypeText describe_quantity(double value, const UnitTable& table) {
  const Unit* best = &table.units.front();
  for (const Unit& unit : table.units) {
    const bool shorter = fmt::to_string(value / unit.factor).size() < fmt::to_string(value / best->factor).size();
    if (shorter) best = &unit;
  }
  std::string shown = value == 0 ? "0" : fmt::format("{} {}", value / best->factor, best->name);
  return {std::string(table.what), names(table), std::move(shown)};
}

std::string list_of(std::span<const std::string_view> names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

std::optional<std::size_t> read_name(const Source& from, std::span<const std::string_view> names) {
  if (from.node.kind == Node::Kind::scalar) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (from.node.scalar == names[i]) return i;
    }
    const std::vector<std::string> candidates(names.begin(), names.end());
    from.fail(fmt::format("expected one of {}, found '{}'{}", list_of(names), from.node.scalar,
                          did_you_mean(from.node.scalar, candidates)));
  } else {
    from.expected("one of " + list_of(names));
  }
  return std::nullopt;
}

void read_scalar(const Source& from, bool& out) {
  if (is_plain(from) && from.node.scalar == kBool[0]) {
    out = false;
  } else if (is_plain(from) && from.node.scalar == kBool[1]) {
    out = true;
  } else {
    from.expected("true or false");
  }
}

void read_scalar(const Source& from, int& out) {
  read_integer(from, out);
}
void read_scalar(const Source& from, std::int64_t& out) {
  read_integer(from, out);
}

void read_scalar(const Source& from, double& out) {
  std::string_view rest = from.node.scalar;
  const std::optional<double> number = is_plain(from) ? leading_number(rest) : std::nullopt;
  if (!number || !rest.empty()) return from.expected("a number");
  out = *number;
}

void read_scalar(const Source& from, std::string& out) {
  if (from.node.kind != Node::Kind::scalar) return from.expected("text");
  out = from.node.scalar;
}

void read_scalar(const Source& from, Dtype& out) {
  if (const auto index = read_name(from, dtype_names())) out = kDtypes[*index];
}

TypeText describe_scalar(bool value) {
  return {"true or false", "", value ? "true" : "false"};
}
TypeText describe_scalar(std::int64_t value) {
  return {"whole number", "", fmt::to_string(value)};
}
TypeText describe_scalar(double value) {
  return {"number", "", fmt::to_string(value)};
}
TypeText describe_scalar(const std::string& value) {
  return {"text", "", value.empty() ? "\"\"" : value};
}
TypeText describe_scalar(Dtype value) {
  return {list_of(dtype_names()), "", std::string(to_string(value))};
}

}  // namespace tessera::detail
