// The worker process: everything that can crash, hang or scribble over memory happens here.

#include "engine/worker/worker.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <csignal>
#include <memory>
#include <optional>

#include "engine/kernel/against.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/plugin/plugin_loader.hpp"
#include "engine/worker/measuring_worker.hpp"
#include "engine/worker/plugin_worker.hpp"
#include "engine/worker/process_limits.hpp"
#include "engine/worker/stopwatch.hpp"
#include "hone/version.h"

namespace hone {
namespace {

using wire::Message;

class CompilingWorker {
 public:
  static Result<std::unique_ptr<CompilingWorker>> create(const DevicePlugin& plugin, const DeviceInfo& info, const Message& setup) {
    auto worker = std::unique_ptr<CompilingWorker>(new CompilingWorker);
    HONE_ASSIGN(worker->spec_, parse_kernel_spec(setup.at("spec").get<std::string>()));
    worker->problem_ = wire::problem_from(setup.at("problem"));
    HONE_ASSIGN(worker->compiler_, plugin.compiler(info));
    return worker;
  }

  Message compile(const Message& request) {
    const bool reference = request.at("reference");
    const bool judged = reference && spec_.judge;
    CompileRequest compile{.spec = judged ? spec_.judge.get() : &spec_,
                           .dtype = problem_.dtype,
                           .configurations = {},
                           .reference = reference,
                           .shape = judged ? judged_problem(*spec_.judge, problem_).shape : problem_.shape};
    for (const Message& configuration : request.at("configurations")) {
      compile.configurations.push_back(parse_configuration(spec_.parameters, configuration.get<std::string>()).value());
    }
    const Stopwatch watch;
    Message results = Message::array();
    for (const Result<Compiled>& compiled : compiler_->compile(compile)) {
      results.push_back(answer_of(compiled));
    }
    return {{"results", results}, {"seconds", watch.seconds()}};
  }

 private:
  /// Code of a size that nobody keeps in a store is as good as none.
  static Message answer_of(const Result<Compiled>& compiled) {
    constexpr std::size_t kMostCode = std::size_t{64} << 20;
    if (!compiled) {
      return {{"error", wire::to_message(compiled.error())}};
    }
    if (const std::size_t size = compiled->artifact->bytes.size(); size > kMostCode) {
      return {{"error", wire::to_message(Error{ErrorCode::kCompile, fmt::format("the compiled code has {} MiB; {} are kept at most",
                                                                                size >> 20U, kMostCode >> 20U)})}};
    }
    return {{"compiled", wire::to_message(*compiled)}};
  }

  KernelSpec spec_;
  Problem problem_;
  std::unique_ptr<Compiler> compiler_;
};

class Worker {
 public:
  Worker(int socket, Registry registry) : channel_(socket), registry_(std::move(registry)) {}

  int run() {
    while (const std::optional<Message> request = channel_.receive()) {
      Message reply = guarded_answer(*request);
      if (!request->contains("ticket")) {
        continue;  // nobody waits
      }
      reply["ticket"] = request->value("ticket", std::uint64_t{0});
      reply["version"] = HONE_VERSION;  // a worker of another Hone may take the same words for something else
      channel_.send(reply);
    }
    return 0;
  }

 private:
  /// A request of the wrong shape, or one that comes too early, is answered with an error.
  Message guarded_answer(const Message& request) {
    try {
      return answer(request);
    } catch (const std::exception& broken) {
      return failure(Error{ErrorCode::kPlugin, fmt::format("the worker cannot answer: {}", broken.what())});
    }
  }

  static Message failure(const Error& error) { return {{"error", wire::to_message(error)}}; }

