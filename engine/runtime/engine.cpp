#include "hone/engine.hpp"

#include <fmt/format.h>

#include <atomic>
#include <map>
#include <mutex>

#include "engine/runtime/background_tuner.hpp"
#include "hone/launch_plan.hpp"
#include "hone/lookup.hpp"
#include "hone/names.hpp"
#include "hone/registry.hpp"
#include "hone/worker.hpp"

namespace hone {

std::string_view name(Source source) {
  switch (source) {
    case Source::kExact:
      return "exact";
    case Source::kNearest:
      return "nearest";
    case Source::kDefault:
      break;
  }
  return "default";
}

struct Kernel::State {
  /// An argument the caller passes, or a workspace of ours.
  struct Slot {
    bool passed = false;
    bool scalar = false;
    DType dtype = DType::kF32;
    void* workspace = nullptr;
    std::size_t zeroed_bytes = 0;  ///< cleared on the stream before each launch
  };

  /// A scalar must be of the type; of pointers those are refused that can be no mistake: to numbers of another size or sort.
  static bool accepts(const Slot& slot, Passed passed) {
    using Kind = Passed::Kind;
    if (passed.pointer == slot.scalar) {
      return false;
    }
    const bool whole = is_integer(slot.dtype), packed = slot.dtype == DType::kI4x2 || slot.dtype == DType::kU4x2;
    const bool has_cpp_type = whole ? !packed : slot.dtype == DType::kF32 || slot.dtype == DType::kF64;
    const Kind kind = slot.dtype == DType::kBool              ? Kind::kBoolean
                      : !whole                                ? Kind::kReal
                      : range_of(slot.dtype).least < 0.0 ? Kind::kSigned
                                                              : Kind::kUnsigned;
    const bool exact = passed.size == size_of(slot.dtype) && (passed.kind == kind || (!has_cpp_type && passed.kind != Kind::kReal));
    // void*, structs of vectors, classes for half, and bytes for anything.
    const bool unknown = passed.kind == Kind::kOther || (passed.size == 1 && passed.kind != Kind::kBoolean);
    const bool same_size = passed.size == size_of(slot.dtype) && (passed.kind == Kind::kReal) == (has_cpp_type && !whole);
    return slot.scalar ? exact : unknown || same_size;
  }

  Result<void> clear(void* stream, const Slot& slot, void* address) const {
    return slot.zeroed_bytes == 0 ? Result<void>() : device->fill_on(stream, address, slot.zeroed_bytes, 0);
  }

  Device* device = nullptr;
  std::vector<Parameter> parameters;
  std::string name;
  Problem problem;
  Choice choice;
  Shape tuned_shape;
  std::vector<Staleness> stale;
  std::shared_ptr<const std::atomic<bool>> superseded;
  std::shared_ptr<const LoadedKernel> loaded;
  std::vector<Slot> slots;
  std::size_t passed_count = 0;
  std::vector<std::unique_ptr<Buffer>> workspaces;
};

Kernel::Kernel(std::shared_ptr<const State> state) : state_(std::move(state)) {}
Source Kernel::source() const { return state_->choice.source; }
const Configuration& Kernel::configuration() const { return state_->choice.configuration; }
std::string Kernel::configuration_text() const { return text(state_->parameters, state_->choice.configuration); }
const Problem& Kernel::problem() const { return state_->problem; }
const Shape& Kernel::tuned_shape() const { return state_->tuned_shape; }
const std::vector<Staleness>& Kernel::stale() const { return state_->stale; }
const std::string& Kernel::why() const { return state_->choice.why; }
bool Kernel::superseded() const { return state_->superseded->load(std::memory_order_relaxed); }

namespace {

Error bad_argument(std::string_view kernel, std::size_t i, std::string_view what) {
  return Error{ErrorCode::kInvalidArgument, fmt::format("{}: argument {}: {}", kernel, i, what)};
}

}  // namespace

Result<void> Kernel::launch_passed(void* stream, void* const* addresses, const Passed* kinds, std::size_t count) const {
  constexpr std::uintptr_t kAlignment = 16;
  const State& state = *state_;
  if (count != state.passed_count) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{} takes {} arguments; {} were passed", state.name, state.passed_count, count)};
  }
  std::array<void*, kMostArguments> values;
  std::size_t next = 0;
  for (std::size_t i = 0; i < state.slots.size(); ++i) {
    const State::Slot& slot = state.slots[i];
    if (!slot.passed) {
      values[i] = const_cast<void**>(&slot.workspace);
      HONE_TRY(state.clear(stream, slot, slot.workspace));
      continue;
    }
    if (!State::accepts(slot, kinds[next])) {
      return bad_argument(state.name, next,
                          fmt::format("its type is not the one in the kernel file, {}{}", name(slot.dtype), slot.scalar ? "" : "*"));
    }
    values[i] = addresses[next];
    if (!slot.scalar && *static_cast<const std::uintptr_t*>(addresses[next]) % kAlignment != 0) {
      return bad_argument(state.name, next, "the pointer is not aligned to 16 bytes, which the tuned configurations assume");
    }
    HONE_TRY(state.clear(stream, slot, *static_cast<void* const*>(addresses[next])));
    ++next;
  }
  return state.loaded->launch(stream, std::span<void* const>(values.data(), state.slots.size()));
}

