// The arithmetic of Gaussian processes: right, and the same on every host.
#include "engine/store/gaussian_process.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace hone {
namespace {

/// Covariances of points on a line, with some noise.
std::vector<float> covariances(std::size_t rows, std::mt19937& random) {
  std::uniform_real_distribution<float> at(0.0F, 4.0F);
  std::vector<float> points(rows), all(rows * rows);
  for (float& point : points) {
    point = at(random);
  }
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < rows; ++k) {
      all[i * rows + k] = i == k ? 1.05F : std::exp(-std::abs(points[i] - points[k]));
    }
  }
  return all;
}

std::vector<float> drawn(std::size_t rows, std::mt19937& random) {
  std::normal_distribution<float> value;
  std::vector<float> all(rows);
  for (float& one : all) {
    one = value(random);
  }
  return all;
}

/// L of L L^T, and L^-1 x, in doubles.
std::vector<double> solved(const std::vector<float>& matrix, const std::vector<float>& x) {
  const std::size_t rows = x.size();
  std::vector<double> lower(rows * rows), result(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k <= i; ++k) {
      double left = static_cast<double>(matrix[i * rows + k]);
      for (std::size_t j = 0; j < k; ++j) {
        left -= lower[i * rows + j] * lower[k * rows + j];
      }
      lower[i * rows + k] = i == k ? std::sqrt(left) : left / lower[k * rows + k];
    }
    double left = static_cast<double>(x[i]);
    for (std::size_t j = 0; j < i; ++j) {
      left -= lower[i * rows + j] * result[j];
    }
    result[i] = left / lower[i * rows + i];
  }
  return result;
}

/// The sum of products of floats as it is defined: eight partial sums of whole eights, then what is left.
float sum_in_order(const std::vector<float>& a, const std::vector<float>& b, std::size_t count) {
  std::array<float, 8> part{};
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (std::size_t k = 0; k < 8; ++k) {
      const float product = a[i + k] * b[i + k];
      part[k] = part[k] + product;
    }
  }
  const std::array<float, 4> half{part[0] + part[4], part[1] + part[5], part[2] + part[6], part[3] + part[7]};
  float sum = (half[0] + half[2]) + (half[1] + half[3]);
  for (; i < count; ++i) {
    const float product = a[i] * b[i];
    sum = sum + product;
  }
  return sum;
}

}  // namespace

TEST_CASE("covariances are Matern's of smoothness 3/2") {
  std::vector<float> squares;
  std::vector<double> expected;
  for (int i = 0; i < 1003; ++i) {  // no multiple of eight
    squares.push_back(static_cast<float>(i) * static_cast<float>(i) * 1e-4F);
    const double x = std::sqrt(3.0 * static_cast<double>(squares.back()));
    expected.push_back((1.0 + x) * std::exp(-x));
  }
  to_covariances(squares);
  for (std::size_t i = 0; i < squares.size(); ++i) {
    CAPTURE(i);
    CHECK(squares[i] == doctest::Approx(expected[i]).epsilon(2e-6));
  }
  CHECK(squares[0] == 1.0F);
}

TEST_CASE("what is far away, or no number, has no covariance") {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  std::vector<float> squares{1e3F, 1e30F, kInfinite, std::numeric_limits<float>::quiet_NaN(), 0.0F};
  to_covariances(squares);
  CHECK(squares == std::vector<float>{0.0F, 0.0F, 0.0F, 0.0F, 1.0F});
  to_covariances({});
}

TEST_CASE("a factor solves any number of vectors of any size") {
  std::mt19937 random(1);
  for (const std::size_t rows : {0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 31, 32, 33, 36, 63, 64, 65, 100, 133}) {
    const std::vector<float> matrix = covariances(rows, random);
    const Cholesky factor(rows, matrix);
    for (const std::size_t count : {0, 1, 3, 4, 5, 9}) {
      std::vector<std::vector<float>> all;
      for (std::size_t i = 0; i < count; ++i) {
        all.push_back(drawn(rows, random));
      }
      const std::vector<std::vector<float>> before = all;
      factor.solve_lower(all);
      for (std::size_t i = 0; i < count; ++i) {
        const std::vector<double> expected = solved(matrix, before[i]);
        for (std::size_t k = 0; k < rows; ++k) {
          CAPTURE(rows);
          CAPTURE(count);
          CHECK(std::abs(static_cast<double>(all[i][k]) - expected[k]) < 2e-4);
        }
      }
    }
  }
}

TEST_CASE("sums are in one order, whatever the host computes at once") {
  std::mt19937 random(2);
  constexpr std::size_t kRows = 24;
  std::vector<float> lower(kRows * kRows);  // of an identity but for its last row: what is solved there is one sum
  std::vector<float> last = drawn(kRows, random);
  for (std::size_t i = 0; i + 1 < kRows; ++i) {
    lower[i * kRows + i] = 1.0F;
    lower[(kRows - 1) * kRows + i] = last[i] * 1e-2F;
    last[i] *= 1e-2F;
  }
  lower.back() = 2.0F;
  const Cholesky factor(kRows, lower);
  const std::vector<float> x = drawn(kRows, random);
  std::vector<float> alone = x;
  factor.solve_lower(alone);
  const float pivot = std::sqrt(2.0F - sum_in_order(last, last, kRows - 1));
  CHECK(alone.back() == (x.back() - sum_in_order(last, x, kRows - 1)) * (1.0F / pivot));
  // Four at once: what is before the last eight as a sum, then what is among them one by one.
  std::vector<std::vector<float>> four;
  for (int i = 0; i < 4; ++i) {
    four.push_back(drawn(kRows, random));
  }
  std::vector<float> expected;
  for (const std::vector<float>& one : four) {
    float left = one.back() - sum_in_order(last, one, kRows - 8);
    for (std::size_t k = kRows - 8; k + 1 < kRows; ++k) {
      const float product = last[k] * one[k];
      left = left - product;
    }
    expected.push_back(left * (1.0F / pivot));
  }
  factor.solve_lower(four);
  for (std::size_t i = 0; i < four.size(); ++i) {
    CHECK(four[i].back() == expected[i]);
  }
  std::vector<float> squares = x;
  add_squares(squares, last, 0.5F);
  for (std::size_t i = 0; i < kRows; ++i) {
    const float apart = last[i] - 0.5F, square = apart * apart;
    CHECK(squares[i] == x[i] + square);
  }
}

}  // namespace hone
