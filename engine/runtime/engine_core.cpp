#include "engine/runtime/engine_core.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/kernel/static_fields.hpp"
#include "engine/runtime/launch_range.hpp"
#include "engine/store/portfolio_lookup.hpp"
#include "engine/store/store_server.hpp"

namespace hone {
namespace {

/// Of an operation: what stands in is one of the latest.
constexpr std::size_t kMostCodes = 16;

std::string key_of(const NamedOperation& known, const Problem& problem) {
  return fmt::format("{} {} {} {}", known.operation.name, name(problem.dtype), text(problem.shape), known.hashes);
}

}  // namespace

Result<std::shared_ptr<EngineCore>> EngineCore::open(const EngineOptions& options) {
  const std::vector<const LaunchPlugin*>& plugins = engine_parts().devices;
  attach_named_profiler();
  auto core = shared_in_process(std::unique_ptr<EngineCore>(new EngineCore(options)), Origin());
  core->max_error_ = options.max_error;
  core->given_ = options.given;
  HONE_ASSIGN(core->objective_, parse_objective(options.objective));
  core->view_ = {.generation = options.generation.value_or(StoreView::kNewest), .approved_only = options.approved_only};
  core->names_.force_defaults(options.force_default);
  HONE_ASSIGN(core->found_, options.device.empty() ? find_best_device(plugins) : find_device(plugins, options.device));
  std::vector<const LibraryKernel*> libraries = core->found_.plugin->libraries();
  std::erase_if(libraries, [&](const LibraryKernel* library) { return core->names_.is_default_forced(library->name()); });
  core->libraries_ = std::make_unique<Libraries>(std::move(libraries));
  const std::filesystem::path path = options.store.empty() ? default_store_path() : options.store;
  if (is_store_server(path)) {
    return needs_a_file(path);
  }
  const Trust trust = options.trust_store ? Trust::kAll : Trust::kOwn;
  if (options.background_tuning && !options.given.empty()) {
    return Error{ErrorCode::kInvalidArgument, "background tuning does not support given arrays: use hone tune --input"};
  }
  if (options.background_tuning && !core->objective_.is_time()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("background tuning is for time alone: tune for {} with hone tune --objective", name(core->objective_))};
  }
  if (options.background_tuning) {
    HONE_TRY(core->start_tuner(*options.background_tuning, path, trust));
  }
  core->store_ = std::make_unique<StoreAccess>(path, trust, core->view_);
  core->start_recording(options.record_workload);
  HONE_TRY(core->check_generation(path));
  HONE_ASSIGN(std::unique_ptr<LaunchDevice> device, core->found_.plugin->open_to_launch(core->found_.info));
  core->device_ = shared_in_process(std::move(device), core->origin_);
  core->workspaces_ = shared_in_process(std::make_unique<Workspaces>(core->device_, options.graph_workspaces), core->origin_);
  if (options.check_one_in > 0) {
    HONE_TRY(core->start_checks(options));
  }
  return core;
}

Result<std::shared_ptr<Prepared>> EngineCore::make(const KernelSpec& spec, const Problem& problem, LaunchPlan plan) {
  const PreparedFor where{.device = device_, .memory = workspaces_, .info = &found_.info};
  const bool is_default = plan.choice.source == Source::kDefault;
  std::unique_lock lock(device_mutex_, std::defer_lock);
  if (!device_->loads_in_parallel()) {
    lock.lock();
  }
  HONE_ASSIGN(std::shared_ptr<Prepared> prepared, prepare(spec, problem, std::move(plan), where));
  if (checks_ != nullptr && !is_default) {
    prepared->checked = std::make_unique<CheckedLaunches>();
    prepared->checked->checks = checks_;
    prepared->checked->spec = &spec;
    prepared->checked->one_in = check_one_in_;
  }
  return prepared;
}

Result<std::shared_ptr<Prepared>> EngineCore::load_choice(const NamedOperation& known, const KernelSpec& spec, const Problem& problem,
                                                          Choice choice, Store* from) {
  LoadedCode loaded{
      .spec = &spec, .shape = problem.shape, .configuration = choice.configuration, .source = choice.source, .code = {}, .user = {}};
  HONE_ASSIGN(LaunchPlan plan, make_launch_plan(spec, problem, std::move(choice), found_, from));
  loaded.code = plan.code;
  HONE_ASSIGN(std::shared_ptr<Prepared> prepared, make(spec, problem, std::move(plan)));
  loaded.user = prepared;
  const std::lock_guard lock(known.mutex);
  std::erase_if(known.codes, [&](const LoadedCode& other) {
    return other.user.expired() || (other.spec == &spec && other.shape == loaded.shape && other.configuration == loaded.configuration);
  });
  if (known.codes.size() >= kMostCodes) {
    known.codes.erase(known.codes.begin());
  }
  known.codes.push_back(std::move(loaded));
  return prepared;
}