struct Engine::Impl {
  Registry::Found found;
  std::unique_ptr<Device> device;
  std::unique_ptr<Store> store;
  std::mutex mutex;
  std::map<std::string, KernelSpec, std::less<>> own_kernels;
  struct Entry {
    Choice choice;
    std::shared_ptr<const LoadedKernel> loaded;
    std::vector<LaunchArgument> arguments;
    std::shared_ptr<std::atomic<bool>> superseded = std::make_shared<std::atomic<bool>>(false);
  };
  std::map<std::string, Entry, std::less<>> entries;
  double max_error = 0.0;
  std::unique_ptr<BackgroundTuner> tuner;  ///< last: its thread ends before what it uses

  Result<const KernelSpec*> find_spec(std::string_view kernel) const {
    if (const auto own = own_kernels.find(kernel); own != own_kernels.end()) {
      return &own->second;
    }
    return find_builtin_kernel(kernel);
  }

  Result<Entry> load(const KernelSpec& spec, const Problem& problem) {
    HONE_ASSIGN(Choice choice, choose(spec, problem, found.info, store.get(), {.purpose = purpose_within(max_error)}));
    HONE_ASSIGN(LaunchPlan plan, make_launch_plan(spec, problem, std::move(choice), found, store.get()));
    Entry entry;
    HONE_ASSIGN(entry.loaded, device->load(plan.code, plan.passes, problem));
    entry.choice = std::move(plan.choice);
    entry.arguments = std::move(plan.arguments);
    return entry;
  }

  /// The entry of a problem: loaded where it is asked for first, and again once it was tuned. What asks is the application's thread:
  /// loading code in another one could disturb it, in the middle of a graph capture for one.
  Result<Entry*> find_entry(const KernelSpec& spec, const Problem& problem) {
    const std::string key = fmt::format("{} {} {}", spec.name, name(problem.dtype), text(problem.shape));
    auto entry = entries.find(key);
    if (entry == entries.end()) {
      HONE_ASSIGN(Entry loaded, load(spec, problem));
      entry = entries.emplace(key, std::move(loaded)).first;
    } else if (*entry->second.superseded) {
      // What cannot be loaded leaves the stand-in in place, for good.
      if (Result<Entry> better = load(spec, problem)) {
        entry->second = std::move(better).value();
      } else {
        entry->second.superseded = std::make_shared<std::atomic<bool>>(false);
      }
    }
    if (tuner && entry->second.choice.source != Source::kExact) {
      tuner->want(key, spec, problem);
    }
    return &entry->second;
  }

  Result<void> start_tuner(const MissTuning& settings, const std::filesystem::path& path, Trust trust) {
    HONE_TRY(find_worker());
    HONE_ASSIGN(std::unique_ptr<Store> own, open_store(path, StoreMode::kReadWrite, trust));
    tuner = std::make_unique<BackgroundTuner>(settings, max_error, found, std::move(own), [this](const std::string& key) {
      const std::lock_guard lock(mutex);
      *entries.at(key).superseded = true;
    });
    return {};
  }

