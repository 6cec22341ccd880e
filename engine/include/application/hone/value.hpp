#pragma once
// A number: the value of a tunable parameter or of an expression.

#include <cstdint>
#include <limits>
#include <string>

#include "hone/export.h"

namespace hone {

/// A number in an expression and the value of a tunable parameter.
class HONE_API Value {
 public:
  enum class Kind : std::uint8_t { kInteger, kBoolean, kReal };

  constexpr Value() = default;
  constexpr Value(bool v) : kind_(Kind::kBoolean), integer_(v ? 1 : 0) {}  // NOLINT
  constexpr Value(int v) : integer_(v) {}                                  // NOLINT
  constexpr Value(std::int64_t v) : integer_(v) {}                         // NOLINT
  constexpr Value(double v) : kind_(Kind::kReal), real_(v) {}              // NOLINT

  [[nodiscard]] constexpr Kind kind() const { return kind_; }
  /// The value as an integer: reals are truncated and clamped to 64 bits, NaN becomes 0.
  [[nodiscard]] constexpr std::int64_t integer() const { return kind_ == Kind::kReal ? truncated(real_) : integer_; }
  [[nodiscard]] constexpr double real() const { return kind_ == Kind::kReal ? real_ : static_cast<double>(integer_); }
  [[nodiscard]] constexpr bool boolean() const { return kind_ == Kind::kReal ? real_ != 0.0 : integer_ != 0; }
  /// "128", "true", "0.5": C++ source text of the value.
  [[nodiscard]] std::string text() const;

  friend constexpr bool operator==(const Value& a, const Value& b) {
    return a.kind_ == b.kind_ && (a.kind_ == Kind::kReal ? a.real_ == b.real_ : a.integer_ == b.integer_);
  }

 private:
  static constexpr std::int64_t truncated(double v) {
    if (v >= 0x1p63) {
      return std::numeric_limits<std::int64_t>::max();
    }
    return v >= -0x1p63 ? static_cast<std::int64_t>(v) : v < 0.0 ? std::numeric_limits<std::int64_t>::min() : 0;
  }

  Kind kind_ = Kind::kInteger;
  std::int64_t integer_ = 0;
  double real_ = 0.0;
};

}  // namespace hone
