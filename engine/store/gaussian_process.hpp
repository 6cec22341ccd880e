#pragma once
// What a Gaussian process is computed from, the same way on every host.

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace hone {

/// Adds (from[i] - at)^2 to each of the squares.
void add_squares(std::span<float> squares, std::span<const float> from, float at);

/// Squares of distances become Matern's covariances of smoothness 3/2, from basic operations. 0 where a square is large, infinite or no
/// number.
void to_covariances(std::span<float> squares);

/// The factor L of a symmetric positive definite matrix L L^T. The noise on its diagonal makes it well conditioned, so floats do.
class Cholesky {
 public:
  /// `lower`: row by row, all of each row; what is above the diagonal means nothing.
  Cholesky(std::size_t rows, std::vector<float> lower);

  /// Each x becomes L^-1 x, by forward substitution. Several at once take less: what is read of L serves four of them.
  void solve_lower(std::span<std::vector<float>> all) const;
  void solve_lower(std::vector<float>& x) const { solve_lower({&x, 1}); }

 private:
  float* row(std::size_t i) { return lower_.data() + i * rows_; }
  [[nodiscard]] const float* row(std::size_t i) const { return lower_.data() + i * rows_; }

  std::size_t rows_;
  std::vector<float> lower_;
  std::vector<float> inverse_;  ///< of the diagonal
};

/// a b, and 1 - b b, which is no less than 0.
std::pair<double, double> dots(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace hone