  /// What a launch passes in the place of each argument; workspaces are allocated.
  Result<void> add_slots(const std::vector<LaunchArgument>& arguments, Kernel::State& state) {
    if (arguments.size() > Kernel::kMostArguments) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("{} has {} arguments; at most {} are supported", state.name, arguments.size(), Kernel::kMostArguments)};
    }
    for (const LaunchArgument& argument : arguments) {
      Kernel::State::Slot slot{.passed = argument.direction != Direction::kWorkspace};
      slot.scalar = argument.direction == Direction::kScalar;
      slot.dtype = argument.dtype;
      slot.zeroed_bytes = argument.zeroed ? argument.bytes : 0;
      if (!slot.passed) {
        HONE_ASSIGN(auto buffer, device->allocate(argument.bytes));
        slot.workspace = buffer->address();
        state.workspaces.push_back(std::move(buffer));
      }
      state.passed_count += slot.passed ? 1 : 0;
      state.slots.push_back(slot);
    }
    return {};
  }
};

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

Result<Engine> Engine::open(const EngineOptions& options) {
  const Registry& registry = builtin_registry();
  auto impl = std::make_unique<Impl>();
  impl->max_error = options.max_error;
  HONE_ASSIGN(impl->found, options.device.empty() ? registry.best_device() : registry.device(options.device));
  const std::filesystem::path path = options.store.empty() ? default_store_path() : options.store;
  const Trust trust = options.trust_store ? Trust::kAll : Trust::kOwn;
  if (options.tune_misses) {
    HONE_TRY(impl->start_tuner(*options.tune_misses, path, trust));
  }
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) {
    // An application that upgraded the store would shut out those that come with an older Hone.
    HONE_ASSIGN(impl->store, open_store(path, StoreMode::kAsItIs, trust));
  }
  HONE_ASSIGN(impl->device, impl->found.plugin->open(impl->found.info));
  return Engine(std::move(impl));
}

Result<void> Engine::add_kernel_file(const std::filesystem::path& file, const ReadOptions& options) {
  HONE_ASSIGN(KernelSpec spec, read_kernel_file(file, options));
  return add_kernel(std::move(spec));
}

Result<void> Engine::add_kernel(KernelSpec spec) {
  const std::lock_guard lock(impl_->mutex);
  const std::string key = spec.name;
  if (!impl_->own_kernels.emplace(key, std::move(spec)).second) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("a kernel named '{}' was added already", key)};
  }
  return {};
}

Result<Kernel> Engine::kernel(std::string_view kernel, const Shape& shape) {
  std::unique_lock lock(impl_->mutex);
  HONE_ASSIGN(const KernelSpec* const spec, impl_->find_spec(kernel));
  HONE_ASSIGN(const DTypes only, choose_dtypes(*spec, ""));
  lock.unlock();
  return this->kernel(kernel, only, shape);
}

Result<Kernel> Engine::kernel(std::string_view kernel, const DTypes& dtypes, const Shape& shape) {
  const std::lock_guard lock(impl_->mutex);
  HONE_ASSIGN(const KernelSpec* const spec, impl_->find_spec(kernel));
  HONE_ASSIGN(Problem problem, make_problem(*spec, dtypes, shape));
  HONE_ASSIGN(const Impl::Entry* const entry, impl_->find_entry(*spec, problem));
  auto state = std::make_shared<Kernel::State>();
  state->device = impl_->device.get();
  state->parameters = spec->parameters;
  state->name = spec->name;
  state->choice = entry->choice;
  state->loaded = entry->loaded;
  state->superseded = entry->superseded;
  state->problem = std::move(problem);
  if (state->choice.record) {
    state->tuned_shape = state->choice.record->problem.shape;
    state->stale = staleness(*state->choice.record, impl_->found.info);
  }
  HONE_TRY(impl_->add_slots(entry->arguments, *state));
  return Kernel(std::move(state));
}

MissReport Engine::misses() const { return impl_->tuner ? impl_->tuner->report() : MissReport(); }
const DeviceInfo& Engine::device_info() const { return impl_->found.info; }
Device& Engine::device() { return *impl_->device; }

}  // namespace hone
