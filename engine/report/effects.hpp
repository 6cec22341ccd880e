#pragma once
// What the parameters of a session do: how much each matters, and what each of its values can reach.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/device/trial.hpp"
#include "engine/report/importance.hpp"

namespace hone::report {

/// One value of a parameter, over the trials of a session.
struct ValueStudy {
  std::string text;
  std::size_t right = 0, too_slow = 0, failed = 0;  ///< trials with it
  std::optional<double> best_us = {};               ///< the fastest right one with it
  /// Mean time with it / mean time of all, as the forest has it (geometric means); nothing where that says nothing, or of the value.
  std::optional<double> effect = {};
};

struct ParameterStudy {
  std::size_t index = 0;      ///< in the kernel's parameters
  double share = 0.0;         ///< of the variance of log time, alone
  double share_at_top = 0.0;  ///< the same among the fastest part, see Effects::kTop
  double joint = 0.0;         ///< of the variance, what it does together with one other: the sum over its pairs
  double joint_at_top = 0.0;
  std::vector<ValueStudy> values = {};
};

struct PairStudy {
  std::size_t first = 0, second = 0;  ///< in the kernel's parameters
  double share = 0.0, share_at_top = 0.0;
};

/// The fastest right configuration in which all but the first so many parameters have the default's values.
struct Reach {
  std::size_t free = 0;           ///< how many may differ, in the order of Effects::parameters
  std::size_t right = 0;          ///< trials of such configurations
  std::optional<double> best_us;  ///< nothing: none was right
};

struct Effects {
  /// At the top, all times beyond this quantile count as equal to it: what slow configurations have in common does not tell good ones
  /// apart.
  static constexpr double kTop = 0.25;
  /// A forest that explains less says nothing.
  static constexpr double kLeastExplained = 0.2;

  std::vector<ParameterStudy> parameters;  ///< the most important first: at the top, or over all times where the top explains nothing
  std::vector<PairStudy> pairs;            ///< in the same order, without those below 0.5 %
  double rest = 0.0, rest_at_top = 0.0;    ///< shares of three and more parameters together
  std::vector<Reach> reach;                ///< empty without a default
  std::size_t observations = 0;            ///< trials with a time that the shares are from; they are a sample of 2000 where there are more
  double explained = 0.0;                  ///< share of the variance that the forest predicts of trials it has not seen
  double explained_at_top = 0.0;

  [[nodiscard]] bool explains() const { return explained >= kLeastExplained; }
  [[nodiscard]] bool explains_top() const { return explained_at_top >= kLeastExplained; }
};

/// Fewer trials with a time say nothing about shares: they are 0 then.
inline constexpr std::size_t kFewestForShares = 20;

/// `standard`: the default configuration, if it was tried.
Effects effects_of(const std::vector<Parameter>& parameters, std::span<const Trial> trials, const Configuration* standard);

}  // namespace hone::report
