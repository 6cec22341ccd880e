#pragma once
// The valid configurations of a kernel for one problem on one device, without a list of them.

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "engine/kernel/configuration_text.hpp"

namespace hone {

/// Counts and positions; spaces exceed 2^64.
__extension__ using Count = unsigned __int128;
std::string text(Count count);

/// Kinds of neighbour that local search uses.
enum class Neighbourhood {
  kHamming,   ///< differs in exactly one parameter
  kAdjacent,  ///< differs in exactly one parameter, by one step in its list of values
};

/// A configuration as the places of its values in their lists, one for each parameter.
using Digits = std::vector<std::uint16_t>;

/// What a space is made of.
struct SpaceFigures {
  std::size_t groups = 0;  ///< independent groups of parameters
  std::size_t reused = 0;  ///< of them taken over from another space
  std::size_t nodes = 0;   ///< of all decision diagrams
  std::size_t bytes = 0;   ///< that these hold
  /// Constraints that defeat sharing, as written: no diagram of bounded size holds them. They are checked while searching.
  std::vector<std::string> deferred;
};

/// What a space was built from, beside its parameters.
struct SpaceRecipe {
  std::vector<Constraint> constraints;
  Bindings fixed;
};

class SearchSpace {
 public:
  /// Builds the space: constraints are simplified with `fixed` (p.*, d.*, sizeof(T)) and checked as soon as their parameters are known.
  /// Errors: kBadKernel if a constraint uses an unknown name; kEmptySpace if no configuration is valid (names a constraint set
  /// that cannot be met together); kInvalidArgument for duplicate parameters or values.
  /// `previous`: the space of the same kernel for another shape or device; groups of parameters that differ in nothing are taken over.
  static Result<SearchSpace> build(std::vector<Parameter> parameters, const std::vector<Constraint>& constraints, const Bindings& fixed,
                                   const SearchSpace* previous = nullptr);

  /// The space that holds exactly `rows` (value indices per parameter), for recorded spaces.
  static Result<SearchSpace> from_rows(std::vector<Parameter> parameters, const std::vector<std::vector<std::uint16_t>>& rows);

  SearchSpace(SearchSpace&&) noexcept;
  SearchSpace& operator=(SearchSpace&&) noexcept;
  ~SearchSpace();

  [[nodiscard]] const std::vector<Parameter>& parameters() const;
  [[nodiscard]] Count cartesian() const;  ///< product of the numbers of values
  /// Positions: one for each valid configuration. In a space that is not exact there are more, see `next_valid`.
  [[nodiscard]] Count size() const;
  /// False where constraints defeat sharing: they are left out of the diagrams, whose size is bounded, and checked while searching.
  /// Then `size` is an upper bound; `index`, `contains` and `neighbours` are exact still.
  [[nodiscard]] bool exact() const;
  /// `i` itself if it leads to a valid configuration, as every position of an exact space does; otherwise one after it that does. Looks at
  /// a bounded number of configurations: where valid ones are rare, the same one may come again and again.
  [[nodiscard]] Count next_valid(Count i) const;
  [[nodiscard]] SpaceFigures figures() const;
  /// For a process that builds the same one; null where it was made of rows.
  [[nodiscard]] const SpaceRecipe* recipe() const;

  /// The i-th valid configuration (the one of `next_valid(i)`) in lexicographic order of value positions, except within a group of
  /// parameters whose diagram would be too large that way. Throws ContractError if i >= size().
  [[nodiscard]] Configuration at(Count i) const;
  /// Position of a configuration, or nothing if it is not valid (or a value is not listed).
  [[nodiscard]] std::optional<Count> index(const Configuration& configuration) const;
  [[nodiscard]] bool contains(const Configuration& configuration) const { return index(configuration).has_value(); }

  /// As `at` and `index`, without the values.
  [[nodiscard]] Digits digits(Count i) const;
  void digits(Count i, std::span<std::uint16_t> digits) const;
  [[nodiscard]] std::optional<Count> index(std::span<const std::uint16_t> digits) const;
  /// The valid configuration nearest to digits that may not be: each parameter's list of values is 1 long, and a label that differs
  /// counts 1. Looks at no more than some thousand partial configurations: in a very large space it may miss the nearest by a little.
  [[nodiscard]] Count nearest(std::span<const std::uint16_t> digits) const;

  /// Uniform over the valid configurations; in a space that is not exact, only as long as one in some thousand positions is valid.
  [[nodiscard]] Count sample(std::mt19937_64& random) const;
  /// Up to n distinct positions, uniform without replacement. Fewer where no more are found in a space that is not exact, within the time
  /// that some hundred thousand looks take.
  [[nodiscard]] std::vector<Count> sample(std::mt19937_64& random, std::size_t n) const;
  /// Valid neighbours, in order of position.
  [[nodiscard]] std::vector<Count> neighbours(Count i, Neighbourhood kind) const;

 private:
  struct Impl;
  explicit SearchSpace(std::unique_ptr<Impl> impl);
  /// Of a space that is not exact; `left`: less by the looks that it took.
  Count sample(std::mt19937_64& random, int& left) const;

  std::unique_ptr<Impl> impl_;
};

}  // namespace hone
