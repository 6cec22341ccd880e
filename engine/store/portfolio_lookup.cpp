#include "engine/store/portfolio_lookup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>

#include "engine/device/pass_launch.hpp"
#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/operation.hpp"
#include "engine/store/shipped_portfolios.hpp"

namespace hone {
namespace {

using Loaded = std::shared_ptr<const LoadedPortfolio>;

// Standard deviation, as a share, that what was measured on another product adds to a prediction: between an H200 and an H100 none is
// needed (docs/results/untuned-h100-2026-11-26.md), other two were not measured.
constexpr double kElsewhere = 0.2;
// And what was measured of similar problems, with what each unit of their difference adds: .08 was seen at differences up to 1.5
// (docs/results/untuned-h200-2026-11-28.md), of fifteen problems.
constexpr double kOfSimilar = 0.1, kOfDifference = 0.1;
constexpr double kMostDifference = 2.0;  // of similar problems
// What another architecture adds to a difference: code for it is other code, too. Where the best of the members that are legal here is
// expected to be further behind than this one, too few are, and defaults are as good: of 32 problems on an H200, served as if it were an
// A100, 18 were within it, at twice the default's speed, the others at 1.09 of it, down to .22
// (docs/results/architectures-h200-2026-11-29.md).
constexpr double kOfArchitecture = 1.01, kMostBehindElsewhere = 1.25;  // a little over 1: those of the device's own come first
// So many powers of two by which a shape is outside of the range, where it is not near it, are a difference of 1. Of portfolios that were
// cut off, choices up to 32 times outside were ahead of the default, but of attention, where they are as good
// (docs/results/untuned-h200-2026-11-29.md#outside-of-the-range).
constexpr double kPowersOutside = 3.0;

/// How far the choice of a portfolio for similar problems is behind, with what their difference adds: where few of its members are legal,
/// one that differs more may know better. Logarithms.
double behind(double slowdown, double difference) { return slowdown + kOfDifference * difference; }

/// Of a kernel whose code has changed since; empty if there is none.
std::string changed(const Portfolio& portfolio, std::span<const Implementation> implementations) {
  for (const Implementation& one : implementations) {
    const auto source = portfolio.sources.find(one.spec->name);
    if (source != portfolio.sources.end() && source->second != one.spec->source_hash) {
      return fmt::format("the portfolio of {} {} was made of another version of {}: hone tune {} --shapes ... makes a new one",
                         portfolio.operation, portfolio.dtypes, one.spec->name, portfolio.operation);
    }
  }
  return "";
}

bool fits(Match match, double difference) {
  return match == Match::kSame ? difference == 0.0 : difference > 0.0 && difference <= kMostDifference;
}

bool is_builtin(const KernelSpec& spec) {
  const auto known = find_builtin_kernel(spec.name);
  return known && (*known)->source_hash == spec.source_hash;
}

/// A problem that is looked up; with `given`, all problems of these extents, whatever the others are. `withdrawn`: of each implementation,
/// the texts of what the store says must not serve it.
struct LookupRequest {
  std::span<const Implementation> implementations;
  const DeviceInfo& device;
  Match match = Match::kSame;
  const Shape* given = nullptr;
  std::vector<std::vector<std::string>> withdrawn = {};
  std::string product = portfolio_key("", DTypes(), device).device;

