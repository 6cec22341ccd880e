#include "engine/tune/warm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>

#include "engine/base/cores.hpp"
#include "engine/store/lookup.hpp"
#include "engine/worker/compile_pool.hpp"
#include "engine/worker/worker.hpp"

namespace hone {
namespace {

/// What is missing of one kernel's members.
struct MissingCode {
  const KernelSpec* spec = nullptr;
  Problem problem;
  std::vector<Proposal> proposals;
};

Result<void> compile_missing(const MissingCode& missing, const Registry::Found& device, Store& store, int workers, WarmReport& report) {
  HONE_ASSIGN(const std::filesystem::path executable, find_worker());
  boost::asio::io_context context;
  const wire::Message setup{{"op", "setup"},
                            {"shared_by", 1},
                            {"device", wire::to_message(device.info)},
                            {"plugin", device.plugin->file().string()},
                            {"spec", missing.spec->serialize()},
                            {"problem", wire::to_message(missing.problem)},
                            {"settings", wire::to_message(MeasureSettings())},
                            {"seed", 0}};
  Result<void> kept;
  std::size_t left = missing.proposals.size();
  const int most = workers > 0 ? workers : static_cast<int>(usable_cores());
  CompilePool pool(context, executable, missing.spec->parameters, setup, most, [&](const CompilePool::Done& done) {
    --left;
    const std::string configuration = text(missing.spec->parameters, done.proposal.configuration);
    if (!done.compiled) {
      report.failures.push_back(fmt::format("{} {}: {}", missing.spec->name, configuration, done.compiled.error().message));
      return;
    }
    ++report.compiled;
    const Result<void> put = store.put_compiled(compiled_key(*missing.spec, missing.problem, configuration, device.info), *done.compiled);
    kept = kept ? put : kept;
  });
  pool.submit(missing.proposals);
  while (left > 0 && kept) {
    if (pool.broken()) {
      return *pool.broken();
    }
    context.restart();
    context.run_one();
  }
  return kept;
}

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
    MissingCode missing{spec, *own, {}};
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
      HONE_ASSIGN(const auto known, store.find_compiled(compiled_key(*spec, *own, member.configuration, device.info)));
      if (!known) {
        missing.proposals.push_back({missing.proposals.size(), *configuration});
      }
    }
    if (!missing.proposals.empty()) {
      HONE_TRY(compile_missing(missing, device, store, workers, report));
    }
  }
  return report;
}

}  // namespace hone
