#include "hone/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>

#include "engine/base/names.hpp"
#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/operation.hpp"
#include "engine/runtime/launch_plan.hpp"
#include "engine/runtime/parts.hpp"
#include "engine/runtime/prepared.hpp"
#include "engine/runtime/store_access.hpp"
#include "engine/store/operation_lookup.hpp"

namespace hone {

std::string_view name(Source source) {
  switch (source) {
    case Source::kExact:
      return "exact";
    case Source::kPredicted:
      return "predicted";
    case Source::kNearest:
      return "nearest";
    case Source::kDefault:
      break;
  }
  return "default";
}

/// Locks are taken in the order of an entry's, device_mutex; `mutex` is never held while another is asked for.
struct Engine::Impl {
  /// A problem that was asked for. Its lock is held while it is looked up, compiled and loaded, so that others do not wait for that.
  struct Entry {
    std::mutex mutex;
    std::shared_ptr<Prepared> prepared;
    std::shared_ptr<const Kernel::State> handle;  ///< of a kernel without workspaces, which all handles share
  };

  /// What a name means: an operation of one kernel or of several.
  struct Known {
    Operation operation;
    std::string hashes;  ///< of the kernels' sources
  };

  Origin origin;
  FoundDevice found;
  std::shared_ptr<LaunchDevice> device;
  std::unique_ptr<StoreAccess> store;
  double max_error = 0.0;
  std::string given;
  StoreView view;
  std::vector<std::string> force_default;
  std::mutex device_mutex;   ///< a device serves one thread at a time
  mutable std::mutex mutex;  ///< of all below, whose elements stay where they are
  std::map<std::string, KernelSpec, std::less<>> own_kernels;
  std::vector<const KernelSpec*> own_in_order;
  mutable std::map<std::string, std::shared_ptr<const Known>, std::less<>> names;  ///< that were asked for
  std::map<std::string, std::shared_ptr<Entry>, std::less<>> entries;
  std::unique_ptr<Background> tuner;  ///< last: its thread ends before what it uses

  /// A kernel of the application's own comes before an operation, and that before a built-in kernel, of the same name.
  Result<Operation> meaning_of(std::string_view name) const {
    const auto own = own_kernels.find(name);
    if (own != own_kernels.end() && operation_of(own->second) != name) {
      return Operation{std::string(name), {&own->second}, &own->second};
    }
    Result<Operation> operation = find_operation(name, own_in_order);
    if (operation) {
      return operation;
    }
    HONE_ASSIGN(const KernelSpec* const builtin, find_builtin_kernel(name));
    return Operation{std::string(name), {builtin}, builtin};
  }

  Result<std::shared_ptr<const Known>> find(std::string_view name) const {
    const std::lock_guard lock(mutex);
    if (const auto asked = names.find(name); asked != names.end()) {
      return asked->second;
    }
    HONE_ASSIGN(Operation operation, meaning_of(name));
    auto known = std::make_shared<Known>();
    for (const KernelSpec* const spec : operation.implementations) {
      known->hashes += spec->source_hash;
    }
    known->operation = std::move(operation);
    names.emplace(name, known);
    return std::shared_ptr<const Known>(std::move(known));
  }

