#include "engine/tune/warm.hpp"

#include <fmt/format.h>

#include "engine/kernel/configuration_text.hpp"
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

}  // namespace

Result<WarmReport> warm(const Portfolio& portfolio, const Operation& operation, const Registry::Found& device, Store& store, int workers) {
  WarmReport report;
  HONE_ASSIGN(const Problem problem, any_problem(portfolio, *operation.definition));
  for (const KernelSpec* const spec : operation.implementations) {
    const Result<Problem> own = problem_for(*spec, problem);
    if (!own) {
      continue;
    }
    std::vector<Configuration> configurations;
    for (const PortfolioMember& member : portfolio.members) {
      if (member.kernel != spec->name) {
        continue;
      }
      ++report.members;
      const Result<Configuration> configuration = parse_configuration(spec->parameters, member.configuration);
      if (!configuration || portfolio.sources.at(spec->name) != spec->source_hash) {
        report.failures.push_back(fmt::format("{} {}: it was made of another version of the kernel", spec->name, member.configuration));
        continue;
      }
      configurations.push_back(*configuration);
    }
    HONE_ASSIGN(const MissingCode missing, compile_missing(device, *spec, *own, configurations, store, workers));
    report.compiled += missing.compiled;
    for (const Trial& failed : missing.failed) {
      report.failures.push_back(fmt::format("{} {}: {}", spec->name, text(spec->parameters, failed.configuration), failed.detail));
    }
  }
  return report;
}

}  // namespace hone
