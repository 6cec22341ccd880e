#pragma once
// The natural logarithm from basic operations: those of a C library differ between hosts in the last bit.

namespace hone {

inline constexpr double kLn2 = 0.69314718055994530942;

/// Of a positive, finite number, to a few units in the last place. No inline function: one that is compiled where operations may be fused
/// would say something else.
double logarithm(double x);

}  // namespace hone
