#pragma once
// The legal configurations of a kernel, and those among them that its author expects to win.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/space/search_space.hpp"

namespace hone {

/// Two spaces, each with positions of its own: the legal one, and the likely one, which is the legal one narrowed by the expectations.
/// Expectations order a search: whatever is decided, recorded or served is of the legal space.
class LikelySpace {
 public:
  /// Builds the diagrams of both. Where no legal configuration meets all expectations, all count as likely, see contradiction().
  /// Errors: as SearchSpace::build, of the legal space or of an expectation with an unknown name.
  static Result<LikelySpace> build(const std::vector<Parameter>& parameters, const std::vector<Constraint>& constraints,
                                   std::vector<Constraint> expectations, Bindings fixed);
  /// The same of a recorded space, which is known by its rows: looks at each of them.
  static Result<LikelySpace> of_recorded(std::shared_ptr<const SearchSpace> legal, std::vector<Constraint> expectations, Bindings fixed);

  [[nodiscard]] const std::shared_ptr<const SearchSpace>& legal() const { return legal_; }
  /// The legal space itself where nothing narrows it.
  [[nodiscard]] const std::shared_ptr<const SearchSpace>& likely() const { return likely_; }
  [[nodiscard]] bool narrows() const { return likely_ != legal_; }
  /// Which conditions no configuration meets together, if that is why the legal space counts as likely; otherwise empty.
  [[nodiscard]] const std::string& contradiction() const { return contradiction_; }

  /// The position in the legal space of a position of the likely one.
  [[nodiscard]] Count to_legal(Count likely) const;
  /// The position in the likely space, or nothing for a configuration that breaks an expectation.
  [[nodiscard]] std::optional<Count> to_likely(Count legal) const;

  [[nodiscard]] const std::vector<Constraint>& expectations() const { return expectations_; }
  /// What else than parameters they are about.
  [[nodiscard]] const Bindings& fixed() const { return fixed_; }
  /// The expectations that a configuration breaks, as indices. One that cannot be evaluated for it (a division by zero) counts as broken.
  [[nodiscard]] std::vector<std::size_t> broken(const Configuration& configuration) const;

 private:
  LikelySpace(std::shared_ptr<const SearchSpace> legal, std::vector<Constraint> expectations, Bindings fixed);
  /// Takes what was built of the likely configurations, if there are any.
  Result<void> adopt(Result<SearchSpace> likely);

  std::shared_ptr<const SearchSpace> legal_, likely_;
  std::vector<Constraint> expectations_;
  Bindings fixed_;
  std::string contradiction_;
};

/// Of conditions over p.*, d.*, sizeof(T) (`fixed`) and c.*: those that do not hold for a configuration, as indices.
std::vector<std::size_t> broken(const std::vector<Constraint>& conditions, const std::vector<Parameter>& parameters, const Bindings& fixed,
                                const Configuration& configuration);

}  // namespace hone