  [[nodiscard]] const DTypes& dtypes() const { return implementations.front().problem.dtype; }
  [[nodiscard]] const Shape& shape() const { return implementations.front().problem.shape; }
  [[nodiscard]] bool is_of_architecture(const Portfolio& from) const {
    return hone::is_of_architecture(from, product, device.architecture);
  }
  /// Of all but how far outside of the range it is: 0 where the members' code is what the portfolio's sessions checked.
  [[nodiscard]] double code_difference(const Portfolio& from) const {
    const double own = hone::difference(from, dtypes(), given == nullptr ? shape() : with_any(from.range, shape(), *given));
    return own + (is_of_architecture(from) ? 0.0 : kOfArchitecture);
  }
  [[nodiscard]] double difference(const Portfolio& from) const {
    const double powers = outside(from);
    return code_difference(from) + (powers > kNearRange ? powers / kPowersOutside : 0.0);
  }
  [[nodiscard]] bool may_serve(const KernelSpec& spec, const Portfolio& from) const {
    return match == Match::kSame || code_difference(from) == 0.0 || is_builtin(spec);
  }
  /// Whether it has members of a kernel that may serve.
  [[nodiscard]] bool has_members(const Portfolio& from) const {
    return std::ranges::any_of(
        implementations, [&](const Implementation& one) { return from.sources.contains(one.spec->name) && may_serve(*one.spec, from); });
  }
  /// How far it is outside of the range.
  [[nodiscard]] double outside(const Portfolio& from) const {
    return extents_outside(from.range, given == nullptr ? shape() : with_any(from.range, shape(), *given));
  }
  [[nodiscard]] bool is_for(const Portfolio& from) const { return fits(match, difference(from)) && has_members(from); }
  [[nodiscard]] bool is_withdrawn(std::size_t implementation, const Configuration& configuration) const {
    if (withdrawn.empty() || withdrawn[implementation].empty()) {
      return false;
    }
    const std::string name = text(implementations[implementation].spec->parameters, configuration);
    return std::ranges::find(withdrawn[implementation], name) != withdrawn[implementation].end();
  }
};

/// Those of a group that can be read.
std::vector<Loaded> loaded(const ShippedGroup& group) {
  std::vector<Loaded> all;
  for (const ShippedPortfolio* const one : group) {
    if (one->loaded()) {
      all.push_back(*one->loaded());
    }
  }
  return all;
}

/// What members launch, each by the implementation of its kernel, as `configurations` has it.
template <class ConfigurationsOf>
MemberLaunches launches_by(std::span<const Implementation> implementations, const DeviceInfo& device, std::size_t members,
                           ConfigurationsOf configurations) {
  const Bindings of_device = bindings(device);
  MemberLaunches all(members);
  for (const auto& [spec, problem] : implementations) {
    Bindings bound = bindings(problem);
    bound.insert(of_device.begin(), of_device.end());
    LaunchSizes sizes(*spec, bound);
    const std::shared_ptr<const MemberConfigurations> own = configurations(*spec);
    for (std::size_t i = 0; i < members; ++i) {
      if ((*own)[i]) {
        all[i] = sizes.at(*(*own)[i]);
      }
    }
  }
  return all;
}

MemberLaunches launches_of(const LoadedPortfolio& from, std::span<const Implementation> implementations, const DeviceInfo& device) {
  return launches_by(implementations, device, from.portfolio().members.size(),
                     [&](const KernelSpec& spec) { return from.configurations(spec); });
}

/// Which implementation each member is of, where that may serve it; asked of a member once.
class Serving {
 public:
  Serving(const LoadedPortfolio& from, const LookupRequest& request) : from_(from), request_(request) {
    known_.resize(from.portfolio().members.size());
  }

  const std::optional<std::size_t>& operator()(std::size_t member) {
    if (!known_[member]) {
      known_[member] = find(member);
    }
    return *known_[member];
  }

 private:
  [[nodiscard]] std::optional<std::size_t> find(std::size_t member) const {
    for (std::size_t i = 0; i < request_.implementations.size(); ++i) {
      const auto& [spec, problem] = request_.implementations[i];
      if (spec->name != from_.portfolio().members[member].kernel || !request_.may_serve(*spec, from_.portfolio())) {
        continue;
      }
      const std::optional<Configuration>& configuration = (*from_.configurations(*spec))[member];
      if (configuration && valid_for(*spec, problem, request_.device, *configuration) && !request_.is_withdrawn(i, *configuration)) {
        return i;
      }
    }
    return std::nullopt;
  }

