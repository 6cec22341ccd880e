#pragma once
// An exponential function for loops over many numbers.

#include <algorithm>
#include <bit>
#include <cstdint>

namespace hone::search {

/// exp(x) for x <= 0 to a relative 1e-6: plain arithmetic, inline, so that loops over candidates vectorise.
inline float fast_exp(float x) {
  const float z = std::max(x * 1.44269504F, -80.0F);
  const auto whole = static_cast<std::int32_t>(z - 0.5F);  // nearest to z, without std::round, which SSE2 lacks
  const float f = z - static_cast<float>(whole);
  const float p =
      1.0F + f * (0.69314718F + f * (0.24022651F + f * (0.05550411F + f * (0.00961813F + f * (0.00133336F + f * 0.00015463F)))));
  return p * std::bit_cast<float>((whole + 127) << 23);
}

}  // namespace hone::search
