#pragma once
// What the operation matmul computes, in double, and numbers to compute it of.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "hone/problem.hpp"

namespace test {

inline hone::Problem product(hone::DType dtype, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t layout = 1,
                             std::int64_t terms = 1, std::int64_t activation = 1) {
  return {dtype, {{"m", m}, {"n", n}, {"k", k}, {"layout", layout}, {"terms", terms}, {"activation", activation}}};
}

/// Small multiples of 1/64: products of a few of them are exact.
inline std::vector<float> numbers(std::int64_t count, unsigned seed) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    values.push_back(static_cast<float>(static_cast<int>(seed >> 24U) - 128) / 64.0F);
  }
  return values;
}

struct ProductInputs {
  std::vector<float> a, b, added, bias;
  float alpha = 0.5F, beta = 2.0F;

  explicit ProductInputs(const hone::Problem& problem) {
    const std::int64_t m = problem.shape[0].second, n = problem.shape[1].second, k = problem.shape[2].second;
    a = numbers(m * k, 1);
    b = numbers(k * n, 2);
    added = numbers(m * n, 3);
    bias = numbers(n, 4);
  }

  [[nodiscard]] std::vector<double> answer(const hone::Problem& problem) const {
    const auto at = [&](std::size_t i) { return problem.shape[i].second; };
    const std::int64_t m = at(0), n = at(1), k = at(2), layout = at(3), terms = at(4), activation = at(5);
    std::vector<double> out(static_cast<std::size_t>(m * n));
    for (std::int64_t i = 0; i < m * n; ++i) {
      const std::int64_t row = i / n, column = i % n;
      double sum = 0.0;
      for (std::int64_t l = 0; l < k; ++l) {
        const auto in_a = static_cast<std::size_t>(layout <= 2 ? row * k + l : l * m + row);
        const auto in_b = static_cast<std::size_t>(layout % 2 == 0 ? column * k + l : l * n + column);
        sum += static_cast<double>(a[in_a]) * static_cast<double>(b[in_b]);
      }
      const auto place = static_cast<std::size_t>(i);
      double x = static_cast<double>(alpha) * sum;
      x += terms % 2 == 0 ? static_cast<double>(beta) * static_cast<double>(added[place]) : 0.0;
      x += terms >= 3 ? static_cast<double>(bias[static_cast<std::size_t>(column)]) : 0.0;
      out[place] = activation == 2 ? std::max(x, 0.0) : x;
    }
    return out;
  }
};

/// The largest difference.
inline double worst_error(const std::vector<float>& got, const std::vector<double>& expected) {
  double worst = got.size() == expected.size() ? 0.0 : 1e30;
  for (std::size_t i = 0; i < std::min(got.size(), expected.size()); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(got[i]) - expected[i]));
  }
  return worst;
}

}  // namespace test
