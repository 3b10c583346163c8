// Silicon area and money as types: amounts that combine only with numbers and with their own kind.
#pragma once

namespace tessera {

/// A double in the unit that its tag names. Dividing two amounts of one kind gives a number.
template <class Tag>
class Amount {
 public:
  constexpr Amount() = default;
  constexpr explicit Amount(double value) : value_(value) {}

  /// The bare number, in the tag's unit; for the borders to files and reports only.
  [[nodiscard]] constexpr double value() const { return value_; }

  constexpr Amount& operator+=(Amount o) {
    value_ += o.value_;
    return *this;
  }
  friend constexpr Amount operator+(Amount a, Amount b) { return Amount(a.value_ + b.value_); }
  friend constexpr Amount operator-(Amount a, Amount b) { return Amount(a.value_ - b.value_); }
  friend constexpr Amount operator*(Amount a, double k) { return Amount(a.value_ * k); }
  friend constexpr Amount operator*(double k, Amount a) { return Amount(a.value_ * k); }
  friend constexpr Amount operator/(Amount a, double k) { return Amount(a.value_ / k); }
  friend constexpr double operator/(Amount a, Amount b) { return a.value_ / b.value_; }
  friend constexpr bool operator==(Amount a, Amount b) { return a.value_ == b.value_; }
  friend constexpr bool operator!=(Amount a, Amount b) { return a.value_ != b.value_; }
  friend constexpr bool operator<(Amount a, Amount b) { return a.value_ < b.value_; }
  friend constexpr bool operator>(Amount a, Amount b) { return a.value_ > b.value_; }
  friend constexpr bool operator<=(Amount a, Amount b) { return a.value_ <= b.value_; }
  friend constexpr bool operator>=(Amount a, Amount b) { return a.value_ >= b.value_; }

 private:
  double value_ = 0.0;
};

using Area = Amount<struct SquareMillimetres>;
using Money = Amount<struct UsDollars>;

}  // namespace tessera