void EngineCore::read_portfolios(const NamedOperation& known, const Problem& like) const {
  if (!known.tuned.implementations.empty() && purpose_within(max_error_, given_, objective_) == Purpose()) {
    read_shipped_portfolios(*known.operation.definition, like, found_.info);
  }
}

Result<std::shared_ptr<Prepared>> EngineCore::load_default(const NamedOperation& known, const Problem& problem, Store* from,
                                                           const std::string& why) {
  HONE_ASSIGN(OperationChoice standard, choose(known.operation, problem, found_.info, nullptr, {.portfolios = false}));
  standard.choice.why = why;
  return load_choice(known, *standard.spec, standard.problem, std::move(standard.choice), from);
}

/// In place of a winner that does not load: of a library's function the best kernel that is no library's; of what a portfolio predicts, and
/// nobody can compile, the nearest record, whose code is there; of a record the default.
Result<std::shared_ptr<Prepared>> EngineCore::load_other(const OperationChoice& failed, const NamedOperation& known, const Problem& problem,
                                                         Store* from, const std::string& why) {
  const bool predicted = failed.choice.source == Source::kPredicted;
  for (const bool portfolios : {true, false}) {
    if (predicted ? portfolios : failed.spec->library.empty()) {
      continue;
    }
    const Lookup lookup{.purpose = purpose_within(max_error_, given_, objective_), .portfolios = portfolios, .without_store = true};
    Result<OperationChoice> next = predicted ? choose(known.tuned, problem, found_.info, from, *libraries_, lookup)
                                             : choose(known.tuned, problem, found_.info, from, lookup);
    if (next && next->choice.source != Source::kDefault && !is_rejected(*next)) {
      next->choice.why = why;
      if (auto loaded = load_choice(known, *next->spec, next->problem, std::move(next->choice), from)) {
        return loaded;
      }
    }
  }
  return load_default(known, problem, from, why);
}

/// A winner that does not load costs its speed: another runs in its place.
Result<std::shared_ptr<Prepared>> EngineCore::load(const NamedOperation& known, const Problem& problem,
                                                   const std::shared_ptr<Prepared>& standing) {
  const std::shared_ptr<Store> from = store_->get();
  if (known.tuned.implementations.empty()) {
    HONE_ASSIGN(std::shared_ptr<Prepared> forced, load_default(known, problem, from.get(), "the default is forced"));
    forced->needs_no_tuning = true;
    return forced;
  }
  HONE_ASSIGN(const OperationChoice chosen, choose(known.tuned, problem, found_.info, from.get(), *libraries_,
                                                   {.purpose = purpose_within(max_error_, given_, objective_), .without_store = true}));
  const Choice& choice = chosen.choice;
  if (!choice.store_failure.empty()) {
    store_->note_failure(choice.store_failure);
  }
  const bool provisional = store_->is_away();
  if (provisional && standing != nullptr) {
    return standing;
  }
  const KernelSpec& spec = *chosen.spec;
  if (is_rejected(chosen)) {
    const std::string configuration = text(spec.parameters, choice.configuration);
    HONE_ASSIGN(
        std::shared_ptr<Prepared> standard,
        load_default(known, problem, from.get(), fmt::format("{} of {} was wrong in a check of a launch", configuration, spec.name)));
    standard->needs_no_tuning = true;
    return standard;
  }
  Result<std::shared_ptr<Prepared>> loaded = load_choice(known, spec, chosen.problem, choice, provisional ? nullptr : from.get());
  if (!loaded && choice.source != Source::kDefault) {
    const std::string why =
        fmt::format("{} of {} was skipped: {}", text(spec.parameters, choice.configuration), spec.name, loaded.error().message);
    store_->warn(why);
    loaded = load_other(chosen, known, problem, from.get(), why);
  }
  if (loaded) {
    (*loaded)->provisional = provisional;
    (*loaded)->needs_no_tuning = chosen.compared;
  }
  return loaded;
}

/// Whether there is something, and nothing better to be had now.
bool EngineCore::is_current(const std::shared_ptr<Prepared>& standing) const {
  return standing != nullptr && !standing->superseded && (!standing->provisional || store_->is_away());
}

