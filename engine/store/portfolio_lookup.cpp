#include "engine/store/portfolio_lookup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <tuple>
#include <utility>

#include "engine/device/pass_launch.hpp"
#include "engine/kernel/operation.hpp"
#include "engine/store/shipped_portfolios.hpp"

namespace hone {
namespace {

using Loaded = std::shared_ptr<const LoadedPortfolio>;

// Standard deviation, as a share, that what was measured on another product adds to a prediction: between an H200 and an H100 none is
// needed (docs/results/untuned-h100-2026-11-26.md), other two were not measured.
constexpr double kElsewhere = 0.2;
constexpr double kOfSimilar = 0.2;  // and what was measured of similar problems
constexpr double kNear = 1.0;       // a factor of 2 outside of its range, a portfolio still says more than one record would

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

/// Which portfolios are asked: those for such problems, or those for problems that differ in what makes their code other code.
enum class Asked { kSame, kSimilar };

bool is_asked(Asked asked, double difference) {
  return asked == Asked::kSame ? difference == 0.0 : difference > 0.0 && std::isfinite(difference);
}

/// What portfolios are asked about. `withdrawn`: of each implementation, the texts of what the store says must not serve the problem.
struct Question {
  std::span<const Implementation> implementations;
  const DeviceInfo& device;
  Asked asked = Asked::kSame;
  std::vector<std::vector<std::string>> withdrawn = {};

