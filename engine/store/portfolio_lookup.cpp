#include "engine/store/portfolio_lookup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
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
constexpr double kNear = 1.0;            // a factor of 2 outside of its range, a portfolio still says more than one record would

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

/// A problem that is looked up. `withdrawn`: of each implementation, the texts of what the store says must not serve it.
struct LookupRequest {
  std::span<const Implementation> implementations;
  const DeviceInfo& device;
  Match match = Match::kSame;
  std::vector<std::vector<std::string>> withdrawn = {};

  [[nodiscard]] const DTypes& dtypes() const { return implementations.front().problem.dtype; }
  [[nodiscard]] const Shape& shape() const { return implementations.front().problem.shape; }
  [[nodiscard]] double difference(const Portfolio& from) const { return hone::difference(from, dtypes(), shape()); }
  /// Whether it has members of a kernel that may serve.
  [[nodiscard]] bool has_members(const Portfolio& from) const {
    return std::ranges::any_of(implementations, [&](const Implementation& one) {
      return from.sources.contains(one.spec->name) && (match == Match::kSame || is_builtin(*one.spec));
    });
  }
  [[nodiscard]] bool is_for(const Portfolio& from) const {
    return fits(match, difference(from)) && has_members(from) && extents_outside(from.range, shape()) <= kNear;
  }
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

std::optional<PortfolioPick> pick(const LoadedPortfolio& from, const LookupRequest& request) {
  const double difference = request.difference(from.portfolio());
  const double more_doubt = request.match == Match::kSimilar ? kOfSimilar + kOfDifference * difference : 0.0;
  const Shape shape = ordered_as(from.portfolio().range, request.shape());
  const MemberLaunches launches = launches_of(from.portfolio().members, request.implementations, request.device);
  for (const Opinion& opinion : from.rule().rank(shape, launches)) {
    const PortfolioMember& member = from.portfolio().members[opinion.member];
    for (std::size_t i = 0; i < request.implementations.size(); ++i) {
      const auto& [spec, problem] = request.implementations[i];
      if (spec->name != member.kernel || (request.match == Match::kSimilar && !is_builtin(*spec))) {
        continue;
      }
      Result<Configuration> configuration = parse_configuration(spec->parameters, member.configuration);
      if (configuration && valid_for(*spec, problem, request.device, *configuration) && !request.is_withdrawn(i, *configuration)) {
        return PortfolioPick{i,
                             *std::move(configuration),
                             {.slowdown = std::exp(opinion.slowdown),
                              .doubt = std::hypot(std::expm1(opinion.doubt), more_doubt),
                              .product = from.portfolio().product,
                              .made_for = difference_text(from.portfolio(), request.dtypes(), request.shape())}};
      }
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

struct OfStore {
  Loaded portfolio;
  std::int64_t generation = 0;
};

/// Those that can be read, of the problem's dtypes or of similar ones.
Result<std::vector<OfStore>> stored_for(PortfolioKey key, const LookupRequest& request, Store& store, std::string& why) {
  key.dtypes = request.match == Match::kSame ? key.dtypes : "";
  HONE_ASSIGN(const std::vector<StoredPortfolio> stored, store.find_portfolios(key));
  std::vector<OfStore> all;
  for (const StoredPortfolio& one : stored) {
    if (std::isinf(dtypes_difference(one.key.dtypes, request.dtypes()))) {
      continue;
    }
    Result<Loaded> loaded = load_portfolio(one.text);
    if (loaded) {
      all.push_back({*std::move(loaded), one.generation});
    } else {
      why = why.empty() ? loaded.error().message : why;
    }
  }
  return all;
}

/// The portfolios whose problems and whose range are nearest come first, of several that hold it the newest.
Result<std::optional<PortfolioPick>> pick_of_store(const PortfolioKey& key, const LookupRequest& request, Store& store, std::string& why) {
  HONE_ASSIGN(std::vector<OfStore> all, stored_for(key, request, store, why));
  std::ranges::sort(all, {}, [&](const OfStore& one) {
    const Portfolio& portfolio = one.portfolio->portfolio();
    return std::tuple(request.difference(portfolio), extents_outside(portfolio.range, request.shape()), -one.generation);
  });
  for (const auto& [loaded, generation] : all) {
    const bool may_serve = request.is_for(loaded->portfolio()) && is_current(loaded, request, why);
    std::optional<PortfolioPick> picked = may_serve ? pick(*loaded, request) : std::nullopt;
    if (picked) {
      picked->prediction.generation = generation;
      return picked;
    }
  }
  return std::optional<PortfolioPick>();
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

/// Those that came with Hone and are of today's kernels, together.
Loaded current(const ShippedGroup& group, const LookupRequest& request, std::string& why) {
  std::vector<Loaded> all = loaded(group);
  std::erase_if(all, [&](const Loaded& one) { return !is_current(one, request, why); });
  return all.empty() ? nullptr : together(all);
}

/// Those for problems that differ least come first; made on this product, then on others.
std::optional<PortfolioPick> pick_of_shipped(const PortfolioKey& key, const LookupRequest& request, std::string& why) {
  std::vector<ShippedGroup> groups = shipped_groups(key.operation, key.device, request.device.architecture);
  std::erase_if(groups, [&](const ShippedGroup& group) { return !request.is_for(group.front()->head()); });
  std::ranges::stable_sort(groups, {}, [&](const ShippedGroup& group) { return request.difference(group.front()->head()); });
  for (const ShippedGroup& group : groups) {
    const Loaded all = current(group, request, why);
    std::optional<PortfolioPick> picked = all ? pick(*all, request) : std::nullopt;
    if (picked) {
      picked->prediction.shipped = true;
      if (all->portfolio().product != key.device) {
        picked->prediction.doubt = std::hypot(picked->prediction.doubt, kElsewhere);
      }
      return picked;
    }
  }
  return std::nullopt;
}

}  // namespace

PortfolioKey portfolio_key(const std::string& operation, const DTypes& dtypes, const DeviceInfo& device, const Purpose& purpose) {
  std::string part = device.product;
  for (const std::string& share : {device.mig_profile, device.share}) {
    part += share.empty() ? "" : "/" + share;
  }
  return {operation, name(dtypes), part, "", purpose};
}

Shape ordered_as(const ShapeRange& range, const Shape& shape) {
  Shape ordered;
  for (const RangeAxis& axis : range.axes) {
    const auto field = std::ranges::find(shape, axis.name, &Shape::value_type::first);
    if (field != shape.end()) {
      ordered.push_back(*field);
    }
  }
  return ordered.size() == shape.size() ? ordered : Shape();
}

MemberLaunches launches_of(std::span<const PortfolioMember> members, std::span<const Implementation> implementations,
                           const DeviceInfo& device) {
  std::vector<Bindings> bound;
  for (const Implementation& one : implementations) {
    bound.push_back(bindings(one.problem));
    bound.back().merge(bindings(device));
  }
  MemberLaunches all(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto one = std::ranges::find(implementations, members[i].kernel,
                                       [](const Implementation& each) -> const std::string& { return each.spec->name; });
    if (one == implementations.end()) {
      continue;
    }
    const std::vector<Parameter>& parameters = one->spec->parameters;
    if (const Result<Configuration> configuration = parse_configuration(parameters, members[i].configuration)) {
      Bindings& with = bound[static_cast<std::size_t>(one - implementations.begin())];
      for (auto& [name, value] : bindings(parameters, *configuration)) {
        with.insert_or_assign(name, value);
      }
      all[i] = launch_size(*one->spec, with);
    }
  }
  return all;
}

std::vector<std::shared_ptr<const LoadedPortfolio>> shipped_portfolios(const DeviceInfo& device) {
  std::vector<Loaded> all;
  for (const ShippedGroup& group : shipped_groups("", portfolio_key("", DTypes(), device).device, device.architecture)) {
    if (const std::vector<Loaded> own = loaded(group); !own.empty()) {
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
  if (store != nullptr) {
    for (const auto& [spec, problem] : implementations) {
      HONE_ASSIGN(std::vector<std::string> own, store->withdrawn_configurations(record_key(*spec, problem, device, lookup.purpose)));
      request.withdrawn.push_back(std::move(own));
    }
    HONE_ASSIGN(std::optional<PortfolioPick> picked, pick_of_store(key, request, *store, why));
    if (picked) {
      return picked;
    }
  }
  return lookup.purpose == Purpose() ? pick_of_shipped(key, request, why) : std::nullopt;
}

Result<std::vector<Portfolio>> portfolios_for(const std::string& operation, std::span<const Implementation> implementations,
                                              const Shape& given, const DeviceInfo& device, Store& store, std::string& why) {
  const PortfolioKey key = portfolio_key(operation, implementations.front().problem.dtype, device);
  LookupRequest request{implementations, device};
  const auto is_wanted = [&](const Portfolio& from) {
    Shape shape = draw(from.range, 0);  // a shape of the range, but for what was given
    for (auto& [name, extent] : shape) {
      const auto own = std::ranges::find(given, name, &Shape::value_type::first);
      extent = own == given.end() ? extent : own->second;
    }
    return fits(request.match, request.difference(from)) && request.has_members(from) && extents_outside(from.range, shape) <= kNear;
  };
  const auto by_difference = [&](const Portfolio& one) { return request.difference(one); };
  std::vector<Portfolio> all;
  for (const Match match : {Match::kSame, Match::kSimilar}) {
    request.match = match;
    HONE_ASSIGN(const std::vector<OfStore> stored, stored_for(key, request, store, why));
    for (const OfStore& one : stored) {
      if (is_wanted(one.portfolio->portfolio()) && is_current(one.portfolio, request, why)) {
        all.push_back(one.portfolio->portfolio());
      }
    }
    std::ranges::stable_sort(all, {}, by_difference);
    std::vector<Portfolio> shipped;
    for (const ShippedGroup& group : shipped_groups(operation, key.device, device.architecture)) {
      if (const Loaded one = is_wanted(group.front()->head()) ? current(group, request, why) : nullptr) {
        shipped.push_back(one->portfolio());
      }
    }
    std::ranges::stable_sort(shipped, {}, by_difference);
    std::ranges::move(shipped, std::back_inserter(all));
    if (!all.empty()) {
      break;
    }
  }
  // Without those of similar problems in whose place another one serves wherever they could.
  for (auto one = all.begin(); request.match == Match::kSimilar && one != all.end();) {
    const bool is_hidden = std::any_of(all.begin(), one, [&](const Portfolio& before) { return covers(before.range, one->range); });
    one = is_hidden ? all.erase(one) : std::next(one);
  }
  return all;
}

/// For such problems, or where there are none for those that differ least.
void read_shipped_portfolios(const KernelSpec& spec, const Problem& like, const DeviceInfo& device) {
  const Implementation only{&spec, like};
  const LookupRequest request{{&only, 1}, device};
  std::vector<ShippedGroup> groups = shipped_groups(operation_of(spec), portfolio_key("", DTypes(), device).device, device.architecture);
  const auto difference_of = [&](const ShippedGroup& group) { return request.difference(group.front()->head()); };
  std::erase_if(groups, [&](const ShippedGroup& group) {
    return difference_of(group) > kMostDifference || !request.has_members(group.front()->head());
  });
  const auto nearest = std::ranges::min_element(groups, {}, difference_of);
  for (const ShippedGroup& group : groups) {
    const bool is_nearest = difference_of(group) == difference_of(*nearest);
    const std::vector<Loaded> all = is_nearest ? loaded(group) : std::vector<Loaded>();
    (void)(all.empty() ? nullptr : &together(all)->rule());
  }
}

std::vector<Configuration> shipped_proposals(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device, std::size_t most) {
  const std::array<Implementation, 1> only{Implementation{&spec, problem}};
  const LookupRequest request{only, device};
  const auto difference_of = [&](const ShippedPortfolio* one) { return request.difference(one->head()); };
  std::vector<const ShippedPortfolio*> asked = shipped_by_likeness(operation_of(spec), device.product);
  std::erase_if(asked,
                [&](const ShippedPortfolio* one) { return difference_of(one) > kMostDifference || !request.has_members(one->head()); });
  std::ranges::stable_sort(asked, {}, difference_of);
  std::vector<Configuration> all;
  double level = 0.0;  // of what was found
  for (const ShippedPortfolio* const one : asked) {
    const bool is_enough = all.size() == most || (!all.empty() && difference_of(one) > level);
    if (is_enough || !one->loaded() || (*one->loaded())->portfolio().points.empty()) {
      continue;
    }
    level = difference_of(one);
    const LoadedPortfolio& shipped = **one->loaded();
    const std::vector<PortfolioMember>& members = shipped.portfolio().members;
    const MemberLaunches launches = launches_of(members, only, device);
    for (const Opinion& opinion : shipped.rule().rank(ordered_as(shipped.portfolio().range, problem.shape), launches)) {
      const PortfolioMember& member = members[opinion.member];
      const Result<Configuration> configuration = parse_configuration(spec.parameters, member.configuration);
      if (all.size() < most && member.kernel == spec.name && configuration && valid_for(spec, problem, device, *configuration) &&
          std::ranges::find(all, *configuration) == all.end()) {
        all.push_back(*configuration);
      }
    }
  }
  return all;
}

}  // namespace hone
