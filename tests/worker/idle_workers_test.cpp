// Processes that sessions hand on.
#include "engine/worker/idle_workers.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "engine/reader/kernel_file.hpp"
#include "engine/tune/operation_session.hpp"
#include "engine/tune/session.hpp"
#include "engine/worker/worker.hpp"
#include "tests/twice_kernel.hpp"
#include "tests/worker/worker_script.hpp"

namespace hone {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using test::WorkerScript;

DeviceInfo device(const std::string& id) {
  DeviceInfo info;
  info.plugin = "made_up";
  info.id = id;
  return info;
}

/// Sessions at one shape after another that hand on their processes.
class Sessions {
 public:
  Sessions() : folder_(fs::temp_directory_path() / ("hone_sessions_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "twice.cu") << test::kTwice;
    request.spec = read_kernel_file(folder_ / "twice.cu").value();
    request.device = builtin_registry().device("cpu").value();
    request.budget = {.seconds = std::nullopt, .trials = 2};
    request.idle_workers = &idle;
    store_ = open_store(folder_ / "store.db", StoreMode::kReadWrite).value();
  }
  ~Sessions() {
    store_.reset();
    fs::remove_all(folder_);
  }
  /// All that is tried must be right.
  void run(std::int64_t n) {
    request.problem = make_problem(request.spec, DType::kF32, {{"n", n}}).value();
    const Result<TuneReport> report = tune(request, *store_, builtin_registry());
    REQUIRE_MESSAGE(report.ok(), report.error().message);
    CHECK(report->best.has_value());
    CHECK(report->outcomes == std::map<Outcome, std::int64_t>{{Outcome::kOk, 2}});
  }

  [[nodiscard]] Store& store() const { return *store_; }

  IdleWorkers idle;
  TuneRequest request;

 private:
  fs::path folder_;
  std::unique_ptr<Store> store_;
};

/// In place of a worker that is ready for another use: it ends when it is asked.
WorkerScript worn_out() {
  const std::size_t reset = wire::encode({{"op", "reset"}}).size();
  return WorkerScript("head -c " + std::to_string(reset) + " <&3 >/dev/null; head -c 1 <&3 >/dev/null");
}

}  // namespace

TEST_CASE("a process is handed on to who measures on the same device, once") {
  const WorkerScript worker("sleep 1000");
  asio::io_context mine, next;
  IdleWorkers idle;
  idle.put(worker.start(mine), worker.path(), device("gpu:0"));
  CHECK(idle.take(next, worker.path(), device("gpu:1")) == nullptr);
  CHECK(idle.take(next, fs::path("/another/worker"), device("gpu:0")) == nullptr);
  const std::unique_ptr<WorkerProcess> taken = idle.take(next, worker.path(), device("gpu:0"));
  REQUIRE(taken != nullptr);
  CHECK(taken->is_sound());
  CHECK(idle.take(next, worker.path(), device("gpu:0")) == nullptr);
}

TEST_CASE("a process that has ended meanwhile is not handed on") {
  const WorkerScript worker("head -c 1 <&3 >/dev/null");  // it ends with the first thing that it is told
  asio::io_context context;
  IdleWorkers idle;
  idle.put(worker.start(context), worker.path(), device("gpu:0"));
  while (idle.size() > 0 && idle.take(context, worker.path(), device("gpu:1")) == nullptr) {
    ::usleep(1000);
  }
  CHECK(idle.size() == 0);
}

TEST_CASE("what ran candidates itself, or under a tool, is not kept, nor is more than memory is for") {
  const WorkerScript worker("sleep 1000");
  asio::io_context context;
  IdleWorkers idle;
  DeviceInfo host = device("cpu");
  host.compile_overlaps = false;
  idle.put(worker.start(context), worker.path(), host);
  WorkerCommand watched(worker.path());
  watched.before = {worker.path().string()};
  idle.put(worker.start(context), watched, device("gpu:0"));
  CHECK(idle.size() == 0);
  for (int i = 0; i < 20; ++i) {
    idle.put(worker.start(context), worker.path(), device("gpu:0"));
  }
  CHECK(idle.size() == 10);
}

TEST_CASE("sessions one after another have the same processes, and each its own problem") {
  Sessions sessions;
  sessions.request.device.info.compile_overlaps = true;  // as of a device that is not the host's cores
  sessions.run(4096);
  CHECK(sessions.idle.size() == 1);  // none stands by where none was lost
  for (const std::int64_t n : {100, 1 << 16, 64, 5000}) {
    sessions.run(n);
  }
  CHECK(sessions.idle.size() == 1);
}

TEST_CASE("a session whose idle worker will not do takes a new one") {
  const WorkerScript worker = worn_out();
  Sessions sessions;
  sessions.request.device.info.compile_overlaps = true;
  asio::io_context context;
  const fs::path real = find_worker().value();
  sessions.idle.put(worker.start(context), real, sessions.request.device.info);
  CHECK(sessions.idle.size() == 1);
  sessions.run(4096);
  CHECK(sessions.idle.size() >= 1);  // the new one is as good as any
  while (const std::unique_ptr<WorkerProcess> left = sessions.idle.take(context, real, sessions.request.device.info)) {
    CHECK(left->called() == "hone-worker");
  }
}

TEST_CASE("a kernel of an operation whose idle worker will not do takes a new one, though it waits for its turn") {
  const WorkerScript worker = worn_out();
  Sessions sessions;
  asio::io_context context;
  const Operation matmul = find_operation("matmul").value();
  TuneRequest common = sessions.request;
  common.device.info.compile_overlaps = true;
  common.budget = {.seconds = std::nullopt, .trials = 6};
  common.problem = make_problem(*matmul.definition, DType::kF32, {{"m", 8}, {"n", 16}, {"k", 32}}).value();
  for (int i = 0; i < 4; ++i) {
    sessions.idle.put(worker.start(context), find_worker().value(), common.device.info);
  }
  const Result<OperationReport> report =
      tune(OperationRequest{.operation = &matmul, .problem = common.problem, .common = common}, sessions.store(), builtin_registry());
  REQUIRE_MESSAGE(report.ok(), report.error().message);
  CHECK(report->winner.has_value());
  CHECK(std::ranges::none_of(report->kernels, [](const KernelReport& kernel) { return kernel.part == Part::kFailed; }));
}

}  // namespace hone
