#pragma once
// The valid configurations of a kernel for one problem on one device, without a list of them.

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "hone/configuration.hpp"

namespace hone {

/// Counts and positions; spaces exceed 2^64.
__extension__ using Count = unsigned __int128;
std::string text(Count count);

/// Kinds of neighbour that local search uses.
enum class Neighbourhood {
  kHamming,   ///< differs in exactly one parameter
  kAdjacent,  ///< differs in exactly one parameter, by one step in its list of values
};

class SearchSpace {
 public:
  /// Builds the space: constraints are simplified with `fixed` (p.*, d.*, sizeof(T)) and checked as soon as their parameters are known.
  /// Errors: kBadKernel if a constraint uses an unknown name; kEmptySpace if no configuration is valid (names a constraint set
  /// that cannot be met together); kInvalidArgument for duplicate parameters or values.
  static Result<SearchSpace> build(std::vector<Parameter> parameters, const std::vector<Constraint>& constraints, const Bindings& fixed);

  /// The space that holds exactly `rows` (value indices per parameter), for recorded spaces.
  static Result<SearchSpace> from_rows(std::vector<Parameter> parameters, const std::vector<std::vector<std::uint16_t>>& rows);

  SearchSpace(SearchSpace&&) noexcept;
  SearchSpace& operator=(SearchSpace&&) noexcept;
  ~SearchSpace();

  [[nodiscard]] const std::vector<Parameter>& parameters() const;
  [[nodiscard]] Count cartesian() const;  ///< product of the numbers of values
  [[nodiscard]] Count size() const;       ///< valid configurations, exactly

  /// The i-th valid configuration in lexicographic order of value positions. Throws ContractError if i >= size().
  [[nodiscard]] Configuration at(Count i) const;
  /// Position of a configuration, or nothing if it is not valid (or a value is not listed).
  [[nodiscard]] std::optional<Count> index(const Configuration& configuration) const;
  [[nodiscard]] bool contains(const Configuration& configuration) const { return index(configuration).has_value(); }

  /// Uniform over the valid configurations.
  [[nodiscard]] Count sample(std::mt19937_64& random) const;
  /// Up to n distinct positions, uniform without replacement.
  [[nodiscard]] std::vector<Count> sample(std::mt19937_64& random, std::size_t n) const;
  /// Valid neighbours, in order of position.
  [[nodiscard]] std::vector<Count> neighbours(Count i, Neighbourhood kind) const;

 private:
  struct Impl;
  explicit SearchSpace(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hone
