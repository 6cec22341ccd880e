#pragma once
// What portfolios say of a problem: those of the store, then those that came with Hone.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/store/loaded_portfolio.hpp"
#include "engine/store/lookup.hpp"

namespace hone {

/// The portfolios that came with Hone for the device's architecture, one for an operation, dtypes and a range: that made on this product,
/// or on the other of its architecture whose name begins with most of the same words, with the members and measurements of those made on
/// others.
std::vector<std::shared_ptr<const LoadedPortfolio>> shipped_portfolios(const DeviceInfo& device);

/// The one that came with Hone and was made on this product for this range, without what was measured on others; null where there is none.
std::shared_ptr<const LoadedPortfolio> shipped_portfolio(const PortfolioKey& key, const ShapeRange& range);

/// What the rule asks of each member at a problem; none for one whose kernel is not among the implementations, or that cannot be launched.
MemberLaunches launches_of(std::span<const PortfolioMember> members, std::span<const Implementation> implementations,
                           const DeviceInfo& device);

struct PortfolioPick {
  std::size_t implementation = 0;  ///< of those that were given
  Configuration configuration;
  Prediction prediction;
};

/// Which portfolios are asked: those for the problem's dtypes and exact fields (flags, STATIC fields), whose range has an extent of 0 where
/// the problem has, and in whose range the problem lies or within a factor of 2 of it; or those for similar problems, which differ by 2 at
/// most (difference(); another architecture than those of the device counts a little over 1, and a shape further outside of the range a
/// third for each power of two). Code for problems that differ in more than their extents is other code, and no session has checked it: it
/// serves only for kernels that come with Hone. Similar ones are not asked under a purpose (inputs, bounds of errors, objectives).
enum class Match { kSame, kSimilar };

/// The legal member that the rule expects to be fastest and that was not withdrawn from the problem; of the newest portfolio in whose range
/// the problem lies, else of the nearest within a factor of 2; of those that came with Hone one made on this product, else on another of
/// its architecture, that whose name begins with most of the same words, with what was measured on others of it. Of those for similar
/// problems that which differs least, unless its code is other code and another's choice is expected to be less behind; of those of another
/// architecture only what is expected to take 1.25 times the best time at most. Nothing where there is none,
/// and `why` says why one that there is was passed over: it was made of another version of a kernel. `store` may be null. Errors: the store
/// fails.
Result<std::optional<PortfolioPick>> pick_from_portfolios(const std::string& operation, std::span<const Implementation> implementations,
                                                          const DeviceInfo& device, Store* store, const Lookup& lookup, Match match,
                                                          std::string& why);

/// All portfolios whose members a program may need for problems like these: of the same dtypes and exact fields, or where none is for those
/// of similar ones (also further outside of a range), in the order in which they are asked; without those whose range the `given` extents
/// do not fit, and those for which others that differ as much serve wherever they could. `store` and `why` as above. Errors: the store
/// fails.
Result<std::vector<Portfolio>> portfolios_for(const std::string& operation, std::span<const Implementation> implementations,
                                              const Shape& given, const DeviceInfo& device, Store* store, std::string& why);

/// Reads what came with Hone for the operation of a kernel and such problems: the first lookup would, for longer than a lookup should take.
/// Of the problem's shape counts only what portfolios have one value of, as a layout. Where none is for such problems: what is for similar
/// ones.
void read_shipped_portfolios(const KernelSpec& spec, const Problem& like, const DeviceInfo& device);

/// The legal members of kernel `spec`, of any portfolio that came with Hone for this product or other ones, what is named most like it
/// first: of each the best expected first, at most `most`, and only those that are `wanted`. Where none for such problems has any, of those
/// for similar ones: of those that differ as much as one another, those of which the best is expected to be the least behind. What a search
/// of a problem begins with.
std::vector<Configuration> shipped_proposals(
    const KernelSpec& spec, const Problem& problem, const DeviceInfo& device, std::size_t most,
    const std::function<bool(const Configuration&)>& wanted = [](const Configuration&) { return true; });

}  // namespace hone
