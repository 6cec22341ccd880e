#pragma once
// Exposes a SearchSpace through the functions of hone/plugin.h.

#include <memory>
#include <string>
#include <vector>

#include "engine/space/likely_space.hpp"
#include "engine/space/search_space.hpp"
#include "hone/plugin.h"

namespace hone::plugin_host {

inline hone_position to_c(Count count) { return {static_cast<std::uint64_t>(count), static_cast<std::uint64_t>(count >> 64)}; }
inline Count from_c(hone_position position) { return Count{position.high} << 64 | position.low; }

/// Owns the space and the strings that the table points to.
class SpaceView {
 public:
  /// `likely`: the expectations on the space, which is its legal one; null: none.
  explicit SpaceView(std::shared_ptr<const SearchSpace> space, std::shared_ptr<const LikelySpace> likely = nullptr);
  SpaceView(const SpaceView&) = delete;
  SpaceView& operator=(const SpaceView&) = delete;
  ~SpaceView() = default;

  [[nodiscard]] const hone_space& functions() const { return functions_; }
  [[nodiscard]] const SearchSpace& space() const { return *space_; }
  [[nodiscard]] const LikelySpace* likely() const { return likely_.get(); }

 private:
  struct Dimension {
    std::vector<double> values;
    std::vector<std::string> labels;
    std::vector<const char*> label_texts;
  };
  std::shared_ptr<const SearchSpace> space_;
  std::shared_ptr<const LikelySpace> likely_;
  std::vector<Dimension> storage_;
  std::vector<hone_dimension> dimensions_;
  std::vector<hone_expectation> expectations_;
  hone_space functions_{};
};

}  // namespace hone::plugin_host
