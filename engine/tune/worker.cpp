// The worker process: everything that can crash, hang or scribble over memory happens here.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include "engine/tune/wire.hpp"
#include "hone/configuration.hpp"
#include "hone/lookup.hpp"
#include "hone/plugin_loader.hpp"
#include "hone/worker.hpp"

namespace hone {
namespace {

using wire::Message;

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The worker's end of the socket, blocking.
class Channel {
 public:
  explicit Channel(int socket) : socket_(socket) {}

  std::optional<Message> receive() {
    std::uint8_t header[wire::kHeaderBytes];
    if (!read_all(header, sizeof header)) {
      return std::nullopt;
    }
    std::vector<std::uint8_t> body(wire::body_size(header));
    if (!read_all(body.data(), body.size())) {
      return std::nullopt;
    }
    return wire::decode(body.data(), body.size());
  }

  void send(const Message& message) {
    const std::vector<std::uint8_t> bytes = wire::encode(message);
    std::size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t n = ::write(socket_, bytes.data() + sent, bytes.size() - sent);
      if (n < 0 && errno == EINTR) {
        continue;
      }
      if (n <= 0) {
        return;  // the tuner is gone; the next receive sees it too
      }
      sent += static_cast<std::size_t>(n);
    }
  }

  void stage(const std::string& stage) { send({{"stage", stage}}); }

 private:
  bool read_all(std::uint8_t* to, std::size_t size) {
    while (size > 0) {
      const ssize_t n = ::read(socket_, to, size);
      if (n < 0 && errno == EINTR) {
        continue;
      }
      if (n <= 0) {
        return false;
      }
      to += n;
      size -= static_cast<std::size_t>(n);
    }
    return true;
  }
  int socket_;
};

/// One process at a time measures on a device; others wait their turn. Held only while timing.
class DeviceLock {
 public:
  explicit DeviceLock(const DeviceInfo& info) {
    const char* runtime = std::getenv("XDG_RUNTIME_DIR");
    const std::filesystem::path folder = runtime != nullptr ? runtime : "/tmp";
    const std::string physical = info.uuid.empty() ? info.id : info.uuid;
    const std::string file = (folder / fmt::format("hone-{}.lock", physical)).string();
    descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  }
  ~DeviceLock() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
  }
  DeviceLock(const DeviceLock&) = delete;
  DeviceLock& operator=(const DeviceLock&) = delete;

  void acquire(Channel& channel) {
    if (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      channel.stage("waiting for the device");
      while (::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
      }
    }
  }
  void release() {
    if (descriptor_ >= 0) {
      ::flock(descriptor_, LOCK_UN);
    }
  }

 private:
  int descriptor_ = -1;
};

struct Reply {
  Trial trial;
  bool fatal = false;  ///< the device is in an error state: this process must be replaced

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

class MeasuringWorker {
 public:
  static Result<std::unique_ptr<MeasuringWorker>> create(Channel& channel, const DevicePlugin& plugin, const DeviceInfo& info,
                                                         const Message& setup) {
    auto worker = std::unique_ptr<MeasuringWorker>(new MeasuringWorker(channel, info));
    HONE_ASSIGN(worker->spec_, parse_kernel_spec(setup.at("spec").get<std::string>()));
    worker->problem_ = wire::problem_from(setup.at("problem"));
    worker->settings_ = wire::settings_from(setup.at("settings"));
    worker->seed_ = setup.at("seed");
    worker->reference_ = wire::compiled_from(setup.at("reference"));
    HONE_ASSIGN(worker->device_, plugin.open(info));
    HONE_ASSIGN(worker->bench_, Bench::create(*worker->device_, worker->spec_, worker->problem_, worker->reference_));
    HONE_TRY(worker->add_ragged());
    return worker;
  }

  Message trial(const Message& request) {
    Reply reply;
    const Stopwatch whole;
    run_trial(request, reply);
    reply.trial.seconds.overhead = std::max(0.0, whole.seconds() - reply.trial.seconds.validate - reply.trial.seconds.time);
    Message message = wire::to_message(reply.trial);
    message["fatal"] = reply.fatal;
    return message;
  }

  Message finals(const Message& request) {
    Message results = Message::array();
    std::vector<std::unique_ptr<LoadedKernel>> kernels;
    std::vector<Bench::Finalist> finalists;
    std::vector<std::size_t> places;
    bool fatal = false;
    next_seed();
    for (std::size_t i = 0; i < request.at("candidates").size() && !fatal; ++i) {
      channel_.stage(fmt::format("validating finalist {}", i));
      const Message& candidate = request.at("candidates")[i];
      Reply reply;
      const Configuration configuration = configuration_from(candidate);
      const Compiled compiled = wire::compiled_from(candidate.at("compiled"));
      auto kernel = prepare(compiled, configuration, reply);
      if (kernel && validate(compiled, configuration, *kernel, reply)) {
        finalists.push_back({kernel.get(), configuration});
        kernels.push_back(std::move(kernel));
        places.push_back(i);
      }
      fatal = reply.fatal;
      results.push_back(wire::to_message(reply.trial));
    }
    if (!fatal && !finalists.empty()) {
      time_finals(finalists, places, results);
    }
    return {{"results", results}, {"fatal", fatal}};
  }