/// Loads a problem where it is asked for first, and again once it was tuned; `asked.loading` is held.
Result<void> EngineCore::refresh(AskedProblem& asked, const NamedOperation& known, const Problem& problem) {
  const std::shared_ptr<Prepared> standing = asked.loaded();
  if (is_current(standing)) {
    return {};
  }
  Result<std::shared_ptr<Prepared>> loaded = load(known, problem, standing);
  if (!loaded && (standing == nullptr || launches_rejected(*standing))) {
    return std::move(loaded).error();
  }
  if (!loaded) {  // what cannot be loaded leaves the stand-in in place, for good
    standing->superseded = standing->provisional = false;
  } else if (*loaded != standing) {
    count_launches(**loaded, known, problem);
    asked.set_loaded(*loaded);
    if (launches_rejected(**loaded)) {  // by a check that ended meanwhile, and did not see it among what is loaded
      (*loaded)->superseded = true;
    }
  }
  return {};
}

Result<Kernel> EngineCore::look_up(const std::shared_ptr<const NamedOperation>& known, const Problem& problem) {
  const std::string key = key_of(*known, problem);
  const std::shared_ptr<AskedProblem> asked = problems_.ask(key);
  if (std::shared_ptr<Prepared> loaded = asked->loaded(); !is_current(loaded)) {
    const std::lock_guard lock(asked->loading);
    HONE_TRY(refresh(*asked, *known, problem));
  }
  std::shared_ptr<Prepared> loaded = asked->loaded();
  want(key, known, problem, *loaded);
  return Kernel(std::move(loaded));
}

Result<Kernel> EngineCore::look_up_at_once(const std::shared_ptr<const NamedOperation>& known, const Problem& problem, bool& stands_in) {
  const std::string key = key_of(*known, problem);
  const std::shared_ptr<AskedProblem> asked = problems_.ask(key);
  std::shared_ptr<Prepared> loaded = asked->loaded();
  stands_in = !is_current(loaded);
  if (!stands_in) {
    want(key, known, problem, *loaded);
    return Kernel(std::move(loaded));
  }
  const std::optional<Error> failure = asked->failure();
  if (!failure) {
    load_in_background(key, asked, known, problem);
  }
  loaded = loaded != nullptr ? loaded : asked->stand_in();
  if (loaded == nullptr || launches_rejected(*loaded)) {
    Result<std::shared_ptr<Prepared>> made = stand_in(*known, problem);
    if (!made) {
      return failure ? *failure : std::move(made).error();
    }
    loaded = std::move(made).value();
    asked->set_stand_in(loaded);
  }
  return Kernel(std::move(loaded));
}

void EngineCore::load_in_background(const std::string& key, const std::shared_ptr<AskedProblem>& asked,
                                    const std::shared_ptr<const NamedOperation>& known, const Problem& problem) {
  const auto load_it = [this, asked, known, problem] {
    const std::lock_guard lock(asked->loading);
    if (Result<void> loaded = refresh(*asked, *known, problem); !loaded) {
      asked->set_failure(std::move(loaded).error());
    }
  };
  loader_.add(key, load_it, [this] { generation_.fetch_add(1, std::memory_order_release); });
}

/// The nearest of what is loaded: its launch is planned anew, its code is there.
Result<std::shared_ptr<Prepared>> EngineCore::stand_in(const NamedOperation& known, const Problem& problem) {
  std::vector<LoadedCode> codes;
  {
    const std::lock_guard lock(known.mutex);
    codes = known.codes;
  }
  std::ranges::stable_sort(codes, {}, [&](const LoadedCode& code) { return shape_distance(code.shape, problem.shape); });
  for (LoadedCode& code : codes) {
    const std::shared_ptr<const Prepared> user = code.user.lock();
    const Result<Problem> own = problem_for(*code.spec, problem);
    if (user == nullptr || !own || !same_code(*code.spec, code.shape, own->shape) ||
        !valid_for(*code.spec, *own, found_.info, code.configuration) ||
        is_rejected(code.spec->name, own->dtype, text(code.spec->parameters, code.configuration))) {
      continue;
    }
    LaunchPlan plan;
    plan.choice.source = code.source == Source::kDefault ? Source::kDefault : Source::kNearest;
    plan.choice.configuration = code.configuration;
    plan.code = code.code;
    auto passes = plan_launch(*code.spec, *own, code.configuration, found_.info);
    auto arguments = launch_arguments(*code.spec, *own, code.configuration);
    if (!passes || !arguments) {
      continue;
    }
    plan.passes = std::move(passes).value();
    plan.arguments = std::move(arguments).value();
    if (Result<std::shared_ptr<Prepared>> made = make(*code.spec, *own, std::move(plan))) {
      (*made)->tuned_shape = code.source == Source::kDefault ? Shape() : code.shape;
      count_launches(**made, known, problem);
      return made;
    }
  }
  return Error{ErrorCode::kUnavailable,
               fmt::format("no code of {} {} is loaded that may serve {}: it is being loaded, ask again, or look one problem up and wait",
                           known.operation.name, name(problem.dtype), text(problem.shape))};
}