  Message answer(const Message& request) {
    const std::string operation = request.at("op");
    if (operation == "open") {
      plugin_ = std::make_unique<PluginWorker>(channel_);
    }
    if (plugin_) {
      return plugin_->answer(request);
    }
    if (operation == "read") {
      return read(request);
    }
    if (operation == "library") {
      return library(request);
    }
    if (operation == "reset") {
      reset();
      return {};
    }
    if (operation == "setup") {
      const Result<void> ready = setup(request);
      return ready ? Message{{"ready", true}} : failure(ready.error());
    }
    if (operation == "compile" && compiling_) {
      return compiling_->compile(request);
    }
    if (!measuring_) {
      return failure(Error{ErrorCode::kPlugin, fmt::format("a worker that was not set up for it was asked for '{}'", operation)});
    }
    if (operation == "bench") {
      const Result<void> ready = measuring_->make_bench(request);
      return ready ? Message{{"ready", true}, {"bytes", measuring_->bytes()}} : failure(ready.error());
    }
    if (operation == "survey") {
      return measuring_->survey(request);
    }
    if (operation == "prepare survey") {
      return measuring_->prepare_survey(request);
    }
    if (operation == "count") {
      return measuring_->count(request);
    }
    return operation == "trial" ? measuring_->trial(request) : measuring_->finals(request);
  }

  /// A kernel file is read as the compiler is run: within limits.
  static Message read(const Message& request) {
    limit_this_process(kReaderMemory);
    const Result<KernelSpec> spec = read_kernel_file(request.at("file").get<std::string>(), {request.at("flags")});
    if (!spec) {
      return failure(spec.error());
    }
    return spec_reply(*spec);
  }

  static Message spec_reply(const KernelSpec& spec) {
    const std::string text = spec.serialize();
    return {{"spec", Message::binary({text.begin(), text.end()})}};
  }

  /// What a library has for a problem: it is asked on the device.
  Message library(const Message& request) {
    const DeviceInfo info = wire::device_from(request.at("device"));
    const Result<const DevicePlugin*> plugin = plugin_of(info, request);
    if (!plugin) {
      return failure(plugin.error());
    }
    const std::string wanted = request.at("library");
    for (const LibraryKernel* const library : (*plugin)->libraries()) {
      if (library->name() == wanted) {
        const Result<KernelSpec> spec = library_spec_for(*library, info, wire::problem_from(request.at("problem")));
        return spec ? spec_reply(*spec) : failure(spec.error());
      }
    }
    return failure(Error{ErrorCode::kNotFound, fmt::format("the worker has no library '{}'", wanted)});
  }

  Result<const DevicePlugin*> plugin_of(const DeviceInfo& info, const Message& request) {
    if (const std::string file = request.at("plugin"); !file.empty()) {
      HONE_TRY(load_plugin(registry_, file));
    }
    for (const auto& plugin : registry_.devices()) {
      if (plugin->name() == info.plugin) {
        return plugin.get();
      }
    }
    return Error{ErrorCode::kNotFound, fmt::format("the worker has no device plugin '{}'", info.plugin)};
  }

  Result<void> setup(const Message& request) {
    const DeviceInfo info = wire::device_from(request.at("device"));
    HONE_ASSIGN(const DevicePlugin* const plugin, plugin_of(info, request));
    if (request.at("measure")) {
      std::unique_ptr<Device> open = device_ && device_->info().id == info.id ? std::move(device_) : nullptr;
      HONE_ASSIGN(measuring_, MeasuringWorker::create(channel_, *plugin, info, request, std::move(open)));
    } else {
      limit_this_process(kCompilerMemory);
      HONE_ASSIGN(compiling_, CompilingWorker::create(*plugin, info, request));
    }
    return {};
  }

  /// What was measured is over, and another tuner may come: the device stays open.
  void reset() {
    if (measuring_) {
      device_ = std::move(*measuring_).release_device();
      measuring_.reset();
    }
  }

  WorkerChannel channel_;
  Registry registry_;
  std::unique_ptr<Device> device_;  ///< between two who measure
  std::unique_ptr<MeasuringWorker> measuring_;
  std::unique_ptr<CompilingWorker> compiling_;
  std::unique_ptr<PluginWorker> plugin_;
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
