#include "engine/tune/warm.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/kernel/configuration_text.hpp"
#include "engine/kernel/static_fields.hpp"
#include "engine/store/lookup.hpp"
#include "engine/tune/compile_missing.hpp"

namespace hone {
namespace {

/// A problem of the range, for its dtypes and STATIC fields: code does not depend on the rest.
Result<Problem> any_problem(const Portfolio& portfolio, const KernelSpec& definition) {
  HONE_ASSIGN(const DTypes dtypes, choose_dtypes(definition, portfolio.dtypes));
  const Shape shape = portfolio.points.empty() ? draw(portfolio.range, 0) : portfolio.points.front().shape;
  return make_problem(definition, dtypes, shape);
}

/// Whether the configuration may be legal, as far as dtypes, STATIC fields and the given extents tell.
bool may_be_legal(const KernelSpec& spec, const Problem& like, const Shape& given, const DeviceInfo& device,
                  const Configuration& configuration) {
  Bindings bound = bindings(like);
  for (const auto& [name, extent] : like.shape) {
    if (!is_compiled_in(spec, name) && std::ranges::find(given, name, &Shape::value_type::first) == given.end()) {
      bound.erase("p." + name);
    }
  }
  bound.merge(bindings(spec.parameters, configuration));
  bound.merge(bindings(device));
  return !is_refuted(spec, bound);
}

/// 0 where the store has none.
Result<double> code_bytes_of(const Portfolio& portfolio, std::size_t member, const KernelSpec& definition, const KernelSpec& spec,
                             const DeviceInfo& device, Store& store) {
  HONE_ASSIGN(const DTypes dtypes, choose_dtypes(definition, portfolio.dtypes));
  for (const PortfolioPoint& point : portfolio.points) {
    if (point.find(member) == nullptr) {
      continue;
    }
    HONE_ASSIGN(const Problem problem, make_problem(definition, dtypes, point.shape));
    HONE_ASSIGN(const Problem own, problem_for(spec, problem));
    HONE_ASSIGN(const auto compiled, store.find_compiled(compiled_key(spec, own, portfolio.members[member].configuration, device)));
    if (compiled) {
      return static_cast<double>(compiled->artifact->bytes.size());
    }
  }
  return 0.0;
}

}  // namespace

Result<double> code_bytes(const Portfolio& portfolio, const Operation& operation, const DeviceInfo& device, Store& store) {
  double all = 0.0;
  for (std::size_t i = 0; i < portfolio.members.size(); ++i) {
    const auto spec = std::ranges::find(operation.implementations, portfolio.members[i].kernel,
                                        [](const KernelSpec* one) -> const std::string& { return one->name; });
    if (spec != operation.implementations.end()) {
      HONE_ASSIGN(const double bytes, code_bytes_of(portfolio, i, *operation.definition, **spec, device, store));
      all += bytes;
    }
  }
  return all;
}

Result<WarmReport> warm(const Portfolio& portfolio, const Operation& operation, const Registry::Found& device, Store& store, int workers,
                        const std::stop_token& stop) {
  HONE_ASSIGN(const Problem any, any_problem(portfolio, *operation.definition));
  return warm(portfolio, operation, any, {}, device, store, workers, stop);
}

Result<WarmReport> warm(const Portfolio& portfolio, const Operation& operation, const Problem& like, const Shape& given,
                        const Registry::Found& device, Store& store, int workers, const std::stop_token& stop) {
  WarmReport report;
  for (const KernelSpec* const spec : operation.implementations) {
    const Result<Problem> own = problem_for(*spec, like);
    if (!own) {
      continue;
    }
    std::vector<Configuration> configurations;
    for (const PortfolioMember& member : portfolio.members) {
      if (member.kernel != spec->name) {
        continue;
      }
      const Result<Configuration> configuration = parse_configuration(spec->parameters, member.configuration);
      if (configuration && !may_be_legal(*spec, *own, given, device.info, *configuration)) {
        continue;
      }
      ++report.members;
      if (!configuration || portfolio.sources.at(spec->name) != spec->source_hash) {
        report.failures.push_back(fmt::format("{} {}: it was made of another version of the kernel", spec->name, member.configuration));
        continue;
      }
      configurations.push_back(*configuration);
    }
    HONE_ASSIGN(const MissingCode missing, compile_missing(device, *spec, *own, configurations, store, workers, stop));
    report.compiled += missing.compiled;
    for (const Trial& failed : missing.failed) {
      report.failures.push_back(fmt::format("{} {}: {}", spec->name, text(spec->parameters, failed.configuration), failed.detail));
    }
  }
  return report;
}

}  // namespace hone
