#pragma once
// The geometry of configurations: coordinates of the values, and the squared differences that form a distance.

#include <cstdint>
#include <vector>

#include "hone/plugin.hpp"

namespace hone::search {

/// Terms of a squared distance: one per coordinate of an ordered parameter (its values by logarithm, and their alignment), and one per
/// parameter for differing at all, since a value can be special in itself.
class Metric {
 public:
  /// `alignment`: use the trailing zero bits of a value as an additional coordinate. A kernel's behaviour with 96 is often similar to that
  /// with 32, not with 97.
  Metric(const plugin::Space& space, bool alignment);

  [[nodiscard]] std::size_t parameters() const { return sizes_.size(); }
  [[nodiscard]] std::size_t coordinates() const { return coordinates_.size(); }
  [[nodiscard]] std::size_t terms() const { return coordinates_.size() + sizes_.size(); }
  /// A coordinate of the configuration with these digits.
  [[nodiscard]] float at(std::size_t coordinate, const std::uint16_t* digits) const {
    return coordinates_[coordinate].of[digits[coordinates_[coordinate].parameter]];
  }
  /// Squared difference in one term; terms beyond the coordinates are 0 or 1.
  [[nodiscard]] float difference(std::size_t term, const std::uint16_t* a, const std::uint16_t* b) const;
  /// Squared distance without knowledge of the kernel, for spreading an initial design.
  [[nodiscard]] float spread(const std::uint16_t* a, const std::uint16_t* b) const;

  /// Log-normal prior of each term's weight: mean and standard deviation of its logarithm.
  [[nodiscard]] const std::vector<double>& centre() const { return centre_; }
  [[nodiscard]] const std::vector<double>& width() const { return width_; }

 private:
  struct Coordinate {
    std::size_t parameter = 0;
    std::vector<float> of;  ///< by digit, in [0, 1]
    bool derived = false;
  };
  void add(Coordinate coordinate, double log_weight);

  std::vector<Coordinate> coordinates_;
  std::vector<std::size_t> sizes_;
  std::vector<double> centre_, width_;
};

}  // namespace hone::search
