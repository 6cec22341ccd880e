// Which configurations a check looks at, and on which problem where none is given.

#include <algorithm>
#include <random>
#include <set>

#include "engine/kernel/static_fields.hpp"
#include "engine/space/default_position.hpp"
#include "engine/space/restriction.hpp"
#include "engine/tune/check.hpp"
#include "engine/tune/session.hpp"

namespace hone {
namespace {

constexpr std::size_t kDraws = 8;  // of which the one that meets most values is taken

using Place = std::pair<std::size_t, std::size_t>;  // a parameter and one of its values

class Sample {
 public:
  Sample(const KernelSpec& spec, Bindings fixed) : spec_(spec), fixed_(std::move(fixed)) {
    for (std::size_t p = 0; p < spec.parameters.size(); ++p) {
      for (std::size_t v = 0; v < spec.parameters[p].values.size(); ++v) {
        unmet_.insert({p, v});
      }
    }
  }

  void take(Configuration configuration) {
    if (std::ranges::find(chosen_, configuration) != chosen_.end()) {
      return;
    }
    for (const Place& place : met_by(configuration)) {
      unmet_.erase(place);
    }
    chosen_.push_back(std::move(configuration));
  }

  /// Takes a configuration that has the first value that none has yet; false once all are met.
  Result<bool> meet_one(std::mt19937_64& random, std::vector<std::string>& without) {
    if (unmet_.empty()) {
      return false;
    }
    const Place place = *unmet_.begin();
    const Parameter& parameter = spec_.parameters[place.first];
    const std::string value = text(parameter, parameter.values[place.second]);
    HONE_ASSIGN(std::vector<Parameter> narrow, narrowed(spec_.parameters, {{parameter.name, {value}}}));
    const Result<SearchSpace> space = SearchSpace::build(std::move(narrow), spec_.constraints, fixed_);
    if (!space && space.error().code != ErrorCode::kEmptySpace) {
      return space.error();
    }
    unmet_.erase(place);
    if (!space) {
      without.push_back(parameter.name + "=" + value);
      return true;
    }
    std::size_t most = 0;
    Configuration best = space->at(0);
    for (const Count position : space->sample(random, kDraws)) {
      Configuration drawn = space->at(position);
      if (const std::size_t meets = count_unmet(drawn); meets > most) {
        most = meets;
        best = std::move(drawn);
      }
    }
    take(std::move(best));
    return true;
  }

  [[nodiscard]] std::vector<Configuration> chosen() && { return std::move(chosen_); }

 private:
  [[nodiscard]] std::vector<Place> met_by(const Configuration& configuration) const {
    std::vector<Place> places;
    for (std::size_t p = 0; p < spec_.parameters.size(); ++p) {
      const std::vector<Value>& values = spec_.parameters[p].values;
      const auto at = std::ranges::find(values, configuration.values.at(p));
      places.emplace_back(p, static_cast<std::size_t>(at - values.begin()));
    }
    return places;
  }

  [[nodiscard]] std::size_t count_unmet(const Configuration& configuration) const {
    const std::vector<Place> places = met_by(configuration);
    return static_cast<std::size_t>(std::ranges::count_if(places, [this](const Place& place) { return unmet_.contains(place); }));
  }

  const KernelSpec& spec_;
  Bindings fixed_;
  std::set<Place> unmet_;
  std::vector<Configuration> chosen_;
};

}  // namespace

Result<std::vector<Configuration>> check_sample(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device, std::size_t drawn,
                                                std::uint64_t seed, std::vector<std::string>& without) {
  Bindings fixed = bindings(problem);
  fixed.merge(bindings(device));
  HONE_ASSIGN(const SearchSpace space, SearchSpace::build(spec.parameters, spec.constraints, fixed));
  Sample sample(spec, fixed);
  sample.take(space.at(default_position(space, default_configuration(spec))));
  std::mt19937_64 random(seed);
  for (const Count position : space.sample(random, drawn)) {
    sample.take(space.at(position));
  }
  for (;;) {
    HONE_ASSIGN(const bool more, sample.meet_one(random, without));
    if (!more) {
      return std::move(sample).chosen();
    }
  }
}

Problem reduced_problem(const KernelSpec& spec, const DTypes& dtype, std::int64_t elements, double operations) {
  Problem problem{dtype, {}};
  for (const ProblemField& field : spec.problem) {
    problem.shape.emplace_back(field.name, field.default_value);
  }
  const auto too_large = [&] {
    const Bindings bound = bindings(problem);
    const auto exceeds = [&](const Expression& amount, double limit) {
      const Result<Value> value = amount.evaluate(bound);
      return value && value->real() > limit;
    };
    return exceeds(spec.cost.flops, operations) || std::ranges::any_of(spec.arguments, [&](const Argument& argument) {
             return argument.direction != Direction::kScalar && exceeds(argument.extent, static_cast<double>(elements));
           });
  };
  while (too_large()) {
    const auto largest = std::ranges::max_element(
        problem.shape, {}, [&](const auto& extent) { return is_compiled_in(spec, extent.first) ? 0 : extent.second; });
    if (largest == problem.shape.end() || is_compiled_in(spec, largest->first) || largest->second <= 1) {
      break;
    }
    largest->second = (largest->second + 1) / 2;
  }
  return problem;
}

}  // namespace hone
