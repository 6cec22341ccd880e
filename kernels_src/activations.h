#pragma once
// Activations, to nearly all digits of the type of their results.
#include "approximate.h"

/// exp(s^2 / 2) times the share of the normal distribution beyond s, for s = (1 / t - 1) / kStep<T>: polynomials in t as in the formula
/// 7.1.26 of Abramowitz and Stegun ("Handbook of Mathematical Functions"), but fitted to the smallest relative error for s up to 6: 1.1e-8,
/// for f16 8.7e-6, for bf16 5.3e-4. Beyond, gelu is less than 1e-8.
template <class T>
constexpr float kStep = 0.36f;
template <>
constexpr float kStep<f32> = 0.29f;
template <class T>
HONE_DEVICE float scaled_tail(float t);
template <>
HONE_DEVICE float scaled_tail<f32>(float t) {
  const float high = 0.181688417f + t * (-0.148047716f + t * (0.305180403f + t * (-0.193082186f + t * 0.0394984975f)));
  return t * (0.115419009f + t * (0.119795977f + t * (0.0795474589f + t * high)));
}
template <>
HONE_DEVICE float scaled_tail<f16>(float t) {
  return t * (0.141809992f + t * (0.163068513f + t * (0.0440270702f + t * (0.247671914f + t * -0.096581774f))));
}
template <>
HONE_DEVICE float scaled_tail<bf16>(float t) {
  return t * (0.153761774f + t * (0.0756090688f + t * 0.270842617f));
}

/// gelu(v) = v * (1 + erf(v / sqrt(2))) / 2, with half of erff's instructions: with erff, arithmetic would take as long as memory, and a
/// kernel that computes it of hundreds of sums takes a second more to compile. `outside` is small where the result is, so the relative
/// error is small. |v| is limited because infinity * 0 is NaN.
template <class T>
HONE_DEVICE float gelu(float v) {
  const float outside = scaled_tail<T>(reciprocal(1.0f + kStep<T> * fabsf(v))) * power_of_two(v * v * -0.72134752f);
  return fmaxf(v, 0.0f) - fminf(fabsf(v), 1e30f) * outside;
}

/// silu(v) = v / (1 + exp(-v)). An exponential of f32's digits takes more instructions.
template <class T>
HONE_DEVICE float silu(float v) {
  if constexpr (sizeof(T) == 2) {
    return v * reciprocal(1.0f + power_of_two(v * -1.44269504f));
  } else {
    return v / (1.0f + expf(-v));
  }
}