bool EngineCore::may_be_tuned(const Prepared& prepared) const {
  return !prepared.needs_no_tuning && tunes_.load(std::memory_order_relaxed);
}

void EngineCore::want(const std::string& key, const std::shared_ptr<const NamedOperation>& known, const Problem& problem,
                      const Prepared& prepared) {
  if (!may_be_tuned(prepared)) {
    return;
  }
  std::shared_ptr<Background> tuner;
  {
    const std::lock_guard lock(mutex_);
    tuner = tuner_;
  }
  if (tuner != nullptr) {
    tuner->want(key, {known, &known->operation}, problem);
  }
}

Result<std::int64_t> EngineCore::store_generation() const {
  if (view_.generation != StoreView::kNewest) {
    return view_.generation;
  }
  const std::shared_ptr<Store> from = store_->get();
  return from == nullptr ? Result<std::int64_t>(0) : from->generation();
}

/// A generation that is not there would be served as whatever is.
Result<void> EngineCore::check_generation(const std::filesystem::path& path) const {
  if (view_.generation == StoreView::kNewest) {
    return {};
  }
  if (view_.generation < 0) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("no store has a generation {}: the first is 0", view_.generation)};
  }
  const std::shared_ptr<Store> from = store_->get();
  HONE_ASSIGN(const std::int64_t newest, from == nullptr ? Result<std::int64_t>(0) : from->generation());
  if (newest < view_.generation) {
    return Error{ErrorCode::kNotFound, fmt::format("the store {} has no generation {}: its newest is {}{}", path.string(), view_.generation,
                                                   newest, warnings().empty() ? "" : " (" + warnings().front() + ")")};
  }
  return {};
}

/// What was found of the problem gives way to its record.
void EngineCore::supersede(const std::string& key) {
  if (const auto asked = problems_.find(key)) {
    const std::lock_guard lock(asked->loading);
    if (const auto loaded = asked->loaded()) {
      loaded->superseded = true;
    }
  }
  generation_.fetch_add(1, std::memory_order_release);
}

void EngineCore::note_tuned(const NamedOperation& known, const Problem& problem) {
  store_->look_again();
  supersede(key_of(known, problem));
}

Result<void> EngineCore::start_tuner(const BackgroundTuning& settings, const std::filesystem::path& path, Trust trust) {
  if (engine_parts().start_background == nullptr) {
    return Error{ErrorCode::kUnavailable, "background tuning needs hone::engine: this program links hone::runtime"};
  }
  HONE_ASSIGN(tuner_, engine_parts().start_background({.settings = settings,
                                                       .max_error = max_error_,
                                                       .device = found_,
                                                       .store = path,
                                                       .trust = trust,
                                                       .tuned = [this](const std::string& key) { supersede(key); }}));
  tunes_ = true;
  return {};
}

/// What stands in the way is no reason not to launch.
void EngineCore::start_recording(const std::filesystem::path& file) {
  if (file.empty()) {
    return;
  }
  recorder_ = std::make_unique<WorkloadRecorder>(std::filesystem::absolute(file));
  if (const Result<void> writable = recorder_->check(); !writable) {
    store_->warn(writable.error().message);
  }
}

/// The time is that of the record, as its session measured it: to time launches here would cost the hot path, and tell less.
void EngineCore::count_launches(Prepared& prepared, const NamedOperation& known, const Problem& problem) const {
  if (recorder_ == nullptr) {
    return;
  }
  const Choice& choice = prepared.choice;
  WorkloadProblem recorded{.kernel = known.recorded, .dtypes = name(problem.dtype), .shape = problem.shape};
  if (choice.source == Source::kExact && choice.record && choice.record->measurement.median_us > 0.0) {
    recorded.time_us = choice.record->measurement.median_us;
  }
  prepared.launches = recorder_->counter(recorded);
}

BackgroundReport EngineCore::report() const {
  std::shared_ptr<Background> tuner;
  {
    const std::lock_guard lock(mutex_);
    tuner = tuner_;
  }
  return tuner != nullptr ? tuner->report() : BackgroundReport();
}

void EngineCore::end_background() {
  if (checks_ != nullptr) {
    checks_->stop();
  }
  tunes_ = false;
  std::shared_ptr<Background> ending;  // goes without the lock, which its thread may be asking for
  const std::lock_guard lock(mutex_);
  ending.swap(tuner_);
}

}  // namespace hone
