#include "hone/bound_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/names.hpp"
#include "engine/base/thread_index.hpp"
#include "engine/runtime/engine_core.hpp"
#include "engine/runtime/lookup_cache.hpp"

namespace hone {

class BoundKernel::Core {
 public:
  Core(std::shared_ptr<EngineCore> engine, std::shared_ptr<const NamedOperation> known, Problem problem, std::vector<std::size_t> places)
      : engine_(std::move(engine)),
        known_(std::move(known)),
        problem_(std::move(problem)),
        places_(std::move(places)),
        origin_(engine_->origin()),
        generation_(engine_->generation()) {}

  Result<KernelView> find(std::span<const std::int64_t> extents, bool waits) const {
    if (!origin_.is_here() || extents.size() != places_.size()) {
      return misuse(extents.size());
    }
    LookupCache<Found>& cache = caches_.here();
    Found* const found = cache.find(extents);
    if (found != nullptr && found->generation == generation_.load(std::memory_order_acquire) && !(waits && found->stands_in) &&
        !found->is_due()) {
      return KernelView(found->kernel);
    }
    return look_up(extents, waits, cache);
  }

 private:
  /// How often a problem that may be tuned is asked for until the engine hears of it.
  static constexpr std::uint32_t kAsked = 256;

  struct Found {
    Kernel kernel;
    std::uint64_t generation = 0;
    bool stands_in = false;
    bool may_be_tuned = false;
    std::uint32_t asked = 0;
    [[nodiscard]] bool is_due() { return may_be_tuned && ++asked % kAsked == 0; }
  };

  Result<KernelView> look_up(std::span<const std::int64_t> extents, bool waits, LookupCache<Found>& cache) const {
    // Before the lookup: what changes meanwhile makes its result old.
    const std::uint64_t generation = generation_.load(std::memory_order_acquire);
    Shape shape = problem_.shape;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      shape[places_[i]].second = extents[i];
    }
    HONE_ASSIGN(const Problem problem, make_problem(*known_->operation.definition, problem_.dtype, shape));
    bool stands_in = false;
    HONE_ASSIGN(Kernel kernel, waits ? engine_->look_up(known_, problem) : engine_->look_up_at_once(known_, problem, stands_in));
    const Prepared& prepared = *kernel.prepared_;
    // What was found without the store is asked for anew each time.
    Found found{std::move(kernel), prepared.provisional ? 0 : generation, stands_in, engine_->may_be_tuned(prepared)};
    return KernelView(cache.put(extents, std::move(found), engine_->most_problems()).kernel);
  }

  [[nodiscard]] Error misuse(std::size_t count) const {
    if (const Result<void> here = origin_.check(); !here) {
      return here.error();
    }
    return {ErrorCode::kInvalidArgument,
            fmt::format("{} was bound with {} extents; {} were passed", known_->operation.name, places_.size(), count)};
  }

  const std::shared_ptr<EngineCore> engine_;
  const std::shared_ptr<const NamedOperation> known_;
  const Problem problem_;
  const std::vector<std::size_t> places_;  ///< of the extents, in problem_.shape
  const Origin origin_;
  const std::atomic<std::uint64_t>& generation_;
  PerThread<LookupCache<Found>> caches_;
};

BoundKernel::BoundKernel(std::shared_ptr<const Core> core) : core_(std::move(core)) {}

Result<KernelView> BoundKernel::find(std::span<const std::int64_t> extents) const { return core_->find(extents, true); }
Result<KernelView> BoundKernel::find_at_once(std::span<const std::int64_t> extents) const { return core_->find(extents, false); }

// NOLINTNEXTLINE(performance-unnecessary-value-param): the public interface says so
Result<BoundKernel> Engine::bind(std::string_view kernel, const DTypes& dtypes, std::vector<std::string> extents, const Shape& fixed) {
  HONE_TRY(core_->origin().check());
  if (extents.size() > BoundKernel::kMostExtents) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} extents are to be bound; at most {} are possible", extents.size(), BoundKernel::kMostExtents)};
  }
  HONE_ASSIGN(const auto known, core_->find(kernel));
  HONE_ASSIGN(Problem problem, make_problem(*known->operation.definition, dtypes, fixed));
  std::vector<std::string> names;
  std::ranges::transform(problem.shape, std::back_inserter(names), &Shape::value_type::first);
  std::vector<std::size_t> places;
  for (const std::string& extent : extents) {
    const auto at = static_cast<std::size_t>(std::ranges::find(names, extent) - names.begin());
    if (at == names.size()) {
      return Error{ErrorCode::kInvalidArgument, unknown_name("extent", extent, names)};
    }
    if (std::ranges::find(places, at) != places.end() || std::ranges::find(fixed, extent, &Shape::value_type::first) != fixed.end()) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("{}: the extent '{}' is bound twice", kernel, extent)};
    }
    places.push_back(at);
  }
  core_->read_portfolios(*known, problem);
  return BoundKernel(
      shared_in_process(std::make_unique<BoundKernel::Core>(core_, known, std::move(problem), std::move(places)), core_->origin()));
}

}  // namespace hone
