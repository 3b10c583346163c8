#include "sim/base/units.hpp"

#include <gtest/gtest.h>

#include <concepts>
#include <type_traits>

#include "sim/base/dtype.hpp"

namespace tessera {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};

static_assert(std::same_as<decltype(Bytes() / BytesPerSec()), Seconds>);
static_assert(std::same_as<decltype(Bytes() / Seconds()), BytesPerSec>);
static_assert(std::same_as<decltype(Flops() / FlopsPerSec()), Seconds>);
static_assert(std::same_as<decltype(Flops() / Bytes()), FlopsPerByte>);
static_assert(std::same_as<decltype(Watts() * Seconds()), Joules>);
static_assert(std::same_as<decltype(JoulesPerByte() * BytesPerSec()), Watts>);
static_assert(std::same_as<decltype(Seconds() / Seconds()), double>);
static_assert(std::same_as<decltype(1.0 / Seconds()), Hertz>);
static_assert(std::same_as<decltype(Hertz() * Seconds()), double>);
static_assert(Addable<Seconds, Seconds> && !Addable<Seconds, Bytes> && !Addable<Seconds, double>);
static_assert(Comparable<Bytes, Bytes> && !Comparable<Bytes, Flops> && !Comparable<Bytes, int>);
static_assert(!std::is_convertible_v<double, Seconds> && !std::is_convertible_v<Seconds, double>);
static_assert(sizeof(Seconds) == sizeof(double) && std::is_trivially_copyable_v<Seconds>);

TEST(Units, LiteralsAreInBaseUnits) {
  using namespace literals;
  EXPECT_DOUBLE_EQ((1.5_us).value(), 1.5e-6);
  EXPECT_DOUBLE_EQ((2.0_GiB).value(), 2.0 * 1024 * 1024 * 1024);
  EXPECT_DOUBLE_EQ((450.0_GBps).value(), 450e9);
  EXPECT_DOUBLE_EQ((989.0_TFLOPs).value(), 989e12);
}

TEST(Units, Arithmetic) {
  Seconds time(2);
  time += Seconds(1);
  time -= Seconds(0.5);
  time *= 4;
  time /= 2;
  EXPECT_DOUBLE_EQ(time.value(), (2 + 1 - 0.5) * 4 / 2);
  EXPECT_DOUBLE_EQ((-time + 3.0 * Seconds(1) - Seconds(1) * 2.0).value(), -5 + 3 - 2);
  EXPECT_DOUBLE_EQ(Bytes(3e9) / BytesPerSec(1.5e9) / Seconds(1), 2);
}

TEST(Units, OrderAndExtremes) {
  const Bytes small(1), large(2);
  EXPECT_TRUE(small < large && small <= large && large > small && large >= small);
  EXPECT_TRUE(small != large && small == Bytes(1));
  EXPECT_EQ(max(small, large), large);
  EXPECT_EQ(min(small, large), small);
}

TEST(Dtypes, NamesReadBack) {
  for (const Dtype dtype : kDtypes) EXPECT_EQ(parse_dtype(to_string(dtype)), dtype);
  EXPECT_EQ(parse_dtype("fp33"), std::nullopt);
}

TEST(Dtypes, ElementSizes) {
  EXPECT_EQ(element_size(Dtype::tf32), element_size(Dtype::fp32));
  EXPECT_EQ(element_size(Dtype::bf16), Bytes(2));
  EXPECT_EQ(element_size(Dtype::nvfp4), Bytes((16 * 4 / 8 + 1) / 16.0));  // 16 nibbles and one fp8 scale
}

}  // namespace
}  // namespace tessera