 private:
  MeasuringWorker(Channel& channel, const DeviceInfo& info) : channel_(channel), lock_(info) {}

  struct Ragged {
    Problem problem;
    std::unique_ptr<Bench> bench;
  };

  Result<void> add_ragged() {
    constexpr std::int64_t kLimitElements = 1 << 16;
    for (Problem& problem : ragged_problems(spec_, problem_, kLimitElements)) {
      HONE_ASSIGN(auto bench, Bench::create(*device_, spec_, problem, reference_));
      ragged_.push_back({std::move(problem), std::move(bench)});
    }
    return {};
  }

  [[nodiscard]] Configuration configuration_from(const Message& message) const {
    return parse_configuration(spec_.parameters, message.at("configuration").get<std::string>()).value();
  }

  std::unique_ptr<LoadedKernel> load_for(const Problem& problem, const Compiled& compiled, const Configuration& configuration, Reply& reply) {
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

  /// Loads for the problem itself and notes what the driver says of it.
  std::unique_ptr<LoadedKernel> prepare(const Compiled& compiled, const Configuration& configuration, Reply& reply) {
    reply.trial.resources = compiled.resources;
    auto kernel = load_for(problem_, compiled, configuration, reply);
    if (kernel) {
      const Resources seen = kernel->resources();
      reply.trial.resources.occupancy = seen.occupancy;
      reply.trial.resources.shared_bytes = std::max(seen.shared_bytes, reply.trial.resources.shared_bytes);
    }
    return kernel;
  }

  bool check(Bench& bench, const Configuration& configuration, const LoadedKernel& kernel, std::uint64_t seed, const std::string& where, Reply& reply) {
    const Result<Validation> validation = bench.validate(kernel, configuration, seed);
    if (!validation) {
      reply.fail(validation.error());
      reply.trial.detail = where + reply.trial.detail;
      return false;
    }
    reply.trial.outcome = validation->outcome;
    reply.trial.max_error = std::max(reply.trial.max_error, validation->max_error);
    if (validation->outcome != Outcome::kOk) {
      reply.trial.detail = where + validation->detail;
    }
    return validation->outcome == Outcome::kOk;
  }

  bool validate(const Compiled& compiled, const Configuration& configuration, const LoadedKernel& kernel, Reply& reply) {
    const Stopwatch watch;
    reply.trial.input_seed = input_seed_;
    const bool right = validate_all(compiled, configuration, kernel, reply);
    reply.trial.seconds.validate = watch.seconds();
    if (fresh_) {
      reseed_cost_ = watch.seconds();
      fresh_ = false;
    }
    return right;
  }

  bool validate_all(const Compiled& compiled, const Configuration& configuration, const LoadedKernel& kernel, Reply& reply) {
    for (Ragged& ragged : ragged_) {
      if (!valid_for(spec_, ragged.problem, device_->info(), configuration)) {
        continue;
      }
      auto small = load_for(ragged.problem, compiled, configuration, reply);
      const std::string where = fmt::format("on the small problem {}: ", text(ragged.problem.shape));
      if (!small) {
        // What the device refuses at a small size alone is no fault of the configuration at its own size.
        if (reply.fatal) {
          return false;
        }
        reply.trial.outcome = Outcome::kOk;
        reply.trial.detail.clear();
        continue;
      }
      if (!check(*ragged.bench, configuration, *small, input_seed_, where, reply)) {
        return false;
      }
    }
    return check(*bench_, configuration, kernel, input_seed_, "", reply);
  }

  void run_trial(const Message& request, Reply& reply) {
    const Configuration configuration = configuration_from(request);
    const Compiled compiled = wire::compiled_from(request.at("compiled"));
    auto kernel = prepare(compiled, configuration, reply);
    if (!kernel) {
      return;
    }
    channel_.stage("validating");
    refresh_inputs();
    if (!validate(compiled, configuration, *kernel, reply)) {
      return;
    }
    lock_.acquire(channel_);
    channel_.stage("timing");
    const Stopwatch watch;
    const auto incumbent = request.contains("incumbent") ? std::optional<double>(request.at("incumbent").get<double>()) : std::nullopt;
    Result<Measurement> measured = bench_->time(*kernel, configuration, settings_, incumbent, reply.trial.readings);
    lock_.release();
    reply.trial.seconds.time = watch.seconds();
    spent_ += watch.seconds() + reply.trial.seconds.validate;
    if (!measured) {
      reply.fail(measured.error());
      return;
    }
    reply.trial.measurement = std::move(measured).value();
  }

  void time_finals(const std::vector<Bench::Finalist>& finalists, const std::vector<std::size_t>& places, Message& results) {
    lock_.acquire(channel_);
    channel_.stage("timing the finalists");
    Readings readings;
    const auto measured = bench_->time_interleaved(finalists, settings_, input_seed_, readings);
    lock_.release();
    for (std::size_t k = 0; k < places.size(); ++k) {
      Trial trial;
      wire::fill_from(results[places[k]], trial);
      if (measured) {
        trial.measurement = (*measured)[k];
        trial.readings = readings;
      } else {
        Reply reply{trial, false};
        reply.fail(measured.error());
        trial = reply.trial;
      }
      results[places[k]] = wire::to_message(trial);
    }
  }

  void next_seed() {
    input_seed_ = seed_ * 1000003 + ++seeds_used_;
    spent_ = 0.0;
    fresh_ = true;
  }

  /// Fresh inputs need the reference's answer anew, which can cost more than many trials: they are drawn as often as that stays a small share.
  void refresh_inputs() {
    constexpr double kShare = 20.0;
    if (seeds_used_ == 0 || spent_ > kShare * reseed_cost_) {
      next_seed();
    }
  }

  Channel& channel_;
  DeviceLock lock_;
  KernelSpec spec_;
  Problem problem_;
  MeasureSettings settings_;
  Compiled reference_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Bench> bench_;
  std::vector<Ragged> ragged_;
  std::uint64_t seed_ = 0, input_seed_ = 0, seeds_used_ = 0;
  double spent_ = 0.0, reseed_cost_ = 0.0;
  bool fresh_ = true;
};

class CompilingWorker {
 public:
  static Result<std::unique_ptr<CompilingWorker>> create(const DevicePlugin& plugin, const DeviceInfo& info, const Message& setup) {
    auto worker = std::unique_ptr<CompilingWorker>(new CompilingWorker);
    HONE_ASSIGN(worker->spec_, parse_kernel_spec(setup.at("spec").get<std::string>()));
    worker->dtype_ = wire::problem_from(setup.at("problem")).dtype;
    HONE_ASSIGN(worker->compiler_, plugin.compiler(info));
    return worker;
  }

