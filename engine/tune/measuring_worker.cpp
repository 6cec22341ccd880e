#include "engine/tune/measuring_worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <thread>

#include "engine/kernel/configuration_text.hpp"
#include "engine/kernel/small_problems.hpp"
#include "engine/store/lookup.hpp"
#include "engine/tune/final_round.hpp"
#include "engine/tune/stopwatch.hpp"

namespace hone {

using wire::Message;

namespace {

constexpr std::size_t kWarmUpBytes = 256;
constexpr std::uint64_t kSeedsPerProcess = 1000000;  // a process draws no inputs that one before it has drawn
// A default that hangs is found on the first small problem, not after the minutes of a large one.
constexpr double kSmallProblemSeconds = 30.0;

}  // namespace

/// A trial and how it ended for the process.
struct TrialReply {
  Trial trial;
  bool fatal = false;                   ///< the device is in an error state: this process must be replaced
  bool blameless = false;               ///< it failed before the candidate had run
  std::vector<std::string> notes = {};  ///< for people, of a trial that is ok

  void fail(const Error& error) {
    trial.detail = error.message;
    fatal = error.code == ErrorCode::kDevice;
    if (fatal) {
      trial.outcome = Outcome::kIllegalAccess;
    } else if (error.message.starts_with("deadlock:")) {
      trial.outcome = Outcome::kDeadlock;
    } else {
      trial.outcome = Outcome::kLaunchFailure;
    }
  }
};

Result<std::unique_ptr<MeasuringWorker>> MeasuringWorker::create(WorkerChannel& channel, const DevicePlugin& plugin, const DeviceInfo& info,
                                                                 const Message& setup) {
  auto worker = std::unique_ptr<MeasuringWorker>(new MeasuringWorker(channel, info));
  HONE_ASSIGN(worker->spec_, parse_kernel_spec(setup.at("spec").get<std::string>()));
  worker->problem_ = wire::problem_from(setup.at("problem"));
  worker->settings_ = wire::settings_from(setup.at("settings"));
  worker->seed_ = setup.at("seed");
  worker->seeds_used_ = kSeedsPerProcess * setup.value("generation", std::uint64_t{0});
  worker->standby_ = setup.value("standby", false);
  // A driver, or a plugin, may start threads when it likes.
  worker->watches_threads_ = !info.compile_overlaps && plugin.file().empty();
  const std::vector<std::string> dropped = setup.value("dropped", std::vector<std::string>());
  std::ranges::copy_if(provoking_profiles(), std::inserter(worker->dropped_, worker->dropped_.end()),
                       [&](InputProfile profile) { return std::ranges::count(dropped, name(profile)) > 0; });
  const DeviceLock::Hold hold(worker->lock_, channel, worker->standby_ && !info.compile_overlaps);
  std::thread preparing([&plugin, &info] { plugin.prepare_to_measure(info); });
  auto opened = plugin.open(info);
  preparing.join();
  HONE_ASSIGN(worker->device_, std::move(opened));
  // A device compiles code of its own on first use; now the reference is still being compiled.
  HONE_ASSIGN(const std::unique_ptr<Buffer> some, worker->device_->allocate(kWarmUpBytes));
  HONE_TRY(worker->device_->fill(some->address(), kWarmUpBytes, 0));
  HONE_TRY(worker->device_->checksum(some->address(), kWarmUpBytes));
  return worker;
}

Result<void> MeasuringWorker::make_bench(const Message& request) {
  reference_ = wire::compiled_from(request.at("reference"));
  const DeviceLock::Hold hold(lock_, channel_, standby_);
  stage_ = "making the buffers";
  channel_.stage(stage_);
  HONE_ASSIGN(bench_, Bench::create(*device_, spec_, problem_, reference_, InputProfile::kUsual, settings_.max_error, settings_.given));
  HONE_TRY(add_small_problems());
  watch_reference(*bench_, problem_);
  for (Small& ragged : ragged_) {
    watch_reference(*ragged.bench, ragged.problem);
  }
  next_seed();
  HONE_TRY(draw());
  process_ = ProcessState::now(watches_threads_);
  return {};
}

std::size_t MeasuringWorker::bytes() const {
  std::size_t sum = bench_->bytes();
  for (const Small& ragged : ragged_) {
    sum += ragged.bench->bytes();
  }
  return sum;
}

Result<void> MeasuringWorker::draw() {
  const Stopwatch watch;
  for (Small& ragged : ragged_) {
    HONE_TRY(ragged.bench->draw(input_seed_));
  }
  HONE_TRY(bench_->draw(input_seed_));
  reseed_cost_ = watch.seconds();
  return {};
}

void MeasuringWorker::watch_reference(Bench& bench, const Problem& problem) {
  const std::string name =
      fmt::format("the reference {}on {}", spec_.reference.empty() ? "" : spec_.reference.front().function + " ", text(problem.shape));
  bench.watch_reference([this, name](bool begins) {
    channel_.report(begins ? wire::Stage{.kind = wire::Stage::Kind::kReference, .name = name} : wire::Stage{.name = stage_});
  });
}

Message MeasuringWorker::trial(const Message& request) {
  TrialReply reply;
  const Stopwatch whole;
  run_trial(request, reply);
  reply.trial.seconds.overhead = std::max(0.0, whole.seconds() - reply.trial.seconds.validate - reply.trial.seconds.time);
  Message message = wire::to_message(reply.trial);
  message["fatal"] = reply.fatal;
  message["blameless"] = reply.blameless;
  message["dropped"] = Message::array();
  for (const InputProfile profile : dropped_) {
    message["dropped"].push_back(name(profile));
  }
  message["notes"] = reply.notes;
  return message;
}

/// One that wants to win, loaded for the whole round: what it keeps from launch to launch meets other inputs.
struct MeasuringWorker::Contender {
  Configuration configuration;
  Compiled compiled;
  std::unique_ptr<LoadedKernel> kernel;
  TrialReply reply;
  [[nodiscard]] bool right() const { return kernel != nullptr && reply.trial.outcome == Outcome::kOk; }
};

Message MeasuringWorker::finals(const Message& request) {
  std::vector<Contender> contenders;
  for (const Message& candidate : request.at("candidates")) {
    contenders.push_back({configuration_from(candidate), wire::compiled_from(candidate.at("compiled")), nullptr, {}});
  }
  bool complete = false;
  const Result<std::size_t> reached = validate_contenders(contenders, request.at("repeat_seconds"));
  if (!reached) {
    return {{"error", wire::to_message(reached.error())}};
  }
  bool fatal = *reached < contenders.size();
  std::vector<Trial> trials;
  std::vector<Bench::Finalist> finalists;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < std::min(contenders.size(), *reached + 1); ++i) {
    if (contenders[i].right()) {
      finalists.push_back({contenders[i].kernel.get(), contenders[i].configuration});
      places.push_back(i);
    }
    trials.push_back(contenders[i].reply.trial);
  }
  if (!fatal) {
    complete = finalists.empty() || time_finals(finalists, places, request.at("timing_seconds"), trials, fatal);
  }
  Message results = Message::array();
  for (const Trial& trial : trials) {
    results.push_back(wire::to_message(trial));
  }
  return {{"results", results}, {"fatal", fatal}, {"complete", complete && !fatal}};
}

