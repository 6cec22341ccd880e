#include "engine/worker/measuring_worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <thread>

#include "engine/base/cores.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/worker/stopwatch.hpp"
#include "engine/worker/trial_reply.hpp"

namespace hone {

using wire::Message;

namespace {

constexpr std::size_t kWarmUpBytes = 256;
constexpr std::uint64_t kSeedsPerProcess = 1000000;  // a process draws no inputs that one before it has drawn

}  // namespace

Result<std::unique_ptr<MeasuringWorker>> MeasuringWorker::create(WorkerChannel& channel, const DevicePlugin& plugin, const DeviceInfo& info,
                                                                 const Message& setup, std::unique_ptr<Device> open) {
  auto worker = std::unique_ptr<MeasuringWorker>(new MeasuringWorker(channel, info));
  HONE_ASSIGN(worker->spec_, parse_kernel_spec(setup.at("spec").get<std::string>()));
  worker->problem_ = wire::problem_from(setup.at("problem"));
  worker->settings_ = wire::settings_from(setup.at("settings"));
  worker->seed_ = setup.at("seed");
  worker->seeds_used_ = kSeedsPerProcess * setup.value("generation", std::uint64_t{0});
  worker->standby_ = setup.value("standby", false);
  worker->can_wait_ = setup.value("can_wait", false);
  if (setup.value("near", false)) {
    run_on(plugin.cores_near(info));
  }
  // A driver, or a plugin, may start threads when it likes.
  worker->watches_threads_ = !info.compile_overlaps && plugin.file().empty();
  const auto named_by = [&](const char* key) {
    const std::vector<std::string> names = setup.value(key, std::vector<std::string>());
    std::set<Provocation> named;
    std::ranges::copy_if(provocations(), std::inserter(named, named.end()),
                         [&](const Provocation& one) { return std::ranges::count(names, name_of(one)) > 0; });
    return named;
  };
  worker->dropped_ = named_by("dropped");
  worker->held_ = named_by("held");
  if (open != nullptr) {
    worker->device_ = std::move(open);
    return worker;
  }
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
  std::optional<DeviceLock> turn;  // given back with the file, after the device
  if (can_wait_) {
    turn.emplace(device_->info(), DeviceLock::Purpose::kPreparing).acquire(channel_);
  }
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
  message["asks_default"] = reply.asks_default;
  for (const auto& [key, provocations] : {std::pair("dropped", &dropped_), std::pair("held", &held_)}) {
    message[key] = Message::array();
    for (const Provocation& one : *provocations) {
      message[key].push_back(name_of(one));
    }
  }
  message["notes"] = reply.notes;
  return message;
}

Message MeasuringWorker::count(const Message& request) {
  const Configuration configuration = configuration_from(request);
  stage_ = "reading counters";
  channel_.stage(stage_);
  TrialReply reply;
  const auto kernel = prepare(wire::compiled_from(request.at("compiled")), configuration, reply);
  if (!kernel) {
    return {{"error", wire::to_message(Error{ErrorCode::kLaunch, reply.trial.detail})}};
  }
  const DeviceLock::Hold hold(lock_, channel_, true);
  const Result<Counters> counters = bench_->count(*kernel, configuration, settings_);
  return counters ? Message{{"counters", wire::to_message(*counters)}} : Message{{"error", wire::to_message(counters.error())}};
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

/// What is far behind costs a launch or two, not a validation: most candidates of a wide space. False if it is, or if it failed.
bool MeasuringWorker::look(const Configuration& configuration, const LoadedKernel& kernel, const Incumbent& incumbent, TrialReply& reply) {
  constexpr double kFarBehind = 1.5;  // more than one cold run and another differ by
  constexpr double kHostUs = 20e3;    // that a host with other work may take longer, twice in a row
  constexpr double kCrawl = 10.0;     // times the limit that it is waited for
  const double limit_us =
      kFarBehind * incumbent.time_allowance * incumbent.time_us + (device_->info().compile_overlaps ? kAloneUs : kHostUs);
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
    reply.trial.detail = fmt::format("{:.1f} times as long as the fastest so far, in its first cold runs",
                                     reply.trial.measurement.median_us / incumbent.time_us);
  }
  return !reply.trial.measurement.raced_out;
}

bool MeasuringWorker::time(const Configuration& configuration, const LoadedKernel& kernel, const std::optional<Incumbent>& incumbent,
                           TrialReply& reply) {
  lock_.acquire(channel_);
  stage_ = "warming up";
  channel_.stage(stage_);
  const OnTurn on_turn = [this](std::size_t, double seconds) { channel_.piece({.name = "timing"}, seconds); };
  const Stopwatch watch;
  Result<Timing> timed = bench_->time(kernel, configuration, settings_, incumbent, reply.trial.readings, on_turn);
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
  is_default_ = configuration == default_configuration(spec_.parameters);
  learn_default(request);
  standby_ = false;
  channel_.charge(std::nullopt);
  stage_ = "validating";
  if (const Result<void> refreshed = refresh_inputs(); !refreshed) {
    reply.fail(refreshed.error());
    reply.blameless = true;
    return;
  }
  const auto incumbent =
      request.contains("incumbent") ? std::optional<Incumbent>(wire::incumbent_from(request.at("incumbent"))) : std::nullopt;
  const bool stays = !request.value("look", false) || look(configuration, *kernel, *incumbent, reply);
  if (stays && validate(compiled, configuration, *kernel, reply) && time(configuration, *kernel, incumbent, reply)) {
    // What is not close to the best comes to a final round only when that has dropped others, and is asked for all of this there.
    const Measurement& measured = reply.trial.measurement;
    const std::optional<Figure> reached = settings_.objective.of(measured);
    const bool leads = !incumbent || (reached && reached->value < incumbent->value);
    const bool is_close = leads || (!measured.raced_out && reached && reached->value <= incumbent->value * kFinalistMargin);
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

void MeasuringWorker::learn_default(const Message& request) {
  if (request.contains("default")) {
    default_ = wire::compiled_from(request.at("default"));
  }
}

/// In a final round the tuner learns whose doing it is.
void MeasuringWorker::say(const std::string& stage, std::optional<double> within) { channel_.report({.name = stage, .within = within}); }

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
