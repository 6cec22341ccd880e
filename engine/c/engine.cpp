#include "engine/c/engine.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <optional>

#include "engine/base/names.hpp"
#include "engine/kernel/kernel_problem.hpp"
#include "engine/runtime/access.hpp"
#include "engine/store/store.hpp"

namespace hone::c {
namespace {

static_assert(static_cast<int>(LaunchCheck::Finding::kDiffers) == HONE_CHECK_DIFFERS);

std::function<void(const LaunchCheck&)> told(hone_check_callback callback, void* data) {
  if (callback == nullptr) {
    return {};
  }
  return [callback, data](const LaunchCheck& found) {
    const std::string dtypes = name(found.problem.dtype), shape = text(found.problem.shape);
    const hone_launch_check check{.size = sizeof check,
                                  .kernel = found.kernel.c_str(),
                                  .dtypes = dtypes.c_str(),
                                  .shape = shape.c_str(),
                                  .configuration = found.configuration.c_str(),
                                  .text = found.text.c_str(),
                                  .argument = found.argument.c_str(),
                                  .finding = static_cast<std::int32_t>(found.finding),
                                  .reserved = 0,
                                  .worst = found.worst,
                                  .not_finite = found.not_finite,
                                  .elements = found.elements,
                                  .wrong = found.wrong,
                                  .first_wrong = found.first_wrong,
                                  .actual = found.actual,
                                  .of_default = found.of_default};
    callback(data, &check);
  };
}

Result<BackgroundTuning> background_of(const hone_background_tuning& given) {
  BackgroundTuning settings;
  HONE_ASSIGN(const Budget budget, budget_of(given.seconds, given.trials));
  settings.budget = budget.seconds || budget.trials ? budget : settings.budget;
  settings.compile_workers = given.compile_workers < 0 ? 0 : given.compile_workers == 0 ? 1 : static_cast<int>(given.compile_workers);
  settings.device = text_or_empty(given.device);
  return settings;
}

Result<EngineOptions> options_of(const hone_engine_options& given) {
  EngineOptions options;
  options.store = text_or_empty(given.store);
  options.device = text_or_empty(given.device);
  options.trust_store = given.trust_store != 0;
  options.approved_only = given.approved_only != 0;
  options.max_error = given.max_error;
  options.given = text_or_empty(given.given);
  if (given.generation != nullptr) {
    options.generation = *given.generation;
  }
  options.force_default = texts_of(given.force_default, given.force_default_count, "options->force_default");
  if (given.background_tuning != nullptr) {
    HONE_ASSIGN(options.background_tuning, background_of(read_struct(given.background_tuning, "options->background_tuning")));
  }
  options.most_problems = given.most_problems == 0 ? options.most_problems : given.most_problems;
  if (given.graph_workspaces != 0) {
    options.graph_workspaces = given.graph_workspaces < 0 ? 0 : static_cast<std::size_t>(given.graph_workspaces);
  }
  options.check_one_in = given.check_one_in;
  options.on_check = told(given.on_check, given.on_check_data);
  options.record_workload = text_or_empty(given.record_workload);
  options.objective = given.objective == nullptr || *given.objective == '\0' ? options.objective : given.objective;
  return options;
}

hone_texts* list_of(std::vector<std::string> texts) { return new hone_texts{std::move(texts)}; }

}  // namespace

Result<Budget> budget_of(double seconds, std::int64_t trials) {
  if (!(seconds >= 0.0) || trials < 0) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("a budget of {:g} seconds and {} trials: both are 0 or more", seconds, trials)};
  }
  Budget budget;
  if (seconds != 0.0) {
    budget.seconds = seconds;
  }
  if (trials != 0) {
    budget.trials = trials;
  }
  return budget;
}

Shape shape_of(const hone_extent* extents, std::size_t count, const char* what) {
  Shape shape;
  for (const hone_extent& extent : need_all(extents, count, what)) {
    shape.emplace_back(need_text(extent.name, what), extent.value);
  }
  return shape;
}

