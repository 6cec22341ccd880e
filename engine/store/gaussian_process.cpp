#include "engine/store/gaussian_process.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace hone {
namespace {

constexpr float kLeastPivot = 1e-6F;
constexpr float kFarthest = 24.0F;  // in reaches: covariances of less than 1e-9

// Eight numbers at a time, in the same order on every host, whether it computes eight or four of them at once.
using Eight = float __attribute__((vector_size(32)));
using Four = float __attribute__((vector_size(16)));
using EightBits = std::int32_t __attribute__((vector_size(32)));
constexpr std::size_t kWidth = 8, kVectors = 4;
constexpr std::size_t kPanel = 32;  // rows for which what is above them is read at once
using Vectors = std::array<float*, kVectors>;

/// The lower half and the upper half of eight, added up.
[[gnu::always_inline]] inline Four halves(const Eight& values) {
  return __builtin_shufflevector(values, values, 0, 1, 2, 3) + __builtin_shufflevector(values, values, 4, 5, 6, 7);
}

/// Of each of four, the sum of its elements.
[[gnu::always_inline]] inline Four sums_of(const std::array<Eight, 4>& all) {
  const Four a = halves(all[0]), b = halves(all[1]), c = halves(all[2]), d = halves(all[3]);
  const Four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd = __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);
  return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

/// The sum of a[i] b[i].
float dot(const float* a, const float* b, std::size_t count) {
  Eight sums{};
  std::size_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    Eight from_a, from_b;
    std::memcpy(&from_a, a + i, sizeof from_a);
    std::memcpy(&from_b, b + i, sizeof from_b);
    sums += from_a * from_b;
  }
  float sum = sums_of({sums, Eight{}, Eight{}, Eight{}})[0];
  for (; i < count; ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

/// A lower triangular matrix, row by row, and the inverse of its diagonal.
struct Lower {
  const float* elements = nullptr;
  const float* inverse = nullptr;
  std::size_t stride = 0;
  [[nodiscard]] const float* row(std::size_t i) const { return elements + i * stride; }
};

/// Of two rows, the sums of their products with each of four vectors: of the first `count` elements, a multiple of eight.
[[gnu::always_inline]] inline void sums_of_two(const Vectors& x, const float* first, const float* second, std::size_t count, Four* sums) {
  std::array<Eight, kVectors> firsts{}, seconds{};
  for (std::size_t i = 0; i < count; i += kWidth) {
    Eight a, b;
    std::memcpy(&a, first + i, sizeof a);
    std::memcpy(&b, second + i, sizeof b);
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kVectors; ++v) {
      Eight values;
      std::memcpy(&values, x[v] + i, sizeof values);
      firsts[v] += values * a;
      seconds[v] += values * b;
    }
  }
  sums[0] = sums_of(firsts);
  sums[1] = sums_of(seconds);
}

/// Eight elements of four vectors, or `width` of them: x becomes L^-1 x, from the sums with all that is before them.
[[gnu::always_inline]] inline void solve_eight(const Lower& lower, const Vectors& x, std::size_t first, std::size_t width) {
  std::array<Four, kWidth> sums, solved;
  for (std::size_t i = 0; i < width; i += 2) {
    sums_of_two(x, lower.row(first + i), lower.row(first + std::min(i + 1, width - 1)), first, &sums[i]);
  }
  for (std::size_t i = 0; i < width; ++i) {
    const float* const row = lower.row(first + i) + first;
    Four left = Four{x[0][first + i], x[1][first + i], x[2][first + i], x[3][first + i]} - sums[i];
    for (std::size_t k = 0; k < i; ++k) {
      left -= row[k] * solved[k];
    }
    solved[i] = left * lower.inverse[first + i];
    for (std::size_t v = 0; v < kVectors; ++v) {
      x[v][first + i] = solved[i][v];
    }
  }
}

/// Vectors, four at a time, become L^-1 x, of the rows from `first`, a multiple of eight, to `end`. What is read of L serves all of them.
[[gnu::always_inline]] inline void solve_rows(const Lower& lower, std::span<const Vectors> all, std::size_t first, std::size_t end) {
  for (; first < end; first += kWidth) {
    for (const Vectors& x : all) {
      solve_eight(lower, x, first, std::min(kWidth, end - first));
    }
  }
}

/// Matern's of eight squares. exp(-x) is 2^-n times the series of a power between 1/2 and 1.
[[gnu::always_inline]] inline void covariances_of_eight(float* squares) {
  constexpr float kLogarithm2 = 0.693147181F;
  Eight square;
  std::memcpy(&square, squares, sizeof square);
  Eight x;
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kWidth; ++i) {
    x[i] = std::sqrt(3.0F * square[i]);  // exact to the last bit on every host
  }
  const EightBits is_near = x < kFarthest;
  x = is_near ? x : Eight{} + kFarthest;
  const EightBits powers = __builtin_convertvector(x * (1.0F / kLogarithm2), EightBits);
  const Eight rest = __builtin_convertvector(powers, Eight) * kLogarithm2 - x;
  const Eight series =
      1.0F +
      rest * (1.0F + rest * (1.0F / 2 + rest * (1.0F / 6 + rest * (1.0F / 24 + rest * (1.0F / 120 + rest * (1.0F / 720 + rest / 5040))))));
  const EightBits bits = (127 - powers) << 23;
  Eight power;
  std::memcpy(&power, &bits, sizeof power);
  const Eight all = is_near ? (1.0F + x) * power * series : Eight{};
  std::memcpy(squares, &all, sizeof all);
}

