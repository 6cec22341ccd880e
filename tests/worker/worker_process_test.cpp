#include "engine/worker/worker_process.hpp"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "engine/worker/worker.hpp"
#include "hone/version.h"
#include "tests/worker/worker_script.hpp"

namespace hone {
namespace {

namespace asio = boost::asio;
using test::TemporaryFile;
using test::WorkerScript;

Result<wire::Done> converse(const WorkerScript& worker, RequestLimits limits) {
  asio::io_context context;
  auto process = worker.start(context);
  std::optional<Result<wire::Done>> answer;
  process->request<wire::Done>({{"op", "testing"}}, std::move(limits), wire::read_done,
                               [&](Result<wire::Done> reply) { answer = std::move(reply); });
  while (!answer) {
    context.restart();
    context.run_one();
  }
  CHECK_FALSE(process->busy());
  return std::move(*answer);
}

Result<wire::Done> converse(const WorkerScript& worker, double deadline) { return converse(worker, RequestLimits::all(deadline)); }

/// A file with this message, as a worker would send it.
TemporaryFile message_file(const wire::Message& message) {
  const std::vector<std::uint8_t> bytes = wire::encode(message);
  return TemporaryFile(std::string(bytes.begin(), bytes.end()));
}

}  // namespace

TEST_CASE("a worker that ends is reported with its exit code") {
  const WorkerScript worker("exit 7");
  const auto reply = converse(worker, 60.0);
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == ErrorCode::kUnavailable);
  CHECK(reply.error().message.starts_with("the worker ended with exit code 7 while testing, before its first message"));
}

TEST_CASE("a worker that crashes is reported with its signal") {
  const WorkerScript worker("kill -SEGV $$");
  const auto reply = converse(worker, 60.0);
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == ErrorCode::kDevice);
  CHECK(reply.error().message.find("killed by signal 11") != std::string::npos);
}

TEST_CASE("a worker that hangs is killed when its deadline passes") {
  const WorkerScript worker("sleep 1000");
  const auto reply = converse(worker, 0.2);
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == ErrorCode::kTimeout);
}

TEST_CASE("a worker may name a shorter deadline for what it is about to do, and what that is") {
  const TemporaryFile message = message_file({{"stage", "taking a step"}, {"within", 0.2}});
  const WorkerScript worker("cat " + message.path().string() + " >&3; sleep 1000");
  const auto reply = converse(worker, {.stage = [](const wire::Stage& stage) { return stage.within.value_or(3600.0); }});
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().message == "no answer within 0.2 s while taking a step");
}

TEST_CASE("a worker that writes nonsense is not believed") {
  const WorkerScript worker("printf 'nonsense, and more of it' >&3; sleep 1000");
  const auto reply = converse(worker, 60.0);
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().message.find("garbled") != std::string::npos);
}

TEST_CASE("a worker that reports stages without end is killed when the whole request's limit passes") {
  const TemporaryFile message = message_file({{"stage", "taking another step"}});
  const WorkerScript worker("while :; do cat " + message.path().string() + " >&3 || exit; done");
  const auto reply = converse(worker, {.stage = [](const wire::Stage&) { return 3600.0; }, .total = 0.5});
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == ErrorCode::kTimeout);
}

TEST_CASE("a reply that answers another request is not taken") {
  const TemporaryFile message = message_file({{"ready", true}, {"ticket", 12345}, {"version", HONE_VERSION}});
  const WorkerScript worker("cat " + message.path().string() + " >&3; sleep 1000");
  const auto reply = converse(worker, 60.0);
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().message.find("garbled") != std::string::npos);
}

TEST_CASE("the reference that does not end is named as what it is") {
  const TemporaryFile message = message_file({{"stage", "the reference f"}, {"kind", 1}});
  const WorkerScript worker("cat " + message.path().string() + " >&3; sleep 1000");
  const auto reply =
      converse(worker, {.stage = [](const wire::Stage& stage) { return stage.kind == wire::Stage::Kind::kReference ? 0.2 : 3600.0; }});
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().message == "the reference f did not end within 0.2 s");
}

TEST_CASE("nobody waits for a killed worker, and it is told when it is gone") {
  const WorkerScript worker("sleep 1000");
  asio::io_context context;
  auto process = worker.start(context);
  bool gone = false;
  process->kill(600.0, [&gone] { gone = true; });
  process.reset();
  context.run();
  CHECK(gone);
}

TEST_CASE("a worker of another Hone is not believed, and what belongs together is said") {
  const TemporaryFile message = message_file({{"ready", true}, {"ticket", 0}, {"version", "0.0.7"}});
  const WorkerScript worker("cat " + message.path().string() + " >&3; sleep 1000");
  const auto reply = converse(worker, 60.0);
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == ErrorCode::kUnavailable);
  CHECK(reply.error().message.find(worker.path().string() + " is of Hone 0.0.7") != std::string::npos);
}

TEST_CASE("a worker that is named and is none is an error, whatever lies elsewhere") {
  ::setenv("HONE_WORKER", "/nowhere/hone-worker", 1);
  const auto named = find_worker();
  ::unsetenv("HONE_WORKER");
  REQUIRE_FALSE(named.ok());
  CHECK(named.error().message.find("/nowhere/hone-worker") != std::string::npos);
}

TEST_CASE("a program that ends without a message is asked about, not the file that it should have read") {
  const WorkerScript worker("exit 0");
  const auto reply = converse(worker, 60.0);
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == ErrorCode::kUnavailable);
  CHECK(reply.error().message.find("is " + worker.path().string() + " a hone-worker?") != std::string::npos);
  const auto file = std::filesystem::temp_directory_path() / "hone_worker_process_test.cu";
  std::ofstream(file) << "#include <hone/kernel.h>\n";
  ::setenv("HONE_WORKER", worker.path().c_str(), 1);
  const auto read = read_kernel_file_in_worker(file, {});
  ::unsetenv("HONE_WORKER");
  std::filesystem::remove(file);
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().message.find("a hone-worker?") != std::string::npos);
  CHECK(read.error().message.find("libclang") == std::string::npos);
}

TEST_CASE("the worker executable is found beside this one") { CHECK(find_worker().ok()); }

}  // namespace hone