/// On the inputs that are there, on those with a part changed where that is cheap, and on fresh ones with all that the gate has. Returns
/// who broke the device, or how many there are.
Result<std::size_t> MeasuringWorker::validate_contenders(std::vector<Contender>& contenders, double repeat_seconds) {
  constexpr double kCheap = 0.25;
  channel_.charge(std::nullopt);
  HONE_ASSIGN(std::size_t broken, each_contender(contenders, [this](Contender& contender) {
                contender.kernel = prepare(contender.compiled, contender.configuration, contender.reply);
                return contender.kernel != nullptr &&
                       check(*bench_, contender.configuration, *contender.kernel, input_seed_, "", contender.reply);
              }));
  if (broken == contenders.size() && reseed_cost_ < kCheap) {
    next_seed();
    HONE_TRY(bench_->vary(input_seed_));
    HONE_ASSIGN(broken, each_contender(contenders, [this](Contender& contender) {
                  return check(*bench_, contender.configuration, *contender.kernel, input_seed_,
                               "with a part of the inputs changed: ", contender.reply);
                }));
  }
  if (broken < contenders.size()) {
    return broken;
  }
  next_seed();
  HONE_TRY(draw());
  return each_contender(contenders, [this, repeat_seconds](Contender& contender) {
    constexpr int kLaunches = 256;
    const bool right = validate(contender.compiled, contender.configuration, *contender.kernel, contender.reply) &&
                       deepen(contender.compiled, contender.configuration, Runs::kTwo, contender.reply) &&
                       repeat(contender.configuration, *contender.kernel, kLaunches, repeat_seconds, contender.reply);
    audit(contender.reply);
    return right;
  });
}