[[gnu::always_inline]] inline void covariances_of(float* squares, std::size_t count) {
  for (; count >= kWidth; count -= kWidth, squares += kWidth) {
    covariances_of_eight(squares);
  }
  std::array<float, kWidth> rest{};
  std::copy_n(squares, count, rest.begin());
  covariances_of_eight(rest.data());
  std::copy_n(rest.begin(), count, squares);
}

[[gnu::always_inline]] inline void add_squares_of(float* squares, const float* from, float at, std::size_t count) {
  std::size_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    Eight sum, apart;
    std::memcpy(&sum, squares + i, sizeof sum);
    std::memcpy(&apart, from + i, sizeof apart);
    apart -= at;
    sum += apart * apart;
    std::memcpy(squares + i, &sum, sizeof sum);
  }
  for (; i < count; ++i) {
    squares[i] += (from[i] - at) * (from[i] - at);
  }
}

struct Arithmetic {
  void (*add_squares)(float* squares, const float* from, float at, std::size_t count);
  void (*solve)(const Lower& lower, std::span<const Vectors> all, std::size_t first, std::size_t end);
  void (*covariances)(float* squares, std::size_t count);
};

void solve_anywhere(const Lower& lower, std::span<const Vectors> all, std::size_t first, std::size_t end) {
  solve_rows(lower, all, first, end);
}
void covariances_anywhere(float* squares, std::size_t count) { covariances_of(squares, count); }
void add_squares_anywhere(float* squares, const float* from, float at, std::size_t count) { add_squares_of(squares, from, at, count); }
constexpr Arithmetic kAnywhere{add_squares_anywhere, solve_anywhere, covariances_anywhere};

#ifdef __x86_64__
[[gnu::target("avx2")]] void solve_by_avx2(const Lower& lower, std::span<const Vectors> all, std::size_t first, std::size_t end) {
  solve_rows(lower, all, first, end);
}
[[gnu::target("avx2")]] void covariances_by_avx2(float* squares, std::size_t count) { covariances_of(squares, count); }
[[gnu::target("avx2")]] void add_squares_by_avx2(float* squares, const float* from, float at, std::size_t count) {
  add_squares_of(squares, from, at, count);
}

/// Chosen when it is first asked for: an engine that is a static object may ask before this file's own objects are made.
const Arithmetic& arithmetic() {
  static const Arithmetic chosen =
      __builtin_cpu_supports("avx2") != 0 ? Arithmetic{add_squares_by_avx2, solve_by_avx2, covariances_by_avx2} : kAnywhere;
  return chosen;
}
#else
const Arithmetic& arithmetic() { return kAnywhere; }
#endif

}  // namespace

void add_squares(std::span<float> squares, std::span<const float> from, float at) {
  arithmetic().add_squares(squares.data(), from.data(), at, squares.size());
}

void to_covariances(std::span<float> squares) { arithmetic().covariances(squares.data(), squares.size()); }

Cholesky::Cholesky(std::size_t rows, std::vector<float> lower) : rows_(rows), lower_(std::move(lower)), inverse_(rows) {
  const Lower known{lower_.data(), inverse_.data(), rows_};
  for (std::size_t panel = 0; panel < rows; panel += kPanel) {
    const std::size_t panel_end = std::min(panel + kPanel, rows);
    std::vector<Vectors> groups;
    for (std::size_t first = panel; first + kVectors <= panel_end; first += kVectors) {
      groups.push_back({row(first), row(first + 1), row(first + 2), row(first + 3)});
    }
    arithmetic().solve(known, groups, 0, panel);
    for (std::size_t first = panel; first < panel_end; first += kVectors) {
      const std::size_t end = std::min(first + kVectors, rows), group = (first - panel) / kVectors;
      std::size_t done = 0;
      if (group < groups.size()) {
        done = first;
        arithmetic().solve(known, {&groups[group], 1}, panel, done);
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
}

void Cholesky::solve_lower(std::span<std::vector<float>> all) const {
  std::vector<Vectors> groups;
  for (; all.size() >= kVectors; all = all.subspan(kVectors)) {
    groups.push_back({all[0].data(), all[1].data(), all[2].data(), all[3].data()});
  }
  arithmetic().solve({lower_.data(), inverse_.data(), rows_}, groups, 0, rows_);
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
