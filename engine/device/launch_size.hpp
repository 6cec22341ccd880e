#pragma once
// How much a kernel launches at a problem, and how evenly that fills a device.

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "engine/kernel/kernel_spec.hpp"
#include "engine/kernel/repeated_expressions.hpp"

namespace hone {

/// Of a kernel's main pass: the one whose blocks have most dynamic shared memory, which is where tiles are multiplied and not where they
/// are copied or summed up; of those with as much, one of which a larger device would have more blocks, then the one with most pieces of
/// work. Texts of portfolios that were written before it was this one know nothing of launches.
struct LaunchSize {
  double blocks = 1.0;
  /// Wave quantization: the logarithm to the base 2 of what whole waves take over what the same work takes where all multiprocessors end
  /// together, from 0 to 1. A wave has one block for each multiprocessor; where a larger device would have more blocks, they take one piece
  /// of work after another, and a wave has one for each. Blocks that share their pieces evenly, as those of stream-K, have no waves; what
  /// is said of them is a number like any.
  double tail = 0.0;
  /// How much more its pieces of work cover than the problem has, as a logarithm to the base 2: a problem with 66 columns has two tiles of
  /// 64. Over all fields of the problem of which twice as much has twice as many pieces, as long as no device limits them. Where their
  /// number does not grow as that of tiles, it is a number like any.
  double padding = 0.0;
  /// Pieces of work, as long as no device limits them.
  double pieces = 1.0;
  /// How many times more pieces there are than where a field of the problem is 1, its fields in the order of their names; 1 of those that
  /// are compiled in. Empty: not known.
  std::vector<double> along = {};
  friend bool operator==(const LaunchSize&, const LaunchSize&) = default;
};

/// What a kernel launches at one problem by one configuration after another.
class LaunchSizes {
 public:
  /// `bound`: the values of problem and device. The kernel must live as long as this.
  LaunchSizes(const KernelSpec& spec, const Bindings& bound);
  LaunchSizes(const LaunchSizes&) = delete;
  LaunchSizes& operator=(const LaunchSizes&) = delete;

  /// Nothing where an expression fails, or there is no block.
  std::optional<LaunchSize> at(const Configuration& configuration);

 private:
  /// Of a pass, what expressions_ calls them.
  struct Numbers {
    std::size_t enabled = 0, shared_bytes = 0;
    std::array<std::size_t, 3> grid{};
  };

  /// Below 0 where an expression fails.
  static double blocks_of(const Numbers& pass, RepeatedValues& values);

  /// `pieces`: of the pass at the problem.
  [[nodiscard]] double padding_of(const Numbers& pass, double pieces, const Configuration& configuration);
  [[nodiscard]] std::vector<double> along_fields(const Numbers& pass, double pieces, const Configuration& configuration);

  std::optional<double> multiprocessors_;
  RepeatedExpressions expressions_;
  RepeatedExpressions shared_;  ///< bytes of shared memory: apart from the others, which are asked of several problems
  std::vector<Numbers> passes_;
  std::optional<RepeatedValues> shared_here_;
  std::optional<RepeatedValues> here_, without_limit_;  ///< of a device with more multiprocessors than any launch has pieces of work for
  /// Of a device without limit, for each field of the problem that pieces depend on, with some and with twice as many times as much of it.
  std::deque<RepeatedValues> longer_;
  std::vector<std::optional<RepeatedValues>> one_;  ///< the same, for each field by its name, where it is 1; none where pieces ignore it
};

}  // namespace hone
