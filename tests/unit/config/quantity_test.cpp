// Quantities: every unit, and every way to get one wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/config/reader.hpp"
#include "tests/unit/config/message.hpp"

namespace tessera {
namespace {

template <class Q>
struct Holder {
  Q value{};
};
template <class Q>
void describe(Reader& r, Holder<Q>& s) {
  r.required("v", s.value, "");
}

template <class Q>
double value(const std::string& text) {
  return read<Holder<Q>>(parse_text("v: " + text, "s.yaml")).value.value();
}
template <class Q>
std::string message(const std::string& text) {
  return message_of([&] { value<Q>(text); });
}

TEST(Quantity, UnitsOfEveryDimension) {
  EXPECT_DOUBLE_EQ(value<Seconds>("1.2 us"), 1.2e-6);
  EXPECT_DOUBLE_EQ(value<Seconds>("2 h"), 2 * 3600.0);
  EXPECT_DOUBLE_EQ(value<Hertz>("1410 MHz"), 1.41e9);
  EXPECT_DOUBLE_EQ(value<Bytes>("40 GiB"), 40 * 0x1p30);
  EXPECT_DOUBLE_EQ(value<Bytes>("40 GB"), 40e9);
  EXPECT_DOUBLE_EQ(value<Bytes>("50 MiB"), 50 * 0x1p20);
  EXPECT_DOUBLE_EQ(value<BytesPerSec>("450 GB/s"), 450e9);
  EXPECT_DOUBLE_EQ(value<BytesPerSec>("200 Gbit/s"), 25e9);
  EXPECT_DOUBLE_EQ(value<Flops>("3 TFLOP"), 3e12);
  EXPECT_DOUBLE_EQ(value<FlopsPerSec>("19.5 TFLOP/s"), 19.5e12);
  EXPECT_DOUBLE_EQ(value<FlopsPerByte>("10 FLOP/B"), 10);
  EXPECT_DOUBLE_EQ(value<Joules>("2 kWh"), 7.2e6);
  EXPECT_DOUBLE_EQ(value<Watts>("700 W"), 700);
  EXPECT_DOUBLE_EQ(value<JoulesPerFlop>("0.5 pJ/FLOP"), 0.5e-12);
  EXPECT_DOUBLE_EQ(value<JoulesPerByte>("30 pJ/B"), 30e-12);
}

TEST(Quantity, Spelling) {
  EXPECT_DOUBLE_EQ(value<Seconds>("5us"), 5e-6);
  EXPECT_DOUBLE_EQ(value<Seconds>("'5  us'"), 5e-6);
  EXPECT_DOUBLE_EQ(value<Bytes>("1e3 MB"), 1e9);
  EXPECT_EQ(value<Seconds>("0"), 0);
  EXPECT_EQ(value<Seconds>("0.0 ms"), 0);
}

TEST(Quantity, Mistakes) {
  constexpr auto kUnits = "ns, us, ms, s, min, h, d";
  const std::string wanted =
      std::string("s.yaml:1:4: error: v: expected a time with its unit (") + kUnits + "), found ";
  EXPECT_EQ(message<Seconds>("5"), wanted + "'5'");
  EXPECT_EQ(message<Seconds>("fast"), wanted + "'fast'");
  EXPECT_EQ(message<Seconds>("us"), wanted + "'us'");
  EXPECT_EQ(message<Seconds>("inf s"), wanted + "'inf s'");
  EXPECT_EQ(message<Seconds>("[5 us]"), wanted + "a list");
  EXPECT_EQ(message<Seconds>("5 parsec"),
            std::string("s.yaml:1:4: error: v: unit 'parsec' not known here; use one of ") + kUnits);
  EXPECT_EQ(message<BytesPerSec>("-450 GB/s"),
            "s.yaml:1:4: error: v: expected a positive bandwidth, found '-450 GB/s'");
  EXPECT_EQ(message<Bytes>("-1 GiB"), "s.yaml:1:4: error: v: expected a positive size, found '-1 GiB'");
  EXPECT_EQ(message<Seconds>("-5 us"), "s.yaml:1:4: error: v: expected a positive time, found '-5 us'");
  EXPECT_THAT(message<Bytes>("5 Gb"), testing::HasSubstr("unit 'Gb' not known here"));
  EXPECT_THAT(message<BytesPerSec>("5 GB"), testing::HasSubstr("unit 'GB' not known here"));
}

template <class Q>
std::string shown(Q q) {
  return detail::describe_quantity(q.value(), detail::units_of(q)).default_text;
}

TEST(Quantity, DefaultsAreShownInTheUnitWithTheFewestDigits) {
  EXPECT_EQ(shown(Seconds(1.5e-6)), "1.5 us");
  EXPECT_EQ(shown(Bytes(25 * 0x1p20)), "25 MiB");
  EXPECT_EQ(shown(BytesPerSec(25e9)), "25 GB/s");
  EXPECT_EQ(shown(Seconds(0)), "0");
}

}  // namespace
}  // namespace tessera
