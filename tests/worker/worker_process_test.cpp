#include "engine/worker/worker_process.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "engine/worker/worker.hpp"
#include "hone/version.h"

namespace hone {
namespace {

namespace asio = boost::asio;

/// An executable shell script in place of a worker: descriptor 3 is its socket.
std::filesystem::path script(const std::string& body) {
  static int count = 0;
  const auto path =
      std::filesystem::temp_directory_path() / ("hone_worker_test_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
  std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
  ::chmod(path.c_str(), 0755);
  return path;
}

Result<wire::Done> converse(const std::filesystem::path& executable, RequestLimits limits) {
  asio::io_context context;
  auto process = WorkerProcess::spawn(context, executable).value();
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

Result<wire::Done> converse(const std::filesystem::path& executable, double deadline) {
  return converse(executable, RequestLimits::all(deadline));
}

/// A file with this message, as a worker would send it.
std::filesystem::path message_file(const wire::Message& message) {
  const std::vector<std::uint8_t> bytes = wire::encode(message);
  const auto path = script("");
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return path;
}

}  // namespace

TEST_CASE("a worker that ends is reported with its exit code") {
  const auto path = script("exit 7");
  const auto reply = converse(path, 60.0);
  std::filesystem::remove(path);
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == ErrorCode::kUnavailable);
  CHECK(reply.error().message.starts_with("the worker ended with exit code 7 while testing, before its first message"));
}

TEST_CASE("a worker that crashes is reported with its signal") {
  const auto path = script("kill -SEGV $$");
  const auto reply = converse(path, 60.0);
  std::filesystem::remove(path);
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == ErrorCode::kDevice);
  CHECK(reply.error().message.find("killed by signal 11") != std::string::npos);
}

TEST_CASE("a worker that hangs is killed when its deadline passes") {
  const auto path = script("sleep 1000");
  const auto reply = converse(path, 0.2);
  std::filesystem::remove(path);
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == ErrorCode::kTimeout);
}

TEST_CASE("a worker may name a shorter deadline for what it is about to do, and what that is") {
  const auto message = message_file({{"stage", "taking a step"}, {"within", 0.2}});
  const auto path = script("cat " + message.string() + " >&3; sleep 1000");
  const auto reply = converse(path, {.stage = [](const wire::Stage& stage) { return stage.within.value_or(3600.0); }});
  std::filesystem::remove(path);
  std::filesystem::remove(message);
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().message == "no answer within 0.2 s while taking a step");
}

TEST_CASE("a worker that writes nonsense is not believed") {
  const auto path = script("printf 'nonsense, and more of it' >&3; sleep 1000");
  const auto reply = converse(path, 60.0);
  std::filesystem::remove(path);
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().message.find("garbled") != std::string::npos);
}

TEST_CASE("a worker that reports stages without end is killed when the whole request's limit passes") {
  const auto message = message_file({{"stage", "taking another step"}});
  const auto path = script("while :; do cat " + message.string() + " >&3 || exit; done");
  const auto reply = converse(path, {.stage = [](const wire::Stage&) { return 3600.0; }, .total = 0.5});
  std::filesystem::remove(path);
  std::filesystem::remove(message);
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == ErrorCode::kTimeout);
}

TEST_CASE("a reply that answers another request is not taken") {
  const auto message = message_file({{"ready", true}, {"ticket", 12345}, {"version", HONE_VERSION}});
  const auto path = script("cat " + message.string() + " >&3; sleep 1000");
  const auto reply = converse(path, 60.0);
  std::filesystem::remove(path);
  std::filesystem::remove(message);
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().message.find("garbled") != std::string::npos);
}

TEST_CASE("the reference that does not end is named as what it is") {
  const auto message = message_file({{"stage", "the reference f"}, {"kind", 1}});
  const auto path = script("cat " + message.string() + " >&3; sleep 1000");
  const auto reply =
      converse(path, {.stage = [](const wire::Stage& stage) { return stage.kind == wire::Stage::Kind::kReference ? 0.2 : 3600.0; }});
  std::filesystem::remove(path);
  std::filesystem::remove(message);
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().message == "the reference f did not end within 0.2 s");
}

TEST_CASE("nobody waits for a killed worker, and it is told when it is gone") {
  const auto path = script("sleep 1000");
  asio::io_context context;
  auto process = WorkerProcess::spawn(context, path).value();
  bool gone = false;
  process->kill(600.0, [&gone] { gone = true; });
  process.reset();
  context.run();
  std::filesystem::remove(path);
  CHECK(gone);
}

TEST_CASE("a worker of another Hone is not believed, and what belongs together is said") {
  const auto message = message_file({{"ready", true}, {"ticket", 0}, {"version", "0.0.7"}});
  const auto path = script("cat " + message.string() + " >&3; sleep 1000");
  const auto reply = converse(path, 60.0);
  std::filesystem::remove(path);
  std::filesystem::remove(message);
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == ErrorCode::kUnavailable);
  CHECK(reply.error().message.find(path.string() + " is of Hone 0.0.7") != std::string::npos);
}

TEST_CASE("a worker that is named and is none is an error, whatever lies elsewhere") {
  ::setenv("HONE_WORKER", "/nowhere/hone-worker", 1);
  const auto named = find_worker();
  ::unsetenv("HONE_WORKER");
  REQUIRE_FALSE(named.ok());
  CHECK(named.error().message.find("/nowhere/hone-worker") != std::string::npos);
}

TEST_CASE("a program that ends without a message is asked about, not the file that it should have read") {
  const auto path = script("exit 0");
  const auto reply = converse(path, 60.0);
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == ErrorCode::kUnavailable);
  CHECK(reply.error().message.find("is " + path.string() + " a hone-worker?") != std::string::npos);
  const auto file = std::filesystem::temp_directory_path() / "hone_worker_process_test.cu";
  std::ofstream(file) << "#include <hone/kernel.h>\n";
  ::setenv("HONE_WORKER", path.c_str(), 1);
  const auto read = read_kernel_file_in_worker(file, {});
  ::unsetenv("HONE_WORKER");
  std::filesystem::remove(file);
  std::filesystem::remove(path);
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().message.find("a hone-worker?") != std::string::npos);
  CHECK(read.error().message.find("libclang") == std::string::npos);
}

TEST_CASE("the worker executable is found beside this one") { CHECK(find_worker().ok()); }

}  // namespace hone