Result<DTypes> dtypes_of(const hone_engine& engine, const char* kernel, const char* dtypes) {
  const EngineCore& core = Access::core(engine.engine);
  HONE_TRY(core.origin().check());
  HONE_ASSIGN(const auto known, core.find(kernel));
  return choose_dtypes(*known->operation.definition, dtypes == nullptr ? "" : dtypes);
}

}  // namespace hone::c

using namespace hone;

hone_status hone_engine_open(const hone_engine_options* options, hone_engine** engine, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    c::clear(engine, "engine");
    HONE_ASSIGN(EngineOptions chosen, c::options_of(c::read_struct(options, "options")));
    HONE_ASSIGN(Engine opened, Engine::open(chosen));
    // Where it tunes into, whatever becomes of the environment or the working directory.
    chosen.store = std::filesystem::absolute(chosen.store.empty() ? default_store_path() : std::filesystem::path(chosen.store)).string();
    *engine = new hone_engine{std::move(opened), std::move(chosen)};
    return {};
  });
}
void hone_engine_close(hone_engine* engine) { delete engine; }

hone_status hone_engine_add_kernel_spec(hone_engine* engine, const char* json, hone_error** error) {
  return c::call(error, __func__, [&] { return c::need(engine, "engine").engine.add_kernel_spec(c::need_text(json, "json")); });
}

hone_status hone_engine_device(const hone_engine* engine, hone_engine_device_info* info, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    const DeviceInfo& device = c::need(engine, "engine").engine.device_info();
    c::write_struct({.size = 0,
                     .id = device.id.c_str(),
                     .plugin = device.plugin.c_str(),
                     .product = device.product.c_str(),
                     .uuid = device.uuid.c_str(),
                     .architecture = device.architecture.c_str()},
                    info, "info");
    return {};
  });
}

hone_status hone_engine_device_property(const hone_engine* engine, const char* name, int64_t* value, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    const DeviceInfo& device = c::need(engine, "engine").engine.device_info();
    c::need_text(name, "name");
    c::need(value, "value");
    const auto found = device.properties.find(name);
    if (found == device.properties.end()) {
      std::vector<std::string> known;
      for (const auto& [property, number] : device.properties) {
        known.push_back(property);
      }
      return Error{ErrorCode::kNotFound, unknown_name("property of a device", name, known)};
    }
    *value = found->second;
    return {};
  });
}

hone_status hone_engine_generation(const hone_engine* engine, int64_t* generation, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    const Engine& known = c::need(engine, "engine").engine;
    c::need(generation, "generation");
    HONE_ASSIGN(*generation, known.generation());
    return {};
  });
}

hone_status hone_engine_warnings(const hone_engine* engine, hone_texts** warnings, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    c::clear(warnings, "warnings");
    HONE_TRY(Access::core(c::need(engine, "engine").engine).origin().check());
    *warnings = c::list_of(c::need(engine, "engine").engine.warnings());
    return {};
  });
}

hone_status hone_engine_write_workload(hone_engine* engine, hone_error** error) {
  return c::call(error, __func__, [&] { return c::need(engine, "engine").engine.write_workload(); });
}

hone_status hone_engine_reserve_graph_workspaces(hone_engine* engine, size_t count, hone_error** error) {
  return c::call(error, __func__, [&] { return c::need(engine, "engine").engine.reserve_graph_workspaces(count); });
}

hone_status hone_engine_background_report(const hone_engine* engine, hone_background_report* report, hone_texts** failures,
                                          hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    if (failures != nullptr) {
      *failures = nullptr;
    }
    HONE_TRY(Access::core(c::need(engine, "engine").engine).origin().check());
    BackgroundReport found = c::need(engine, "engine").engine.background_report();
    c::write_struct({.size = 0, .waiting = found.waiting, .tuned = found.tuned}, report, "report");
    if (failures != nullptr) {
      *failures = c::list_of(std::move(found.failures));
    }
    return {};
  });
}
