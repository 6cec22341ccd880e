#include "engine/tune/compile_missing.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <chrono>

#include "engine/base/cores.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/worker/compile_pool.hpp"
#include "engine/worker/worker.hpp"

namespace hone {

wire::Message worker_setup(const Registry::Found& device, const KernelSpec& spec, const Problem& problem, const MeasureSettings& settings,
                           std::uint64_t seed, int shared_by) {
  return {{"op", "setup"},
          {"shared_by", shared_by},
          {"device", wire::to_message(device.info)},
          {"plugin", device.plugin->file().string()},
          {"spec", spec.serialize()},
          {"problem", wire::to_message(problem)},
          {"settings", wire::to_message(settings)},
          {"seed", seed}};
}

Result<MissingCode> compile_missing(const Registry::Found& device, const KernelSpec& spec, const Problem& problem,
                                    const std::vector<Configuration>& configurations, Store& store, int workers,
                                    const std::stop_token& stop) {
  constexpr std::chrono::milliseconds kStopPoll{500};
  const auto key_of = [&](const Configuration& one) { return compiled_key(spec, problem, text(spec.parameters, one), device.info); };
  std::vector<Proposal> missing;
  for (const Configuration& one : configurations) {
    HONE_ASSIGN(const auto known, store.find_compiled(key_of(one)));
    if (!known) {
      missing.push_back({missing.size(), one});
    }
  }
  MissingCode result;
  if (missing.empty()) {
    return result;
  }
  HONE_ASSIGN(const std::filesystem::path executable, find_worker());
  boost::asio::io_context context;
  Result<void> kept;
  const int most = std::min(workers > 0 ? workers : static_cast<int>(usable_cores()), static_cast<int>(missing.size()));
  const wire::Message setup = worker_setup(device, spec, problem, MeasureSettings(), 0);
  CompilePool pool(context, executable, spec.parameters, setup, most, [&](const CompilePool::Done& done) {
    if (!done.compiled) {
      Trial& trial = result.failed.emplace_back();
      trial.configuration = done.proposal.configuration;
      trial.outcome = done.failure;
      trial.detail = done.compiled.error().message;
      trial.seconds.compile = done.seconds;
      return;
    }
    ++result.compiled;
    const Result<void> put = store.put_compiled(key_of(done.proposal.configuration), *done.compiled);
    kept = kept ? put : kept;
  });
  pool.submit(std::move(missing));
  while (pool.pending() > 0 && kept && !stop.stop_requested()) {
    if (pool.broken()) {
      return *pool.broken();
    }
    context.restart();
    context.run_one_for(kStopPoll);
  }
  HONE_TRY(kept);
  return result;
}

}  // namespace hone
