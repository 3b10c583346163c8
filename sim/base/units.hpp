// Physical quantities as types: a wrong formula does not compile, a missing unit is visible.
#pragma once

#include <cmath>

namespace tessera {

/// A double with a dimension in seconds^S bytes^B flops^F joules^J, held in SI base units.
/// Not modelled: affine units, and integers (bytes are exact up to 9 PB in a double).
template <int S, int B, int F, int J>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value_(value) {}

  /// The bare number in base units; for the borders to SimGrid, Eigen and files only.
  [[nodiscard]] constexpr double value() const { return value_; }

  constexpr Quantity operator-() const { return Quantity(-value_); }
  constexpr Quantity& operator+=(Quantity o) {
    value_ += o.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity o) {
    value_ -= o.value_;
    return *this;
  }
  constexpr Quantity& operator*=(double k) {
    value_ *= k;
    return *this;
  }
  constexpr Quantity& operator/=(double k) {
    value_ /= k;
    return *this;
  }

  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator*(Quantity a, double k) { return Quantity(a.value_ * k); }
  friend constexpr Quantity operator*(double k, Quantity a) { return Quantity(a.value_ * k); }
  friend constexpr Quantity operator/(Quantity a, double k) { return Quantity(a.value_ / k); }
  // Written out: a defaulted <=> makes g++ 12 emit a branch instead of maxsd.
  friend constexpr bool operator==(Quantity a, Quantity b) { return a.value_ == b.value_; }
  friend constexpr bool operator!=(Quantity a, Quantity b) { return a.value_ != b.value_; }
  friend constexpr bool operator<(Quantity a, Quantity b) { return a.value_ < b.value_; }
  friend constexpr bool operator>(Quantity a, Quantity b) { return a.value_ > b.value_; }
  friend constexpr bool operator<=(Quantity a, Quantity b) { return a.value_ <= b.value_; }
  friend constexpr bool operator>=(Quantity a, Quantity b) { return a.value_ >= b.value_; }

 private:
  double value_ = 0.0;
};

namespace detail {
template <int S, int B, int F, int J>
struct Result {
  using type = Quantity<S, B, F, J>;
};
template <>
struct Result<0, 0, 0, 0> {
  using type = double;
};
}  // namespace detail

template <int S1, int B1, int F1, int J1, int S2, int B2, int F2, int J2>
constexpr auto operator*(Quantity<S1, B1, F1, J1> a, Quantity<S2, B2, F2, J2> b) {
  return typename detail::Result<S1 + S2, B1 + B2, F1 + F2, J1 + J2>::type(a.value() * b.value());
}
template <int S1, int B1, int F1, int J1, int S2, int B2, int F2, int J2>
constexpr auto operator/(Quantity<S1, B1, F1, J1> a, Quantity<S2, B2, F2, J2> b) {
  return typename detail::Result<S1 - S2, B1 - B2, F1 - F2, J1 - J2>::type(a.value() / b.value());
}
template <int S, int B, int F, int J>
constexpr auto operator/(double a, Quantity<S, B, F, J> b) {
  return Quantity<-S, -B, -F, -J>(a / b.value());
}

using Seconds = Quantity<1, 0, 0, 0>;
using Hertz = Quantity<-1, 0, 0, 0>;
using Bytes = Quantity<0, 1, 0, 0>;
using BytesPerSec = Quantity<-1, 1, 0, 0>;
using Flops = Quantity<0, 0, 1, 0>;  // a multiply-add counts as 2
using FlopsPerSec = Quantity<-1, 0, 1, 0>;
using FlopsPerByte = Quantity<0, -1, 1, 0>;
using Joules = Quantity<0, 0, 0, 1>;
using Watts = Quantity<-1, 0, 0, 1>;
using JoulesPerFlop = Quantity<0, 0, -1, 1>;
using JoulesPerByte = Quantity<0, -1, 0, 1>;

inline namespace literals {
constexpr Seconds operator""_s(long double v) {
  return Seconds(static_cast<double>(v));
}
constexpr Seconds operator""_ms(long double v) {
  return Seconds(static_cast<double>(v) * 1e-3);
}
constexpr Seconds operator""_us(long double v) {
  return Seconds(static_cast<double>(v) * 1e-6);
}
constexpr Bytes operator""_B(long double v) {
  return Bytes(static_cast<double>(v));
}
constexpr Bytes operator""_KiB(long double v) {
  return Bytes(static_cast<double>(v) * 1024.0);
}
constexpr Bytes operator""_MiB(long double v) {
  return Bytes(static_cast<double>(v) * 1048576.0);
}
constexpr Bytes operator""_GiB(long double v) {
  return Bytes(static_cast<double>(v) * 1073741824.0);
}
constexpr Bytes operator""_GB(long double v) {
  return Bytes(static_cast<double>(v) * 1e9);
}
constexpr BytesPerSec operator""_GBps(long double v) {
  return BytesPerSec(static_cast<double>(v) * 1e9);
}
constexpr FlopsPerSec operator""_TFLOPs(long double v) {
  return FlopsPerSec(static_cast<double>(v) * 1e12);
}
constexpr Watts operator""_W(long double v) {
  return Watts(static_cast<double>(v));
}
constexpr Hertz operator""_MHz(long double v) {
  return Hertz(static_cast<double>(v) * 1e6);
}
}  // namespace literals

template <int S, int B, int F, int J>
constexpr Quantity<S, B, F, J> max(Quantity<S, B, F, J> a, Quantity<S, B, F, J> b) {
  return a < b ? b : a;
}
template <int S, int B, int F, int J>
constexpr Quantity<S, B, F, J> min(Quantity<S, B, F, J> a, Quantity<S, B, F, J> b) {
  return b < a ? b : a;
}

}  // namespace tessera
