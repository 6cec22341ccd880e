// A worker's validation: the problem itself, small problems beside it, and for what could win inputs that provoke and repeated launches.
#include <fmt/format.h>

#include <algorithm>

#include "engine/kernel/configuration_text.hpp"
#include "engine/kernel/small_problems.hpp"
#include "engine/store/lookup.hpp"
#include "engine/worker/measuring_worker.hpp"
#include "engine/worker/stopwatch.hpp"
#include "engine/worker/trial_reply.hpp"

namespace hone {
namespace {

// A default that hangs is found on the first small problem, not after the minutes of a large one.
constexpr double kSmallProblemSeconds = 30.0;

/// Whether such inputs may show more where several blocks, or several rounds of a loop, have each their own. A host has time for those
/// that show most.
bool depends_on_size(InputProfile profile, bool is_fast) {
  switch (profile) {
    case InputProfile::kMixed:
    case InputProfile::kEqual:
    case InputProfile::kOtherScalars:
      return true;
    case InputProfile::kLarge:
    case InputProfile::kZero:
    case InputProfile::kFew:
    case InputProfile::kOrdered:
    case InputProfile::kNegative:
      return is_fast;
    default:
      return false;
  }
}

/// Of the regular problems of so many elements the last that are not small for what they are: long on one axis, or nearly whole tiles.
std::vector<Problem> larger_problems(const KernelSpec& spec, const Problem& problem, std::int64_t limit_elements, std::size_t most) {
  constexpr double kMuchLess = 8.0;  // times fewer elements
  const std::vector<Problem> regular = regular_problems(spec, problem, limit_elements);
  std::vector<Problem> larger;
  for (auto one = regular.rbegin(); one != regular.rend() && larger.size() < most; ++one) {
    if (largest_argument(spec, *one) * kMuchLess >= static_cast<double>(limit_elements)) {
      larger.push_back(*one);
    }
  }
  return larger;
}

}  // namespace

Result<void> MeasuringWorker::add_small_problems() {
  // A host runs the threads of a block one after the other: thousands of rows of a few elements would cost it more than the user's problem.
  constexpr std::int64_t kLimitElements = 1 << 16, kHostElements = 1 << 14, kHostLargerElements = 1 << 12;
  // What the author wants tried comes beside those; of many, and of larger ones, the rest is for what could win.
  constexpr std::size_t kMostGiven = 8;
  constexpr std::int64_t kLargestGiven = 1 << 24, kLargestHostGiven = 1 << 20;
  const std::vector<Problem> always = ragged_problems(spec_, problem_, kLimitElements);
  for (const Problem& problem : always) {
    HONE_ASSIGN(auto bench, Bench::create(*device_, spec_, problem, reference_, InputProfile::kUsual, settings_.max_error));
    ragged_.push_back({.problem = problem, .bench = std::move(bench)});
  }
  const bool is_fast = device_->info().compile_overlaps;
  const std::int64_t largest_given = is_fast ? kLargestGiven : kLargestHostGiven;
  for (Problem& given : given_problems(spec_, problem_, largest_given)) {
    const bool is_small =
        largest_argument(spec_, given) <= static_cast<double>(kLimitElements) && ragged_.size() < always.size() + kMostGiven;
    if (std::ranges::find(always, given) != always.end()) {
      continue;
    }
    if (!is_small) {
      regular_.push_back({.problem = std::move(given)});
      continue;
    }
    HONE_ASSIGN(auto bench, Bench::create(*device_, spec_, given, reference_, InputProfile::kUsual, settings_.max_error));
    ragged_.push_back({.problem = std::move(given), .bench = std::move(bench)});
  }
  const std::int64_t regular_elements = is_fast ? kLimitElements : kHostElements;
  for (Problem& problem : regular_problems(spec_, problem_, regular_elements)) {
    regular_.push_back({.problem = std::move(problem)});
  }
  const std::vector<Problem> larger =
      is_fast ? larger_problems(spec_, problem_, kLimitElements, 3) : larger_problems(spec_, problem_, kHostLargerElements, 2);
  std::vector<Problem> large = reduced_problems(spec_, problem_);
  large.push_back(problem_);
  std::erase_if(large, [&](const Problem& one) { return largest_argument(spec_, one) > static_cast<double>(largest_given); });
  for (const InputProfile profile : provoking_profiles()) {
    // A bound is about the problem's own inputs: cheaper arithmetic has less range, and shows where sums cancel.
    const bool of_other_magnitude = profile == InputProfile::kMixed || profile == InputProfile::kLarge || profile == InputProfile::kTiny ||
                                    profile == InputProfile::kGreatScalars || profile == InputProfile::kOrdered;
    if (!differs(profile, spec_) || (settings_.max_error > 0.0 && of_other_magnitude)) {
      continue;
    }
    // The first ragged problem that a configuration can do, else the first regular one; beside it larger ones, where loops go round and
    // blocks are many; and what can do no small problem is tried on as much of the problem itself as it needs: but for scalars, which may
    // be its size, and not where people gave its inputs.
    for (const std::vector<Small>* const problems : {&ragged_, &regular_}) {
      for (const Small& small : *problems) {
        provoking_.push_back({.problem = small.problem, .profile = profile});
      }
    }
    for (const Problem& problem : depends_on_size(profile, is_fast) ? larger : std::vector<Problem>()) {
      provoking_.push_back({.problem = problem, .profile = profile, .is_larger = true});
    }
    const bool is_of_scalars =
        profile == InputProfile::kOtherScalars || profile == InputProfile::kGreatScalars || profile == InputProfile::kOtherSigns;
    for (const Problem& problem : !is_of_scalars && settings_.given.digest.empty() ? large : std::vector<Problem>()) {
      provoking_.push_back({.problem = problem, .profile = profile, .is_large = true});
    }
  }
  return {};
}

bool MeasuringWorker::check(Bench& bench, const Configuration& configuration, const LoadedKernel& kernel, std::uint64_t seed,
                            const std::string& where, TrialReply& reply, Runs runs) {
  return note(bench.validate(kernel, configuration, seed, runs), where, reply);
}

bool MeasuringWorker::validate(const Compiled& compiled, const Configuration& configuration, const LoadedKernel& kernel,
                               TrialReply& reply) {
  const Stopwatch watch;
  reply.trial.input_seed = input_seed_;
  const bool right = validate_all(compiled, configuration, kernel, reply);
  reply.trial.seconds.validate = watch.seconds();
  return right;
}

/// Only the problems that every configuration is held against get fresh inputs now and then.
std::uint64_t MeasuringWorker::seed_of(const Small& small) const {
  const bool is_ragged = !ragged_.empty() && &small >= ragged_.data() && &small < ragged_.data() + ragged_.size();
  return is_ragged ? input_seed_ : seed_;
}

std::optional<bool> MeasuringWorker::check_small(Small& small, const Compiled& compiled, const Configuration& configuration, Runs runs,
                                                 TrialReply& reply) {
  if (!small.applies || !valid_for(spec_, small.problem, device_->info(), configuration)) {
    return std::nullopt;
  }
  const std::string inputs = small.profile == InputProfile::kUsual ? "" : fmt::format(" with inputs: {}", name(small.profile));
  const std::string where =
      small.problem == problem_
          ? fmt::format("on the problem{}", inputs)
          : fmt::format("on {} {}{}", small.is_large ? "a part of the problem," : "the small problem", text(small.problem.shape), inputs);
  say(fmt::format("{} {}", stage_, where), kSmallProblemSeconds);
  const bool optional = small.bench == nullptr;
  if (optional) {
    const auto create = [&] { return Bench::create(*device_, spec_, small.problem, reference_, small.profile, settings_.max_error); };
    auto bench = create();
    if (!bench && forget_large()) {
      bench = create();
    }
    if (bench) {
      small.bench = std::move(bench).value();
      watch_reference(*small.bench, small.problem);
      const Result<bool> answered = small.bench->has_answer(seed_of(small));
      small.applies = answered && *answered;
    } else {
      small.applies = false;  // an extent that makes no sense at this shape, say
    }
    if (!small.applies) {
      small.bench.reset();
      return std::nullopt;
    }
  }
  auto kernel = load_for(small.problem, compiled, configuration, reply);
  const bool is_loaded = kernel != nullptr;
  const bool right = is_loaded && check(*small.bench, configuration, *kernel, seed_of(small), where + ": ", reply, runs);
  kernel.reset();
  if (small.is_large && !has_room_for(small)) {
    small.bench.reset();
  }
  if (is_loaded) {
    return right;
  }
  if (reply.fatal) {
    return false;
  }
  // What the device refuses at a small size alone is no fault of the configuration at its own size.
  reply.trial.outcome = Outcome::kOk;
  reply.trial.detail.clear();
  return std::nullopt;
}

bool MeasuringWorker::has_room_for(const Small& large) const {
  // There is one for each kind of inputs, other processes measure beside this one, and what it counts is without workspaces and the second
  // place of what is written.
  constexpr double kShareOfMemory = 1.0 / 32;
  const auto memory = device_->info().properties.find("memory");
  std::size_t bytes = large.bench->bytes();
  for (const Small& other : provoking_) {
    bytes += other.is_large && other.bench != nullptr && &other != &large ? other.bench->bytes() : 0;
  }
  return memory != device_->info().properties.end() && static_cast<double>(bytes) <= kShareOfMemory * static_cast<double>(memory->second);
}

bool MeasuringWorker::forget_large() {
  bool is_any_kept = false;
  for (Small& small : provoking_) {
    is_any_kept = is_any_kept || (small.is_large && small.bench != nullptr);
    if (small.is_large) {
      small.bench.reset();
    }
  }
  return is_any_kept;
}

bool MeasuringWorker::validate_all(const Compiled& compiled, const Configuration& configuration, const LoadedKernel& kernel,
                                   TrialReply& reply) {
  for (Small& ragged : ragged_) {
    if (!check_small(ragged, compiled, configuration, Runs::kTwo, reply).value_or(true)) {
      return false;
    }
  }
  say(stage_);
  return check(*bench_, configuration, kernel, input_seed_, "", reply);
}

bool MeasuringWorker::deepen(const Compiled& compiled, const Configuration& configuration, Runs runs, TrialReply& reply) {
  const Stopwatch watch;
  bool right = true;
  for (Small& regular : regular_) {
    right = right && check_small(regular, compiled, configuration, runs, reply).value_or(true);
  }
  for (const Provocation& one : provocations()) {
    right = right && (dropped_.contains(one) || provoke(one, compiled, configuration, reply));
  }
  reply.trial.seconds.validate += watch.seconds();
  return right;
}

std::vector<MeasuringWorker::Provocation> MeasuringWorker::provocations() {
  std::vector<Provocation> all;
  for (const InputProfile profile : provoking_profiles()) {
    all.push_back({profile, false});
    all.push_back({profile, true});
  }
  return all;
}

std::string MeasuringWorker::name_of(const Provocation& provocation) {
  return fmt::format("{}{}", name(provocation.profile), provocation.is_larger ? ", larger" : "");
}

std::optional<bool> MeasuringWorker::check_provoked(const Provocation& provocation, const Compiled& compiled,
                                                    const Configuration& configuration, TrialReply& reply) {
  bool is_tried = false;
  for (Small& small : provoking_) {
    if (small.profile != provocation.profile || small.is_larger != provocation.is_larger || (is_tried && !small.is_larger)) {
      continue;
    }
    const std::optional<bool> right = check_small(small, compiled, configuration, Runs::kOne, reply);
    if (right && !*right) {
      return false;
    }
    is_tried = is_tried || right;
  }
  return is_tried ? std::optional(true) : std::nullopt;
}

bool MeasuringWorker::provoke(const Provocation& provocation, const Compiled& compiled, const Configuration& configuration,
                              TrialReply& reply) {
  const double max_error = reply.trial.max_error;
  const std::optional<bool> right = check_provoked(provocation, compiled, configuration, reply);
  if (right == true && is_default_) {
    held_.insert(provocation);
  }
  if (right.value_or(true) || !default_is_wrong(provocation, reply)) {
    return right.value_or(true);
  }
  // Its author knows of inputs that it never gets. The others of the file are not held to more, and the report says so.
  dropped_.insert(provocation);
  reply.notes.push_back(
      fmt::format("the default configuration is wrong for such inputs, so no other is held to them: {}", reply.trial.detail));
  reply.trial.outcome = Outcome::kOk;
  reply.trial.detail.clear();
  reply.trial.max_error = max_error;  // of the inputs that it is held to
  return true;
}

bool MeasuringWorker::default_is_wrong(const Provocation& provocation, TrialReply& reply) {
  // A kernel that is held against another one's reference is held to whatever inputs that one has an answer for.
  if (reply.fatal || spec_.judge != nullptr || held_.contains(provocation)) {
    return false;
  }
  if (is_default_) {
    return true;
  }
  if (!default_) {
    reply.asks_default = true;
    return false;
  }
  TrialReply of_default;
  const std::optional<bool> right = check_provoked(provocation, *default_, default_configuration(spec_.parameters), of_default);
  reply.fatal = of_default.fatal;
  if (right == true) {
    held_.insert(provocation);
  }
  return right == false && !reply.fatal;
}

bool MeasuringWorker::repeat(const Configuration& configuration, const LoadedKernel& kernel, int launches, double seconds,
                             TrialReply& reply) {
  const Stopwatch watch;
  say("repeating launches");
  const OnTurn on_turn = [this](std::size_t, double expected) { channel_.piece({.name = "repeating launches"}, expected); };
  const bool right = note(bench_->repeat(kernel, configuration, launches, seconds, on_turn), "in repeated launches: ", reply);
  reply.trial.seconds.validate += watch.seconds();
  return right;
}

/// What a check came to.
bool MeasuringWorker::note(const Result<Validation>& validation, const std::string& where, TrialReply& reply) {
  if (!validation) {
    reply.fail(validation.error());
    reply.trial.detail = where + reply.trial.detail;
    return false;
  }
  reply.trial.outcome = validation->outcome;
  reply.trial.max_error = std::max(reply.trial.max_error, validation->max_error);
  if (!validation->ok()) {
    reply.trial.detail = where + validation->detail;
  }
  return validation->ok();
}

}  // namespace hone