  Result<void> add_kernel(KernelSpec read) {
    const std::lock_guard lock(mutex);
    HONE_ASSIGN(KernelSpec spec, as_implementation(std::move(read), own_in_order));
    const std::string key = spec.name;
    const auto [at, added] = own_kernels.emplace(key, std::move(spec));
    if (!added) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("a kernel named '{}' was added already", key)};
    }
    own_in_order.push_back(&at->second);
    names.clear();
    return {};
  }

  std::shared_ptr<Entry> entry_of(const std::string& key) {
    const std::lock_guard lock(mutex);
    std::shared_ptr<Entry>& entry = entries[key];
    entry = entry == nullptr ? std::make_shared<Entry>() : entry;
    return entry;
  }

  Result<std::shared_ptr<Prepared>> load_choice(const KernelSpec& spec, const Problem& problem, Choice choice, Store* from) {
    HONE_ASSIGN(LaunchPlan plan, make_launch_plan(spec, problem, std::move(choice), found, from));
    const std::lock_guard lock(device_mutex);
    return prepare(spec, problem, std::move(plan), device, found.info);
  }

  [[nodiscard]] bool is_default_forced(std::string_view name) const {
    return std::ranges::any_of(force_default, [&](const std::string& forced) { return forced == name || forced == "all"; });
  }

  /// A winner that does not load costs its speed: the default runs in its place.
  Result<std::shared_ptr<Prepared>> load(const Operation& operation, const Problem& problem, const std::shared_ptr<Prepared>& standing) {
    const std::shared_ptr<Store> from = store->get();
    if (is_default_forced(operation.name)) {
      HONE_ASSIGN(OperationChoice standard, choose(operation, problem, found.info, nullptr));
      standard.choice.why = "the default is forced";
      HONE_ASSIGN(std::shared_ptr<Prepared> forced, load_choice(*standard.spec, standard.problem, std::move(standard.choice), from.get()));
      forced->settled = true;
      return forced;
    }
    HONE_ASSIGN(const OperationChoice chosen,
                choose(operation, problem, found.info, from.get(), {.purpose = purpose_within(max_error, given), .without_store = true}));
    const Choice& choice = chosen.choice;
    if (!choice.store_failure.empty()) {
      store->note_failure(choice.store_failure);
    }
    const bool provisional = store->is_away();
    if (provisional && standing != nullptr) {
      return standing;
    }
    const KernelSpec& spec = *chosen.spec;
    Result<std::shared_ptr<Prepared>> loaded = load_choice(spec, chosen.problem, choice, provisional ? nullptr : from.get());
    if (!loaded && choice.source != Source::kDefault) {
      const std::string why =
          fmt::format("{} of {} was skipped: {}", text(spec.parameters, choice.configuration), spec.name, loaded.error().message);
      store->warn(why);
      HONE_ASSIGN(OperationChoice standard, choose(operation, problem, found.info, nullptr, {.portfolios = false}));
      standard.choice.why = why;
      loaded = load_choice(*standard.spec, standard.problem, std::move(standard.choice), from.get());
    }
    if (loaded) {
      (*loaded)->provisional = provisional;
      (*loaded)->settled = chosen.compared;
    }
    return loaded;
  }

  /// Loads a problem where it is asked for first, and again once it was tuned. What asks is the application's thread: loading code in
  /// another one could disturb it, in the middle of a graph capture for one.
  Result<void> refresh(Entry& entry, const Operation& operation, const Problem& problem) {
    const std::shared_ptr<Prepared> standing = entry.prepared;
    if (standing != nullptr && !standing->superseded && (!standing->provisional || store->is_away())) {
      return {};
    }
    Result<std::shared_ptr<Prepared>> loaded = load(operation, problem, standing);
    if (!loaded && standing == nullptr) {
      return std::move(loaded).error();
    }
    if (!loaded) {  // what cannot be loaded leaves the stand-in in place, for good
      standing->superseded = standing->provisional = false;
    } else if (*loaded != standing) {
      entry.prepared = std::move(loaded).value();
      entry.handle = nullptr;
    }
    return {};
  }

  Result<Kernel> handle(const std::shared_ptr<const Known>& known, const Problem& problem) {
    const Operation& operation = known->operation;
    const std::string key = fmt::format("{} {} {} {}", operation.name, name(problem.dtype), text(problem.shape), known->hashes);
    const std::shared_ptr<Entry> entry = entry_of(key);
    const std::lock_guard lock(entry->mutex);
    HONE_TRY(refresh(*entry, operation, problem));
    if (tuner && !entry->prepared->settled) {
      tuner->want(key, {known, &operation}, problem);
    }
    if (entry->handle == nullptr || entry->prepared->has_workspaces()) {
      HONE_ASSIGN(entry->handle, make_state(entry->prepared));
    }
    return Kernel(entry->prepared->has_workspaces() ? std::exchange(entry->handle, nullptr) : entry->handle);
  }

  Result<std::shared_ptr<const Kernel::State>> make_state(const std::shared_ptr<const Prepared>& prepared) {
    auto state = shared_in_process(std::make_unique<Kernel::State>(), origin);
    state->prepared = prepared;
    for (const LaunchArgument& argument : prepared->arguments) {
      if (argument.direction == Direction::kWorkspace) {
        const std::lock_guard lock(device_mutex);
        HONE_ASSIGN(auto buffer, device->allocate(argument.bytes));
        state->addresses.push_back(buffer->address());
        state->workspaces.push_back(std::move(buffer));
      }
    }
    return std::shared_ptr<const Kernel::State>(std::move(state));
  }

  /// The store's newest; 0 where it cannot be asked.
  Result<std::int64_t> newest_generation() const {
    const std::shared_ptr<Store> from = store->get();
    return from == nullptr ? Result<std::int64_t>(0) : from->generation();
  }

  /// A pinned generation that is not there would be served as whatever is.
  Result<void> check_generation(const std::filesystem::path& path) const {
    if (view.generation == StoreView::kNewest) {
      return {};
    }
    HONE_ASSIGN(const std::int64_t newest, newest_generation());
    if (newest < view.generation) {
      return Error{ErrorCode::kNotFound,
                   fmt::format("the store {} has no generation {}: its newest is {}{}", path.string(), view.generation, newest,
                               store->warnings().empty() ? "" : " (" + store->warnings().front() + ")")};
    }
    return {};
  }

  Result<void> start_tuner(const BackgroundTuning& settings, const std::filesystem::path& path, Trust trust) {
    if (engine_parts().start_background == nullptr) {
      return Error{ErrorCode::kUnavailable, "background tuning needs hone::engine: this program links hone::runtime"};
    }
    HONE_ASSIGN(tuner, engine_parts().start_background({.settings = settings,
                                                        .max_error = max_error,
                                                        .device = found,
                                                        .store = path,
                                                        .trust = trust,
                                                        .tuned = [this](const std::string& key) {
                                                          const std::shared_ptr<Entry> entry = entry_of(key);
                                                          const std::lock_guard lock(entry->mutex);
                                                          entry->prepared->superseded = true;
                                                        }}));
    return {};
  }
};