  Message compile(const Message& request) {
    CompileRequest compile{.spec = &spec_, .dtype = dtype_, .configurations = {}, .reference = request.at("reference")};
    for (const Message& configuration : request.at("configurations")) {
      compile.configurations.push_back(parse_configuration(spec_.parameters, configuration.get<std::string>()).value());
    }
    const Stopwatch watch;
    Message results = Message::array();
    for (const Result<Compiled>& compiled : compiler_->compile(compile)) {
      results.push_back(compiled ? Message{{"compiled", wire::to_message(*compiled)}} : Message{{"error", wire::to_message(compiled.error())}});
    }
    return {{"results", results}, {"seconds", watch.seconds()}};
  }

 private:
  KernelSpec spec_;
  DType dtype_ = DType::kF32;
  std::unique_ptr<Compiler> compiler_;
};

class Worker {
 public:
  Worker(int socket, Registry registry) : channel_(socket), registry_(std::move(registry)) {}

  int run() {
    while (const std::optional<Message> request = channel_.receive()) {
      channel_.send(answer(*request));
    }
    return 0;
  }

 private:
  Message answer(const Message& request) {
    const std::string operation = request.at("op");
    if (operation == "setup") {
      const Result<void> ready = setup(request);
      return ready ? Message{{"ready", true}} : Message{{"error", wire::to_message(ready.error())}};
    }
    if (operation == "compile") {
      return compiling_->compile(request);
    }
    return operation == "trial" ? measuring_->trial(request) : measuring_->finals(request);
  }

  Result<void> setup(const Message& request) {
    const DeviceInfo info = wire::device_from(request.at("device"));
    if (const std::string file = request.at("plugin"); !file.empty()) {
      HONE_TRY(load_plugin(registry_, file));
    }
    for (const auto& plugin : registry_.devices()) {
      if (plugin->name() != info.plugin) {
        continue;
      }
      if (request.at("measure")) {
        HONE_ASSIGN(measuring_, MeasuringWorker::create(channel_, *plugin, info, request));
      } else {
        HONE_ASSIGN(compiling_, CompilingWorker::create(*plugin, info, request));
      }
      return {};
    }
    return Error{ErrorCode::kNotFound, fmt::format("the worker has no device plugin '{}'", info.plugin)};
  }

  Channel channel_;
  Registry registry_;
  std::unique_ptr<MeasuringWorker> measuring_;
  std::unique_ptr<CompilingWorker> compiling_;
};

}  // namespace

int serve_worker(int socket, Registry registry) {
  // The tuner may be killed at any moment; a worker that hangs in a kernel would outlive it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);
  return Worker(socket, std::move(registry)).run();
}

}  // namespace hone
