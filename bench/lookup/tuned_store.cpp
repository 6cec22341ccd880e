#include "bench/lookup/tuned_store.hpp"

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/runtime/launch_plan.hpp"
#include "engine/space/search_space.hpp"

namespace hone::bench {
namespace {

Result<void> record_one(Store& store, const Tuned& tuned, const FoundDevice& device) {
  const Choice choice{.source = Source::kDefault, .configuration = tuned.configuration, .record = {}};
  HONE_ASSIGN(const LaunchPlan plan, make_launch_plan(*tuned.spec, tuned.problem, choice, device, &store));
  Record record;
  record.configuration = tuned.configuration;
  record.configuration_text = text(tuned.spec->parameters, tuned.configuration);
  record.measurement.samples_us = {1.0};
  record.measurement.median_us = record.measurement.ci95_low_us = record.measurement.ci95_high_us = 1.0;
  record.artifact = plan.code.artifact->digest;
  record.symbols = plan.code.symbols;
  record.environment = device.info.environment;
  const RecordKey key = record_key(*tuned.spec, tuned.problem, device.info);
  HONE_ASSIGN(const std::int64_t session, store.begin_session({key, "random", "", 0}, "1trials"));
  HONE_TRY(store.finish_session(session, key, record, 1.0));
  return {};
}

}  // namespace

Result<std::vector<Tuned>> draw_configurations(const std::string& kernel, DType dtype, const std::vector<Shape>& shapes,
                                               const FoundDevice& device) {
  HONE_ASSIGN(const KernelSpec* const spec, find_builtin_kernel(kernel));
  std::vector<Tuned> all;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    HONE_ASSIGN(const Problem problem, make_problem(*spec, dtype, shapes[i]));
    HONE_ASSIGN(Configuration configuration, default_for(*spec, problem, device.info));
    if (i > 0) {
      Bindings fixed = bindings(problem);
      fixed.merge(bindings(device.info));
      HONE_ASSIGN(const SearchSpace space, SearchSpace::build(spec->parameters, spec->constraints, fixed));
      configuration = space.at(space.size() * i / shapes.size());
    }
    all.push_back({spec, problem, std::move(configuration)});
  }
  return all;
}

Result<void> record_all(const std::filesystem::path& store, const std::vector<Tuned>& tuned, const FoundDevice& device) {
  HONE_ASSIGN(const std::unique_ptr<Store> opened, open_store(store, StoreMode::kReadWrite));
  for (const Tuned& one : tuned) {
    HONE_TRY(record_one(*opened, one, device));
  }
  return {};
}

}  // namespace hone::bench