namespace {

/// Those of the options and of the environment.
std::vector<std::string> forced_defaults(const EngineOptions& options) {
  std::vector<std::string> names = options.force_default;
  const char* const variable = std::getenv("HONE_FORCE_DEFAULT");
  std::istringstream list(variable == nullptr ? "" : variable);
  for (std::string name; std::getline(list, name, ',');) {
    names.push_back(name);
  }
  return names;
}

}  // namespace

Engine::Engine(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

Result<Engine> Engine::open(const EngineOptions& options) {
  const std::vector<const LaunchPlugin*>& plugins = engine_parts().devices;
  auto impl = shared_in_process(std::make_unique<Impl>(), Origin());
  impl->max_error = options.max_error;
  impl->given = options.given;
  impl->view = {.generation = options.generation > 0 ? options.generation : StoreView::kNewest, .approved_only = options.approved_only};
  impl->force_default = forced_defaults(options);
  HONE_ASSIGN(impl->found, options.device.empty() ? find_best_device(plugins) : find_device(plugins, options.device));
  const std::filesystem::path path = options.store.empty() ? default_store_path() : options.store;
  const Trust trust = options.trust_store ? Trust::kAll : Trust::kOwn;
  if (options.background_tuning && !options.given.empty()) {
    return Error{ErrorCode::kInvalidArgument, "background tuning does not support given arrays: use hone tune --input"};
  }
  if (options.background_tuning) {
    HONE_TRY(impl->start_tuner(*options.background_tuning, path, trust));
  }
  impl->store = std::make_unique<StoreAccess>(path, trust, impl->view);
  HONE_TRY(impl->check_generation(path));
  HONE_ASSIGN(std::unique_ptr<LaunchDevice> device, impl->found.plugin->open_to_launch(impl->found.info));
  impl->device = shared_in_process(std::move(device), impl->origin);
  return Engine(std::move(impl));
}

Result<void> Engine::add_kernel_file(const std::filesystem::path& file, const ReadOptions& options) {
  HONE_TRY(impl_->origin.check());
  if (engine_parts().read_kernel_file == nullptr) {
    return Error{ErrorCode::kUnavailable,
                 "reading a kernel file needs hone::engine, but this program links hone::runtime: use add_kernel_spec with the output of "
                 "`hone kernels FILE --spec`"};
  }
  HONE_ASSIGN(KernelSpec spec, engine_parts().read_kernel_file(file, options));
  return impl_->add_kernel(std::move(spec));
}

Result<void> Engine::add_kernel_spec(std::string_view json) {
  HONE_TRY(impl_->origin.check());
  HONE_ASSIGN(KernelSpec spec, parse_kernel_spec(json));
  return impl_->add_kernel(std::move(spec));
}

Result<Kernel> Engine::kernel(std::string_view kernel, const Shape& shape) {
  HONE_TRY(impl_->origin.check());
  HONE_ASSIGN(const auto known, impl_->find(kernel));
  HONE_ASSIGN(const DTypes only, choose_dtypes(*known->operation.definition, ""));
  return this->kernel(kernel, only, shape);
}

Result<Kernel> Engine::kernel(std::string_view kernel, const DTypes& dtypes, const Shape& shape) {
  HONE_TRY(impl_->origin.check());
  HONE_ASSIGN(const auto known, impl_->find(kernel));
  HONE_ASSIGN(const Problem problem, make_problem(*known->operation.definition, dtypes, shape));
  return impl_->handle(known, problem);
}

Result<std::int64_t> Engine::generation() const {
  HONE_TRY(impl_->origin.check());
  return impl_->view.generation != StoreView::kNewest ? Result<std::int64_t>(impl_->view.generation) : impl_->newest_generation();
}

BackgroundReport Engine::background_report() const {
  return impl_->tuner && impl_->origin.is_here() ? impl_->tuner->report() : BackgroundReport();
}
std::vector<std::string> Engine::warnings() const {
  return impl_->origin.is_here() ? impl_->store->warnings() : std::vector<std::string>();
}
const DeviceInfo& Engine::device_info() const { return impl_->found.info; }
Memory& Engine::memory() { return *impl_->device; }

}  // namespace hone