/// Calls `check` for each that is right so far, charged with what happens, until one breaks the device: its place, else how many there are.
Result<std::size_t> MeasuringWorker::each_contender(std::vector<Contender>& contenders, const std::function<bool(Contender&)>& check) {
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    Contender& contender = contenders[i];
    if (contender.reply.trial.outcome != Outcome::kOk) {
      continue;
    }
    channel_.charge(i);
    stage_ = "validating";
    channel_.stage(stage_);
    check(contender);
    if (contender.reply.fatal) {
      return i;
    }
  }
  channel_.charge(std::nullopt);
  return contenders.size();
}

Result<void> MeasuringWorker::add_small_problems() {
  // A host runs the threads of a block one after the other: thousands of rows of a few elements would cost it more than the user's problem.
  constexpr std::int64_t kLimitElements = 1 << 16, kHostElements = 1 << 14;
  // What the author wants tried comes beside those; of many, and of larger ones, the rest is for what could win.
  constexpr std::size_t kMostGiven = 8;
  constexpr std::int64_t kLargestGiven = 1 << 24, kLargestHostGiven = 1 << 20;
  std::vector<Problem> always = ragged_problems(spec_, problem_, kLimitElements);
  for (Problem& given : given_problems(spec_, problem_, device_->info().compile_overlaps ? kLargestGiven : kLargestHostGiven)) {
    const bool is_small = largest_argument(spec_, given) <= static_cast<double>(kLimitElements) && ragged_.size() < kMostGiven;
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
  for (Problem& problem : always) {
    HONE_ASSIGN(auto bench, Bench::create(*device_, spec_, problem, reference_, InputProfile::kUsual, settings_.max_error));
    ragged_.push_back({.problem = std::move(problem), .bench = std::move(bench)});
  }
  const std::int64_t regular_elements = device_->info().compile_overlaps ? kLimitElements : kHostElements;
  for (Problem& problem : regular_problems(spec_, problem_, regular_elements)) {
    regular_.push_back({.problem = std::move(problem)});
  }
  for (const InputProfile profile : provoking_profiles()) {
    // A bound is about the problem's own inputs: cheaper arithmetic has less range, and shows where sums cancel.
    const bool of_other_magnitude = profile == InputProfile::kMixed || profile == InputProfile::kLarge || profile == InputProfile::kTiny ||
                                    profile == InputProfile::kGreatScalars || profile == InputProfile::kOrdered;
    if (dropped_.contains(profile) || !differs(profile, spec_) || (settings_.max_error > 0.0 && of_other_magnitude)) {
      continue;
    }
    // Ragged problems first; a configuration that cannot do those is tried on a regular one.
    for (const std::vector<Small>* const problems : {&ragged_, &regular_}) {
      for (const Small& small : *problems) {
        provoking_.push_back({.problem = small.problem, .profile = profile});
      }
    }
  }
  return {};
}

Configuration MeasuringWorker::configuration_from(const Message& message) const {
  return parse_configuration(spec_.parameters, message.at("configuration").get<std::string>()).value();
}

std::unique_ptr<LoadedKernel> MeasuringWorker::load_for(const Problem& problem, const Compiled& compiled,
                                                        const Configuration& configuration, TrialReply& reply) {
  Result<std::vector<PassLaunch>> plan = plan_launch(spec_, problem, configuration, device_->info());
  if (!plan) {
    reply.fail(plan.error());
    return nullptr;
  }
  if (std::string reason = static_reject(*plan, compiled.resources, device_->info()); !reason.empty()) {
    reply.trial.outcome = Outcome::kStaticReject;
    reply.trial.detail = reason;
    return nullptr;
  }
  auto loaded = device_->load(compiled, *plan, problem);
  if (!loaded) {
    reply.fail(loaded.error());
    return nullptr;
  }
  return std::move(loaded).value();
}

std::unique_ptr<LoadedKernel> MeasuringWorker::prepare(const Compiled& compiled, const Configuration& configuration, TrialReply& reply) {
  reply.trial.resources = compiled.resources;
  auto kernel = load_for(problem_, compiled, configuration, reply);
  if (kernel) {
    const Resources seen = kernel->resources();
    reply.trial.resources.occupancy = seen.occupancy;
    reply.trial.resources.shared_bytes = std::max(seen.shared_bytes, reply.trial.resources.shared_bytes);
  }
  return kernel;
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

/// In a final round the tuner learns whose doing it is.
void MeasuringWorker::say(const std::string& stage, std::optional<double> within) { channel_.report({.name = stage, .within = within}); }

std::optional<bool> MeasuringWorker::check_small(Small& small, const Compiled& compiled, const Configuration& configuration, Runs runs,
                                                 TrialReply& reply) {
  if (!small.applies || !valid_for(spec_, small.problem, device_->info(), configuration)) {
    return std::nullopt;
  }
  const std::string inputs = small.profile == InputProfile::kUsual ? "" : fmt::format(" with inputs: {}", name(small.profile));
  say(fmt::format("{} on the small problem {}{}", stage_, text(small.problem.shape), inputs), kSmallProblemSeconds);
  const std::string where = fmt::format("on the small problem {}{}: ", text(small.problem.shape), inputs);
  const bool optional = small.bench == nullptr;
  if (optional) {
    auto bench = Bench::create(*device_, spec_, small.problem, reference_, small.profile, settings_.max_error);
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
  if (kernel) {
    return check(*small.bench, configuration, *kernel, seed_of(small), where, reply, runs);
  }
  if (reply.fatal) {
    return false;
  }
  // What the device refuses at a small size alone is no fault of the configuration at its own size.
  reply.trial.outcome = Outcome::kOk;
  reply.trial.detail.clear();
  return std::nullopt;
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
  for (const InputProfile profile : provoking_profiles()) {
    right = right && (dropped_.contains(profile) || provoke(profile, compiled, configuration, reply));
  }
  reply.trial.seconds.validate += watch.seconds();
  return right;
}

bool MeasuringWorker::provoke(InputProfile profile, const Compiled& compiled, const Configuration& configuration, TrialReply& reply) {
  for (Small& small : provoking_) {
    const std::optional<bool> right =
        small.profile == profile ? check_small(small, compiled, configuration, Runs::kOne, reply) : std::nullopt;
    if (!right) {
      continue;
    }
    if (!*right && may_drop_ && !reply.fatal) {
      // Its author knows of inputs that it never gets. The others of the file are not held to more, and the report says so.
      dropped_.insert(profile);
      reply.notes.push_back(
          fmt::format("the default configuration is wrong for such inputs, so no other is held to them: {}", reply.trial.detail));
      reply.trial.outcome = Outcome::kOk;
      reply.trial.detail.clear();
      return true;
    }
    return *right;
  }
  return true;
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

/// What is far behind costs a launch or two, not a validation: most candidates of a wide space. False if it is, or if it failed.
bool MeasuringWorker::look(const Configuration& configuration, const LoadedKernel& kernel, double incumbent_us, TrialReply& reply) {
  constexpr double kFarBehind = 1.5;  // more than one cold run and another differ by
  constexpr double kAloneUs = 10.0;   // that a launch alone takes longer than one of many in a graph
  constexpr double kHostUs = 20e3;    // that a host with other work may take longer, twice in a row
  constexpr double kCrawl = 10.0;     // times the limit that it is waited for
  const double limit_us = kFarBehind * incumbent_us + (device_->info().compile_overlaps ? kAloneUs : kHostUs);
  lock_.acquire(channel_);
  channel_.report({.name = "having a first look", .expected = kCrawl * limit_us * 1e-6});
  const Stopwatch watch;
  Result<std::optional<Measurement>> seen = bench_->look(kernel, configuration, settings_, limit_us);
  lock_.release();
  reply.trial.seconds.time = watch.seconds();
  if (!seen) {
    reply.fail(seen.error());
    return false;
  }
  if (*seen) {
    reply.trial.measurement = **std::move(seen);
    reply.trial.outcome = Outcome::kTooSlow;
    reply.trial.detail =
        fmt::format("{:.1f} times as long as the fastest so far, in its first cold runs", reply.trial.measurement.median_us / incumbent_us);
  }
  return !reply.trial.measurement.raced_out;
}

bool MeasuringWorker::time(const Configuration& configuration, const LoadedKernel& kernel, std::optional<double> incumbent_us,
                           TrialReply& reply) {
  lock_.acquire(channel_);
  stage_ = "warming up";
  channel_.stage(stage_);
  const OnTurn on_turn = [this](std::size_t, double seconds) { channel_.piece({.name = "timing"}, seconds); };
  const Stopwatch watch;
  Result<Timing> timed = bench_->time(kernel, configuration, settings_, incumbent_us, reply.trial.readings, on_turn);
  lock_.release();
  reply.trial.seconds.time += watch.seconds();
  if (!timed) {
    reply.fail(timed.error());
    return false;
  }
  reply.trial.outcome = timed->validation.outcome;
  reply.trial.detail = std::move(timed->validation.detail);
  reply.trial.measurement = std::move(timed->measurement);
  return timed->validation.ok();
}

void MeasuringWorker::audit(TrialReply& reply) {
  if (reply.fatal) {
    return;
  }
  if (const std::optional<std::string> changed = process_->difference()) {
    reply.trial.outcome = Outcome::kIllegalAccess;
    reply.trial.detail = *changed;
    reply.fatal = true;  // not a process for anybody else
    return;
  }
  std::vector<Bench*> benches{bench_.get()};
  for (std::vector<Small>* const problems : {&ragged_, &regular_, &provoking_}) {
    for (const Small& small : *problems) {
      if (small.bench != nullptr) {
        benches.push_back(small.bench.get());
      }
    }
  }
  const auto damage = Bench::audit(benches);
  if (!damage) {
    reply.fail(damage.error());
  } else if (*damage) {
    reply.trial.outcome = Outcome::kIllegalAccess;
    reply.trial.detail = fmt::format("seen after the trial: {}", **damage);
  }
}

void MeasuringWorker::run_trial(const Message& request, TrialReply& reply) {
  const Configuration configuration = configuration_from(request);
  const Compiled compiled = wire::compiled_from(request.at("compiled"));
  auto kernel = prepare(compiled, configuration, reply);
  if (!kernel) {
    return;
  }
  // A kernel that is held against another one's reference is held to whatever inputs that one has an answer for.
  may_drop_ = request.value("first", false) && spec_.judge == nullptr;
  standby_ = false;
  channel_.charge(std::nullopt);
  stage_ = "validating";
  if (const Result<void> refreshed = refresh_inputs(); !refreshed) {
    reply.fail(refreshed.error());
    reply.blameless = true;
    return;
  }
  const auto incumbent = request.contains("incumbent") ? std::optional<double>(request.at("incumbent").get<double>()) : std::nullopt;
  const bool stays = !request.value("look", false) || look(configuration, *kernel, *incumbent, reply);
  if (stays && validate(compiled, configuration, *kernel, reply) && time(configuration, *kernel, incumbent, reply)) {
    // What is not close to the best comes to a final round only when that has dropped others, and is asked for all of this there.
    const Measurement& measured = reply.trial.measurement;
    const bool leads = !incumbent || measured.median_us < *incumbent;
    const bool is_close = leads || (!measured.raced_out && measured.median_us <= *incumbent * kFinalistMargin);
    constexpr int kLaunches = 32;  // each timed run has been looked at, too
    constexpr double kSeconds = 0.02;
    stage_ = "validating what could win";
    if (is_close && deepen(compiled, configuration, Runs::kOne, reply) && leads) {
      repeat(configuration, *kernel, kLaunches, kSeconds, reply);
    }
  }
  audit(reply);
  if (!has_time(reply.trial.outcome)) {
    reply.trial.measurement = {};
  }
  spent_ += reply.trial.seconds.time + reply.trial.seconds.validate;
}

bool MeasuringWorker::time_finals(const std::vector<Bench::Finalist>& finalists, const std::vector<std::size_t>& places,
                                  double seconds_each, std::vector<Trial>& trials, bool& fatal) {
  // Finalists differ by less than a race needs to tell.
  constexpr double kCloser = 0.4, kLeastSeconds = 0.02;
  MeasureSettings settings = settings_;
  settings.target_relative_ci *= kCloser;
  settings.maximum_seconds = std::clamp(seconds_each, std::min(kLeastSeconds, settings_.maximum_seconds), settings_.maximum_seconds);
  const DeviceLock::Hold hold(lock_, channel_, true);
  stage_ = "warming up";
  std::size_t turn = 0;
  const OnTurn on_turn = [&](std::size_t finalist, double seconds) {
    turn = finalist;
    channel_.charge(places[finalist]);
    channel_.report({.name = stage_, .expected = seconds});
  };
  Readings readings;
  const auto measured = bench_->time_interleaved(finalists, settings, input_seed_, readings, on_turn);
  if (!measured) {
    TrialReply reply{trials[places[turn]], false};
    reply.fail(measured.error());
    fatal = reply.fatal;
    trials[places[turn]] = std::move(reply.trial);
    return false;
  }
  for (std::size_t k = 0; k < places.size(); ++k) {
    Trial& trial = trials[places[k]];
    const Timing& timing = (*measured)[k];
    trial.outcome = timing.validation.outcome;
    trial.detail = timing.validation.detail;
    trial.measurement = timing.validation.ok() ? timing.measurement : Measurement{};
    trial.readings = readings;
  }
  return true;
}

void MeasuringWorker::next_seed() {
  input_seed_ = seed_ * 1000003 + ++seeds_used_;
  spent_ = 0.0;
}

Result<void> MeasuringWorker::refresh_inputs() {
  constexpr double kShare = 20.0;
  if (spent_ <= kShare * reseed_cost_) {
    return {};
  }
  next_seed();
  return draw();
}

}  // namespace hone
