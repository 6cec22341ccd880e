#include "cli/event_log.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <sstream>
#include <thread>
#include <vector>

#include "engine/tune/session.hpp"
#include "tests/cli/command.hpp"

namespace hone::cli {
namespace {

std::unique_ptr<EventLog> opened(const std::string& file) {
  auto log = EventLog::open(file, "tune");
  REQUIRE_MESSAGE(log.ok(), log.error().message);
  return *std::move(log);
}

std::vector<Json> lines_of(const std::string& file) {
  std::istringstream text(test::contents(file));
  std::vector<Json> lines;
  for (std::string line; std::getline(text, line);) {
    lines.push_back(Json::parse(line));
  }
  return lines;
}

/// What a session of one device tells.
struct Session {
  TuneRequest request;
  Trial trial;
  Session() {
    request.spec.name = "copy";
    request.problem.shape = {{"n", 1024}};
    request.device.info.id = "cuda:0";
    Parameter parameter;
    parameter.name = "block";
    parameter.values = {Value(std::int64_t{64}), Value(std::int64_t{128})};
    request.spec.parameters = {parameter};
    trial.configuration.values = {Value(std::int64_t{128})};
    trial.position = 1;
    trial.measurement.median_us = 12.5;
  }
  [[nodiscard]] SessionEvent event(SessionEvent::Step step) const {
    return {.step = step,
            .request = request,
            .session = 7,
            .elapsed_seconds = 1.5,
            .pipeline = {},
            .busy_seconds = 0.0,
            .default_us = 20.0,
            .best_us = 12.5,
            .trial = &trial};
  }
};

}  // namespace

TEST_CASE("each line is an object with time, level, event and whose it is, and lines are added") {
  const test::TemporaryDirectory directory;
  const std::string file = directory / "log";
  opened(file)->write(LogLevel::kInfo, "run_began", {{"version", "1"}});
  opened(file)->write(LogLevel::kError, "run_failed", {{"detail", "two\nlines \xff"}});
  const std::vector<Json> lines = lines_of(file);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0]["level"] == "info");
  CHECK(lines[0]["event"] == "run_began");
  CHECK(lines[0]["verb"] == "tune");
  CHECK(lines[0]["version"] == "1");
  CHECK(lines[0]["process"] == ::getpid());
  CHECK(!lines[0]["host"].get<std::string>().empty());
  const auto time = lines[0]["time"].get<std::string>();  // 2026-11-25T22:30:00.123Z
  CHECK(time.size() == 24);
  CHECK(time[10] == 'T');
  CHECK(time[19] == '.');
  CHECK(time.back() == 'Z');
  CHECK(lines[1]["level"] == "error");
  CHECK(lines[1]["detail"] == "two\nlines \uFFFD");
}

TEST_CASE("a trial's line says which configuration it was, where it ran and what came of it") {
  const test::TemporaryDirectory directory;
  const std::string file = directory / "log";
  Session session;
  const auto log = opened(file);
  log->write(session.event(SessionEvent::Step::kTrial));
  session.trial.outcome = Outcome::kWrongResult;
  session.trial.detail = "y[3]";
  log->write(session.event(SessionEvent::Step::kTrial));
  const std::vector<Json> lines = lines_of(file);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0]["event"] == "trial");
  CHECK(lines[0]["session"] == 7);
  CHECK(lines[0]["kernel"] == "copy");
  CHECK(lines[0]["shape"]["n"] == 1024);
  CHECK(lines[0]["device"] == "cuda:0");
  CHECK(lines[0]["position"] == 1);
  CHECK(lines[0]["config"]["block"] == 128);
  CHECK(lines[0]["outcome"] == "ok");
  CHECK(lines[0]["time_us"] == 12.5);
  CHECK(lines[0]["best_us"] == 12.5);
  CHECK(lines[0]["elapsed_seconds"] == 1.5);
  CHECK(lines[0]["level"] == "info");
  CHECK(lines[1]["level"] == "warning");
  CHECK(lines[1]["outcome"] == "wrong_result");
  CHECK(lines[1]["detail"] == "y[3]");
  CHECK(lines[1]["time_us"].is_null());
}

TEST_CASE("of several devices a trial names its own; what came to none names none, and a device that left says why") {
  const test::TemporaryDirectory directory;
  const std::string file = directory / "log";
  Session session;
  session.request.more_devices = {session.request.device.info};
  session.request.more_devices[0].id = "cuda:1";
  const auto log = opened(file);
  log->write(session.event(SessionEvent::Step::kBegan));
  log->write(session.event(SessionEvent::Step::kTrial));
  session.trial.device = "cuda:1";
  log->write(session.event(SessionEvent::Step::kTrial));
  const Control control{.device = "cuda:1", .measurement = {}, .readings = {}, .factor = 1.0, .left = "too slow"};
  SessionEvent left = session.event(SessionEvent::Step::kControl);
  left.control = &control;
  log->write(left);
  const std::vector<Json> lines = lines_of(file);
  REQUIRE(lines.size() == 4);
  CHECK(lines[0]["event"] == "session_began");
  CHECK(lines[0]["device"] == "cuda:0,cuda:1");
  CHECK(lines[1]["device"].is_null());
  CHECK(lines[2]["device"] == "cuda:1");
  CHECK(lines[3]["event"] == "device_left");
  CHECK(lines[3]["level"] == "warning");
  CHECK(lines[3]["device"] == "cuda:1");
  CHECK(lines[3]["reason"] == "too slow");
}

TEST_CASE("lines of several writers stay whole") {
  const test::TemporaryDirectory directory;
  const std::string file = directory / "log";
  {
    std::vector<std::jthread> writers;
    for (int i = 0; i < 4; ++i) {
      writers.emplace_back([&file] {
        const auto log = opened(file);
        for (int line = 0; line < 200; ++line) {
          log->write(LogLevel::kInfo, "x", {{"long", std::string(3000, 'x')}});
        }
      });
    }
  }
  CHECK(lines_of(file).size() == 800);
}

TEST_CASE("a file that cannot be opened is an error; lines that are lost are told") {
  const auto none = EventLog::open("/nowhere/log", "tune");
  REQUIRE(!none);
  CHECK(none.error().message.find("/nowhere/log") != std::string::npos);
  const auto full = opened("/dev/full");
  CHECK_FALSE(full->trouble());
  full->write(LogLevel::kInfo, "x", Json::object());
  full->write(LogLevel::kInfo, "x", Json::object());
  REQUIRE(full->trouble());
  CHECK(full->trouble()->find("2 lines") != std::string::npos);
}

}  // namespace hone::cli