  [[nodiscard]] const DTypes& dtypes() const { return implementations.front().problem.dtype; }
  [[nodiscard]] const Shape& shape() const { return implementations.front().problem.shape; }
  [[nodiscard]] double difference(const Portfolio& from) const { return hone::difference(from, dtypes(), shape()); }
  [[nodiscard]] bool is_for(const Portfolio& from) const {
    return is_asked(asked, difference(from)) && extents_outside(from.range, shape()) <= kNear;
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

std::optional<PortfolioPick> pick(const LoadedPortfolio& from, const Question& question) {
  const double more_doubt = question.asked == Asked::kSimilar ? kOfSimilar : 0.0;
  const Shape shape = ordered_as(from.portfolio().range, question.shape());
  const MemberLaunches launches = launches_of(from.portfolio().members, question.implementations, question.device);
  for (const Opinion& opinion : from.rule().rank(shape, launches)) {
    const PortfolioMember& member = from.portfolio().members[opinion.member];
    for (std::size_t i = 0; i < question.implementations.size(); ++i) {
      const auto& [spec, problem] = question.implementations[i];
      if (spec->name != member.kernel) {
        continue;
      }
      Result<Configuration> configuration = parse_configuration(spec->parameters, member.configuration);
      if (configuration && valid_for(*spec, problem, question.device, *configuration) && !question.is_withdrawn(i, *configuration)) {
        return PortfolioPick{i,
                             *std::move(configuration),
                             {.slowdown = std::exp(opinion.slowdown),
                              .doubt = std::hypot(std::expm1(opinion.doubt), more_doubt),
                              .product = from.portfolio().product,
                              .made_for = difference_text(from.portfolio(), question.dtypes(), question.shape())}};
      }
    }
  }
  return std::nullopt;
}

/// Whether a portfolio is for the problem and today's kernels.
bool may_serve(const Loaded& from, const Question& question, std::string& why) {
  if (!question.is_for(from->portfolio()) || from->portfolio().points.empty()) {
    return false;
  }
  const std::string reason = changed(from->portfolio(), question.implementations);
  why = why.empty() ? reason : why;
  return reason.empty();
}

/// Of a portfolio that may serve, its generation in the store (none: it came with Hone); says whether that was enough.
using Visit = std::function<bool(const LoadedPortfolio& portfolio, std::optional<std::int64_t> generation)>;

/// The portfolios whose problems and whose range are nearest come first, of several that hold it the newest.
Result<bool> visit_store(PortfolioKey key, const Question& question, Store& store, std::string& why, const Visit& visit) {
  key.dtypes = question.asked == Asked::kSame ? key.dtypes : "";
  HONE_ASSIGN(const std::vector<StoredPortfolio> stored, store.find_portfolios(key));
  std::vector<std::pair<Loaded, std::int64_t>> all;
  for (const StoredPortfolio& one : stored) {
    Result<Loaded> loaded = load_portfolio(one.text);
    if (loaded) {
      all.emplace_back(*std::move(loaded), one.generation);
    } else {
      why = why.empty() ? loaded.error().message : why;
    }
  }
  std::ranges::sort(all, {}, [&](const auto& one) {
    const Portfolio& portfolio = one.first->portfolio();
    return std::tuple(question.difference(portfolio), extents_outside(portfolio.range, question.shape()), -one.second);
  });
  return std::ranges::any_of(all, [&](const auto& one) { return may_serve(one.first, question, why) && visit(*one.first, one.second); });
}

/// Those for problems that differ least come first; made on this product, then on others.
bool visit_shipped(const PortfolioKey& key, const Question& question, std::string& why, const Visit& visit) {
  std::vector<ShippedGroup> groups = shipped_groups(key.operation, key.device, question.device.architecture);
  std::erase_if(groups, [&](const ShippedGroup& group) { return !question.is_for(group.front()->head()); });
  std::ranges::stable_sort(groups, {}, [&](const ShippedGroup& group) { return question.difference(group.front()->head()); });
  return std::ranges::any_of(groups, [&](const ShippedGroup& group) {
    std::vector<Loaded> all = loaded(group);
    std::erase_if(all, [&](const Loaded& one) { return !may_serve(one, question, why); });
    return !all.empty() && visit(*together(all), std::nullopt);
  });
}

/// In the order in which they serve: those for such problems of the store, then those that came with Hone, then those for similar ones.
Result<void> visit_all(const PortfolioKey& key, Question& question, Store* store, std::string& why, const Visit& visit) {
  std::string of_similar;  // why those for other problems do not serve is of no interest
  for (const Asked asked : {Asked::kSame, Asked::kSimilar}) {
    question.asked = asked;
    std::string& reason = asked == Asked::kSame ? why : of_similar;
    if (store != nullptr) {
      HONE_ASSIGN(const bool is_enough, visit_store(key, question, *store, reason, visit));
      if (is_enough) {
        return {};
      }
    }
    if (key.purpose == Purpose() && visit_shipped(key, question, reason, visit)) {
      return {};
    }
  }
  return {};
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
                                                          const DeviceInfo& device, Store* store, const Lookup& lookup, std::string& why) {
  if (!lookup.portfolios || implementations.empty()) {
    return std::optional<PortfolioPick>();
  }
  const PortfolioKey key = portfolio_key(operation, implementations.front().problem.dtype, device, lookup.purpose);
  Question question{implementations, device};
  for (const auto& [spec, problem] : store == nullptr ? std::span<const Implementation>() : implementations) {
    HONE_ASSIGN(std::vector<std::string> own, store->withdrawn_configurations(record_key(*spec, problem, device, lookup.purpose)));
    question.withdrawn.push_back(std::move(own));
  }
  std::optional<PortfolioPick> picked;
  HONE_TRY(visit_all(key, question, store, why, [&](const LoadedPortfolio& portfolio, std::optional<std::int64_t> generation) {
    picked = pick(portfolio, question);
    if (picked) {
      picked->prediction.generation = generation.value_or(0);
      picked->prediction.shipped = !generation;
      if (!generation && portfolio.portfolio().product != key.device) {
        picked->prediction.doubt = std::hypot(picked->prediction.doubt, kElsewhere);
      }
    }
    return picked.has_value();
  }));
  return picked;
}

Result<std::optional<Portfolio>> serving_portfolio(const std::string& operation, std::span<const Implementation> implementations,
                                                   const DeviceInfo& device, Store* store) {
  std::optional<Portfolio> serves;
  std::string why;
  Question question{implementations, device};
  HONE_TRY(visit_all(portfolio_key(operation, question.dtypes(), device), question, store, why,
                     [&](const LoadedPortfolio& portfolio, std::optional<std::int64_t>) {
                       serves = portfolio.portfolio();
                       return true;
                     }));
  return serves;
}

/// For such problems, or where there are none for those that differ least.
void read_shipped_portfolios(const KernelSpec& spec, const Problem& like, const DeviceInfo& device) {
  const std::vector<ShippedGroup> groups =
      shipped_groups(operation_of(spec), portfolio_key("", DTypes(), device).device, device.architecture);
  const auto difference_of = [&](const ShippedGroup& group) { return difference(group.front()->head(), like.dtype, like.shape); };
  const auto nearest = std::ranges::min_element(groups, {}, difference_of);
  for (const ShippedGroup& group : groups) {
    const double own = difference_of(group);
    if (std::isfinite(own) && own == difference_of(*nearest)) {
      const std::vector<Loaded> all = loaded(group);
      (void)(all.empty() ? nullptr : &together(all)->rule());
    }
  }
}

std::vector<Configuration> shipped_proposals(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device, std::size_t most) {
  std::vector<const ShippedPortfolio*> asked = shipped_by_likeness(operation_of(spec), device.product);
  const auto difference_of = [&](const ShippedPortfolio* one) { return difference(one->head(), problem.dtype, problem.shape); };
  std::erase_if(asked, [&](const ShippedPortfolio* one) { return std::isinf(difference_of(one)); });
  std::ranges::stable_sort(asked, {}, difference_of);
  const std::array<Implementation, 1> only{Implementation{&spec, problem}};
  std::vector<Configuration> all;
  for (const ShippedPortfolio* const one : asked) {
    const bool is_enough = all.size() == most || (!all.empty() && difference_of(one) > difference_of(asked.front()));
    if (is_enough || !one->loaded() || (*one->loaded())->portfolio().points.empty()) {
      continue;
    }
    const LoadedPortfolio& shipped = **one->loaded();
    const std::vector<PortfolioMember>& members = shipped.portfolio().members;
    for (const Opinion& opinion :
         shipped.rule().rank(ordered_as(shipped.portfolio().range, problem.shape), launches_of(members, only, device))) {
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