  const LoadedPortfolio& from_;
  const LookupRequest& request_;
  std::vector<std::optional<std::optional<std::size_t>>> known_;
};

std::optional<PortfolioPick> pick(const LoadedPortfolio& from, const LookupRequest& request) {
  const double difference = request.difference(from.portfolio());
  const double more_doubt = request.match == Match::kSimilar ? kOfSimilar + kOfDifference * difference : 0.0;
  const Shape shape = ordered_as(from.portfolio().range, request.shape());
  const MemberLaunches launches = launches_of(from, request.implementations, request.device);
  Serving serving(from, request);
  for (const Opinion& opinion : from.rule().rank(shape, launches, [&](std::size_t member) { return serving(member).has_value(); })) {
    if (const std::optional<std::size_t>& by = serving(opinion.member)) {
      return PortfolioPick{*by,
                           *(*from.configurations(*request.implementations[*by].spec))[opinion.member],
                           {.slowdown = std::exp(opinion.slowdown),
                            .doubt = std::hypot(std::expm1(opinion.doubt), more_doubt),
                            .product = from.portfolio().product,
                            .made_for = difference_text(from.portfolio(), request.dtypes(), request.shape())}};
    }
  }
  return std::nullopt;
}

/// Whether a portfolio is of today's kernels.
bool is_current(const Loaded& from, const LookupRequest& request, std::string& why) {
  const std::string reason = from->portfolio().points.empty() ? "" : changed(from->portfolio(), request.implementations);
  why = why.empty() ? reason : why;
  return reason.empty() && !from->portfolio().points.empty();
}

/// Who looks through portfolios, in the order in which they are asked.
struct Visitor {
  /// Whether a portfolio for problems that differ so much is to be read at all; of the store, or one that came with Hone.
  std::function<bool(double difference, bool is_shipped)> wants = [](double, bool) { return true; };
  /// Of a portfolio that may serve, its generation in the store (none: it came with Hone); says whether that was enough.
  std::function<bool(const LoadedPortfolio& portfolio, std::optional<std::int64_t> generation)> visit;
};

/// The portfolios whose problems and whose range are nearest come first, of several that hold it the newest.
Result<bool> visit_store(PortfolioKey key, const LookupRequest& request, Store& store, std::string& why, const Visitor& visitor) {
  key.dtypes = request.match == Match::kSame ? key.dtypes : "";
  HONE_ASSIGN(const std::vector<StoredPortfolio> stored, store.find_portfolios(key));
  std::vector<std::pair<Loaded, std::int64_t>> all;
  for (const StoredPortfolio& one : stored) {
    if (std::isinf(dtypes_difference(one.key.dtypes, request.dtypes()))) {
      continue;
    }
    Result<Loaded> loaded = load_portfolio(one.text);
    if (loaded) {
      all.emplace_back(*std::move(loaded), one.generation);
    } else {
      why = why.empty() ? loaded.error().message + "; hone portfolios --remake makes those of a store anew" : why;
    }
  }
  std::ranges::sort(all, {}, [&](const auto& one) {
    const Portfolio& portfolio = one.first->portfolio();
    return std::tuple(request.difference(portfolio), request.outside(portfolio), -one.second);
  });
  return std::ranges::any_of(all, [&](const auto& one) {
    const Portfolio& portfolio = one.first->portfolio();
    if (std::isinf(request.difference(portfolio))) {  // its problems have other fields
      why = why.empty() ? changed(portfolio, request.implementations) : why;
      return false;
    }
    return request.is_for(portfolio) && visitor.wants(request.difference(portfolio), false) && is_current(one.first, request, why) &&
           visitor.visit(*one.first, one.second);
  });
}

/// Those for problems that differ least come first; made on this product, then on others, together.
bool visit_shipped(const PortfolioKey& key, const LookupRequest& request, std::string& why, const Visitor& visitor) {
  std::vector<ShippedGroup> groups = shipped_groups(key.operation, key.device, request.device.architecture);
  std::erase_if(groups, [&](const ShippedGroup& group) { return !request.is_for(group.front()->head()); });
  std::ranges::stable_sort(groups, {}, [&](const ShippedGroup& group) {
    return std::pair(request.difference(group.front()->head()), request.outside(group.front()->head()));
  });
  return std::ranges::any_of(groups, [&](const ShippedGroup& group) {
    if (!visitor.wants(request.difference(group.front()->head()), true)) {
      return false;
    }
    std::vector<Loaded> all = loaded(group);
    std::erase_if(all, [&](const Loaded& one) { return !is_current(one, request, why); });
    return !all.empty() && visitor.visit(*together(all), std::nullopt);
  });
}

/// In the order in which they serve: those of the store, then those that came with Hone. `store` may be null.
Result<void> visit_all(const PortfolioKey& key, const LookupRequest& request, Store* store, std::string& why, const Visitor& visitor) {
  HONE_ASSIGN(const bool is_enough, store == nullptr ? Result<bool>(false) : visit_store(key, request, *store, why, visitor));
  if (!is_enough && key.purpose == Purpose()) {
    visit_shipped(key, request, why, visitor);
  }
  return {};
}

/// Whether all extents of a range are those of another one, too.
bool covers(const ShapeRange& range, const ShapeRange& other) {
  return std::ranges::equal(range.axes, other.axes, [](const RangeAxis& one, const RangeAxis& inside) {
    const auto is_held = [&](const RangeAxis::Part& part) {
      return std::ranges::any_of(one.parts, [&](const RangeAxis::Part& own) { return own.least <= part.least && part.most <= own.most; });
    };
    return one.name == inside.name && (one.exact || std::ranges::all_of(inside.parts, is_held));
  });
}

}  // namespace

PortfolioKey portfolio_key(const std::string& operation, const DTypes& dtypes, const DeviceInfo& device, const Purpose& purpose) {
  std::string part = device.product;
  for (const std::string& share : {device.mig_profile, device.share}) {
    part += share.empty() ? "" : "/" + share;
  }
  return {operation, name(dtypes), part, "", purpose};
}

MemberLaunches launches_of(std::span<const PortfolioMember> members, std::span<const Implementation> implementations,
                           const DeviceInfo& device) {
  return launches_by(implementations, device, members.size(), [&](const KernelSpec& spec) {
    return std::make_shared<const MemberConfigurations>(configurations_of(members, spec));
  });
}

std::vector<std::shared_ptr<const LoadedPortfolio>> shipped_portfolios(const DeviceInfo& device) {
  std::vector<Loaded> all;
  const std::string product = portfolio_key("", DTypes(), device).device;
  for (const ShippedGroup& group : shipped_groups("", product, device.architecture)) {
    const bool is_own = is_of_architecture(group.front()->head(), product, device.architecture);
    if (const std::vector<Loaded> own = is_own ? loaded(group) : std::vector<Loaded>(); !own.empty()) {
      all.push_back(together(own));
    }
  }
  return all;
}

std::shared_ptr<const LoadedPortfolio> shipped_portfolio(const PortfolioKey& key, const ShapeRange& range) {
  for (const ShippedPortfolio* const one : shipped_by_likeness(key.operation, key.device)) {
    const Portfolio& head = one->head();
    if (head.dtypes == key.dtypes && head.product == key.device && head.range == range && one->loaded()) {
      return *one->loaded();
    }
  }
  return nullptr;
}

Result<std::optional<PortfolioPick>> pick_from_portfolios(const std::string& operation, std::span<const Implementation> implementations,
                                                          const DeviceInfo& device, Store* store, const Lookup& lookup, Match match,
                                                          std::string& why) {
  if (!lookup.portfolios || implementations.empty() || (match == Match::kSimilar && lookup.purpose != Purpose())) {
    return std::optional<PortfolioPick>();
  }
  const PortfolioKey key = portfolio_key(operation, implementations.front().problem.dtype, device, lookup.purpose);
  LookupRequest request{implementations, device, match};
  for (const auto& [spec, problem] : store == nullptr ? std::span<const Implementation>() : implementations) {
    HONE_ASSIGN(std::vector<std::string> own, store->withdrawn_configurations(record_key(*spec, problem, device, lookup.purpose)));
    request.withdrawn.push_back(std::move(own));
  }
  std::optional<PortfolioPick> picked;
  double least_behind = 0.0;        // of what was picked
  std::optional<double> answered;   // the difference of the last that had a choice: of several that differ as much the first one counts
  bool is_of_checked_code = false;  // what was picked
  const auto wants = [&](double difference, bool is_shipped) {
    const bool is_settled =
        picked && (is_of_checked_code || (is_shipped && !picked->prediction.shipped) || behind(0.0, difference) >= least_behind);
    return !is_settled && answered != difference;
  };
  const auto visit = [&](const LoadedPortfolio& from, std::optional<std::int64_t> generation) {
    const double difference = request.difference(from.portfolio());
    std::optional<PortfolioPick> own = pick(from, request);
    if (own && !request.is_of_architecture(from.portfolio()) && own->prediction.slowdown > kMostBehindElsewhere) {
      own.reset();
    }
    answered = own ? difference : answered;
    if (own && (!picked || behind(std::log(own->prediction.slowdown), difference) < least_behind)) {
      const bool is_elsewhere = !generation && from.portfolio().product != key.device;
      own->prediction.generation = generation.value_or(0);
      own->prediction.shipped = !generation;
      own->prediction.doubt = std::hypot(own->prediction.doubt, is_elsewhere ? kElsewhere : 0.0);
      least_behind = behind(std::log(own->prediction.slowdown), difference);
      is_of_checked_code = request.code_difference(from.portfolio()) == 0.0;
      picked = std::move(own);
    }
    return picked && match == Match::kSame;
  };
  HONE_TRY(visit_all(key, request, store, why, {wants, visit}));
  return picked;
}

Result<std::vector<Portfolio>> portfolios_for(const std::string& operation, std::span<const Implementation> implementations,
                                              const Shape& given, const DeviceInfo& device, Store* store, std::string& why) {
  LookupRequest request{implementations, device, Match::kSame, &given};
  const PortfolioKey key = portfolio_key(operation, request.dtypes(), device);
  std::vector<Portfolio> all;
  const auto visit = [&](const LoadedPortfolio& from, std::optional<std::int64_t>) {
    // Without those for similar problems in whose place another one, for problems that differ as much, serves wherever they could.
    const bool is_hidden =
        request.match == Match::kSimilar && std::ranges::any_of(all, [&](const Portfolio& before) {
          return request.difference(before) == request.difference(from.portfolio()) && covers(before.range, from.portfolio().range);
        });
    if (!is_hidden) {
      all.push_back(from.portfolio());
    }
    return false;
  };
  HONE_TRY(visit_all(key, request, store, why, {.visit = visit}));
  if (all.empty()) {
    request.match = Match::kSimilar;
    HONE_TRY(visit_all(key, request, store, why, {.visit = visit}));
  }
  return all;
}

/// For such problems, or where there are none those for similar ones.
void read_shipped_portfolios(const KernelSpec& spec, const Problem& like, const DeviceInfo& device) {
  const Implementation only{&spec, like};
  const Shape none;
  const LookupRequest request{{&only, 1}, device, Match::kSame, &none};
  std::vector<ShippedGroup> groups = shipped_groups(operation_of(spec), portfolio_key("", DTypes(), device).device, device.architecture);
  const auto difference_of = [&](const ShippedGroup& group) { return request.difference(group.front()->head()); };
  std::erase_if(groups, [&](const ShippedGroup& group) {
    return difference_of(group) > kMostDifference || !request.has_members(group.front()->head());
  });
  const auto nearest = std::ranges::min_element(groups, {}, difference_of);
  for (const ShippedGroup& group : groups) {
    const bool may_serve = difference_of(*nearest) > 0.0 || difference_of(group) == 0.0;
    const std::vector<Loaded> all = may_serve ? loaded(group) : std::vector<Loaded>();
    (void)(all.empty() ? nullptr : &together(all)->rule());
  }
}

std::vector<Configuration> shipped_proposals(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device, std::size_t most,
                                             const std::function<bool(const Configuration&)>& wanted) {
  const std::array<Implementation, 1> only{Implementation{&spec, problem}};
  const LookupRequest request{only, device};
  const auto difference_of = [&](const ShippedPortfolio* one) { return difference(one->head(), problem.dtype, problem.shape); };
  std::vector<const ShippedPortfolio*> asked = shipped_by_likeness(operation_of(spec), device.product);
  std::erase_if(asked,
                [&](const ShippedPortfolio* one) { return difference_of(one) > kMostDifference || !request.has_members(one->head()); });
  std::ranges::stable_sort(asked, {}, difference_of);
  // The proposals of those that differ as much as one another, and how far the best of these is behind.
  struct Level {
    double difference = 0.0, behind = std::numeric_limits<double>::infinity();
    std::vector<Configuration> proposals = {};
  };
  Level best, level;
  for (const ShippedPortfolio* const one : asked) {
    if (difference_of(one) > level.difference) {
      if (level.difference == 0.0 && !level.proposals.empty()) {
        return level.proposals;  // of the problem's own code
      }
      if (level.behind < best.behind) {
        best = std::move(level);
      }
      level = {.difference = difference_of(one)};
    }
    if (behind(0.0, level.difference) >= best.behind) {
      break;  // what differs more is further behind
    }
    if (level.proposals.size() == most || !one->loaded() || (*one->loaded())->portfolio().points.empty()) {
      continue;
    }
    const LoadedPortfolio& shipped = **one->loaded();
    const MemberLaunches launches = launches_of(shipped, only, device);
    const std::shared_ptr<const MemberConfigurations> configurations = shipped.configurations(spec);
    const auto is_legal = [&](std::size_t member) {
      const std::optional<Configuration>& configuration = (*configurations)[member];
      return configuration && valid_for(spec, problem, device, *configuration);
    };
    for (const Opinion& opinion : shipped.rule().rank(ordered_as(shipped.portfolio().range, problem.shape), launches, is_legal)) {
      const std::optional<Configuration>& configuration = (*configurations)[opinion.member];
      if (level.proposals.size() < most && is_legal(opinion.member) && wanted(*configuration) &&
          std::ranges::find(level.proposals, *configuration) == level.proposals.end()) {
        level.behind = std::min(level.behind, behind(opinion.slowdown, level.difference));
        level.proposals.push_back(*configuration);
      }
    }
  }
  return (level.behind < best.behind ? level : best).proposals;
}

}  // namespace hone
