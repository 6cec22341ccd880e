#include "engine/store/gaussian_process.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace hone {
namespace {

constexpr int kExponentialSteps = 8, kMostExponent = 24;

/// exp(-i / kExponentialSteps) for each i.
constexpr auto kExponentials = [] {
  std::array<double, kExponentialSteps * kMostExponent> all{};
  const double step = -1.0 / kExponentialSteps;
  double factor = 1.0;
  for (int i = 12; i >= 1; --i) {
    factor = 1.0 + factor * step / i;
  }
  double value = 1.0;
  for (double& one : all) {
    one = value;
    value *= factor;
  }
  return all;
}();

constexpr float kLeastPivot = 1e-6F;

using Four = float __attribute__((vector_size(16)));
constexpr std::size_t kWidth = 4;

Four four(const float* from) {
  Four values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

float sum_of(const Four& values) { return (values[0] + values[2]) + (values[1] + values[3]); }

/// The sum of a[i] b[i], in the same order on every host.
float dot(const float* a, const float* b, std::size_t count) {
  Four sums{};
  std::size_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    sums += four(a + i) * four(b + i);
  }
  float sum = sum_of(sums);
  for (; i < count; ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

/// The same of four with one: each sum waits for its own last term alone.
std::array<float, kWidth> dots_of_four(const std::array<float*, kWidth>& four_of, const float* b, std::size_t count) {
  Four first{}, second{}, third{}, fourth{};
  std::size_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    const Four values = four(b + i);
    first += four(four_of[0] + i) * values;
    second += four(four_of[1] + i) * values;
    third += four(four_of[2] + i) * values;
    fourth += four(four_of[3] + i) * values;
  }
  std::array<float, kWidth> sums{sum_of(first), sum_of(second), sum_of(third), sum_of(fourth)};
  for (; i < count; ++i) {
    for (std::size_t k = 0; k < kWidth; ++k) {
      sums[k] += four_of[k][i] * b[i];
    }
  }
  return sums;
}

}  // namespace

double covariance(double square) {
  const double x = std::sqrt(3.0 * square);  // exact to the last bit on every host
  if (!(x < kMostExponent)) {
    return 0.0;
  }
  const auto at = static_cast<std::size_t>(x * kExponentialSteps);
  const double rest = static_cast<double>(at) / kExponentialSteps - x;  // -1/8 at least
  const double series =
      1.0 + rest * (1.0 + rest * (1.0 / 2 + rest * (1.0 / 6 + rest * (1.0 / 24 + rest * (1.0 / 120 + rest * (1.0 / 720))))));
  return (1.0 + x) * kExponentials[at] * series;
}

Cholesky::Cholesky(std::size_t rows, std::vector<float> lower) : rows_(rows), lower_(std::move(lower)), inverse_(rows) {
  for (std::size_t first = 0; first < rows; first += kWidth) {
    const std::size_t end = std::min(first + kWidth, rows);
    std::size_t done = 0;
    if (end - first == kWidth) {  // four rows at once, up to the first of them
      const std::array<float*, kWidth> own{row(first), row(first + 1), row(first + 2), row(first + 3)};
      for (; done < first; ++done) {
        const std::array<float, kWidth> known = dots_of_four(own, row(done), done);
        for (std::size_t i = 0; i < kWidth; ++i) {
          own[i][done] = (own[i][done] - known[i]) * inverse_[done];
        }
      }
    }
    for (std::size_t i = first; i < end; ++i) {
      for (std::size_t k = done; k <= i; ++k) {
        const float left = row(i)[k] - dot(row(i), row(k), k);
        row(i)[k] = i == k ? std::sqrt(std::max(left, kLeastPivot)) : left * inverse_[k];
      }
      inverse_[i] = 1.0F / row(i)[i];
    }
  }
}

void Cholesky::solve_lower(std::span<std::vector<float>> all) const {
  for (; all.size() >= kWidth; all = all.subspan(kWidth)) {
    const std::array<float*, kWidth> x{all[0].data(), all[1].data(), all[2].data(), all[3].data()};
    for (std::size_t k = 0; k < rows_; ++k) {
      const std::array<float, kWidth> known = dots_of_four(x, row(k), k);
      for (std::size_t i = 0; i < kWidth; ++i) {
        x[i][k] = (x[i][k] - known[i]) * inverse_[k];
      }
    }
  }
  for (std::vector<float>& x : all) {
    for (std::size_t k = 0; k < rows_; ++k) {
      x[k] = (x[k] - dot(row(k), x.data(), k)) * inverse_[k];
    }
  }
}

std::pair<double, double> dots(const std::vector<float>& a, const std::vector<float>& b) {
  double mean = 0.0, left = 1.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    mean += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    left -= static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return {mean, std::max(0.0, left)};
}

}  // namespace hone
