#include "engine/tune/worker_process.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

namespace hone {
namespace {

namespace asio = boost::asio;

/// An executable shell script in place of a worker: descriptor 3 is its socket.
std::filesystem::path script(const std::string& body) {
  static int count = 0;
  const auto path = std::filesystem::temp_directory_path() / ("hone_worker_test_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
  std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
  ::chmod(path.c_str(), 0755);
  return path;
}

Result<wire::Message> converse(const std::filesystem::path& executable, double deadline) {
  asio::io_context context;
  auto process = WorkerProcess::spawn(context, executable).value();
  std::optional<Result<wire::Message>> answer;
  process->request({{"op", "testing"}}, std::chrono::duration<double>(deadline), [&](Result<wire::Message> reply) { answer = std::move(reply); });
  while (!answer) {
    context.restart();
    context.run_one();
  }
  CHECK_FALSE(process->busy());
  return std::move(*answer);
}

}  // namespace

TEST_CASE("a worker that ends is reported with its exit code") {
  const auto path = script("exit 7");
  const auto reply = converse(path, 60.0);
  std::filesystem::remove(path);
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == ErrorCode::kDevice);
  CHECK(reply.error().message == "the worker ended with exit code 7 while testing");
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
  const std::vector<std::uint8_t> bytes = wire::encode({{"stage", "taking a step"}, {"within", 0.2}});
  const auto message = script("");
  std::ofstream(message, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const auto path = script("cat " + message.string() + " >&3; sleep 1000");
  const auto reply = converse(path, 3600.0);
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

TEST_CASE("the worker executable is found beside this one") { CHECK(find_worker().ok()); }

}  // namespace hone
