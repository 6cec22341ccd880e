// Tuning what an application misses, as it sees it: through hone::Engine, on the cpu device.
#include <doctest/doctest.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/tune/session.hpp"
#include "hone/engine.hpp"

namespace hone {
namespace {

class MissFixture {
 public:
  MissFixture() {
    std::string folder = (std::filesystem::temp_directory_path() / "hone_misses_XXXXXX").string();
    folder_ = mkdtemp(folder.data());
  }
  ~MissFixture() { std::filesystem::remove_all(folder_); }
  MissFixture(const MissFixture&) = delete;
  MissFixture& operator=(const MissFixture&) = delete;

  [[nodiscard]] std::filesystem::path path() const { return folder_ / "S.db"; }

  [[nodiscard]] Engine engine(const char* budget) const {
    return Engine::open({.store = path(), .device = "cpu", .background_tuning = BackgroundTuning{.budget = parse_budget(budget).value()}})
        .value();
  }

  /// As they will be in two days.
  void age_sessions() const {
    sqlite3* database = nullptr;
    REQUIRE(sqlite3_open(path().c_str(), &database) == SQLITE_OK);
    CHECK(sqlite3_exec(database, "UPDATE session SET updated_at = strftime('%Y-%m-%dT%H:%M:%S.000Z', 'now', '-2 days')", nullptr, nullptr,
                       nullptr) == SQLITE_OK);
    sqlite3_close(database);
  }

  [[nodiscard]] std::vector<SessionInfo> sessions() const { return open_store(path(), StoreMode::kReadOnly).value()->sessions().value(); }

 private:
  std::filesystem::path folder_;
};

Kernel copy_of(Engine& engine, std::int64_t n) { return engine.kernel("copy", DType::kF32, {{"n", n}}).value(); }

/// Polls: what a test waits for takes as long as it takes, and one that never comes is ctest's time-out.
template <class Condition>
void wait_for(const Condition& condition) {
  while (!condition()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

bool copies(Engine& engine, const Kernel& copy, std::size_t n) {
  const std::vector<float> input(n, 2.5F);
  std::vector<float> output(n, 0.0F);
  const auto x = engine.memory().allocate(n * sizeof(float)).value();
  const auto y = engine.memory().allocate(n * sizeof(float)).value();
  REQUIRE(engine.memory().upload(x->address(), std::as_bytes(std::span(input))).ok());
  REQUIRE(copy.launch(nullptr, static_cast<const float*>(x->address()), static_cast<float*>(y->address())).ok());
  REQUIRE(engine.memory().download(std::as_writable_bytes(std::span(output)), y->address()).ok());
  return output == input;
}

}  // namespace

TEST_CASE("a miss is answered by a stand-in, tuned meanwhile, and then by the winner") {
  const MissFixture fixture;
  Engine engine = fixture.engine("2trials");
  const Kernel stand_in = copy_of(engine, 1000);
  CHECK(stand_in.source() == Source::kDefault);
  CHECK(copies(engine, stand_in, 1000));
  wait_for([&] { return stand_in.superseded(); });
  const Kernel winner = copy_of(engine, 1000);
  CHECK(winner.source() == Source::kExact);
  CHECK_FALSE(winner.superseded());
  CHECK(copies(engine, winner, 1000));
  CHECK(copies(engine, stand_in, 1000));  // a handle that was not exchanged goes on
  wait_for([&] { return engine.background_report().waiting == 0; });
  CHECK(engine.background_report().tuned == 1);
  CHECK(engine.background_report().failures.empty());
}

TEST_CASE("a bound kernel's lookups return the winner once there is one, and tuning ends with the engine") {
  const MissFixture fixture;
  std::optional<Engine> engine = fixture.engine("2trials");
  const BoundKernel copy = engine->bind("copy", DType::kF32, {"n"}).value();
  CHECK((*copy(1000))->source() == Source::kDefault);
  wait_for([&] { return (*copy(1000))->source() == Source::kExact; });
  CHECK(copies(*engine, **copy(1000), 1000));
  engine.reset();
  CHECK((*copy(3000))->source() == Source::kNearest);
  CHECK((*copy(1000))->source() == Source::kExact);
}

TEST_CASE("the nearest record stands in while another shape is tuned") {
  const MissFixture fixture;
  {
    Engine engine = fixture.engine("1trials");
    const Kernel first = copy_of(engine, 1000);
    wait_for([&] { return first.superseded(); });
  }
  Engine engine = fixture.engine("1trials");
  CHECK(copy_of(engine, 1000).source() == Source::kExact);
  CHECK(engine.background_report().waiting == 0);
  const Kernel other = copy_of(engine, 2000);
  CHECK(other.source() == Source::kNearest);
  wait_for([&] { return other.superseded(); });
  CHECK(copy_of(engine, 2000).source() == Source::kExact);
}

TEST_CASE("an engine that goes away stops the session under way, and the next one goes on with it") {
  const MissFixture fixture;
  {
    Engine engine = fixture.engine("1h");  // were it not stopped, this test would never end
    copy_of(engine, 1000);
    wait_for([&] {
      const std::vector<SessionInfo> all = fixture.sessions();
      return !all.empty() && all.front().trials > 0;
    });
  }
  const std::vector<SessionInfo> stopped = fixture.sessions();
  REQUIRE(stopped.size() == 1);
  CHECK(stopped[0].state == SessionState::kRunning);
  CHECK_FALSE(stopped[0].owner_alive);
  Engine engine = fixture.engine("1trials");
  const Kernel again = copy_of(engine, 1000);
  wait_for([&] { return again.superseded(); });
  const std::vector<SessionInfo> resumed = fixture.sessions();
  REQUIRE(resumed.size() == 1);
  CHECK(resumed[0].state == SessionState::kDone);
}

TEST_CASE("background tuning has a device of its own, whose records the application's serves") {
  setenv("HONE_CPU_DEVICES", "2", 1);
  const MissFixture fixture;
  const auto open = [&](const char* device) {
    const BackgroundTuning tuning{.budget = parse_budget("2trials").value(), .device = device};
    return Engine::open({.store = fixture.path(), .device = "cpu:0", .background_tuning = tuning});
  };
  {
    Engine engine = open("cpu:1").value();
    const Kernel stand_in = copy_of(engine, 1000);
    wait_for([&] { return stand_in.superseded(); });
    CHECK(copy_of(engine, 1000).source() == Source::kExact);
    CHECK(engine.device_info().id == "cpu:0");
  }
  REQUIRE(fixture.sessions().size() == 1);
  CHECK(fixture.sessions().front().device_id == "cpu:1");
  const auto other = open("replay");
  REQUIRE_FALSE(other.ok());
  CHECK(other.error().message.find("give a device of the same product") != std::string::npos);
  CHECK_FALSE(open("cpu:7").ok());
  unsetenv("HONE_CPU_DEVICES");
}

TEST_CASE("an engine that goes away before its first trial stops as well") {
  const MissFixture fixture;
  Engine engine = fixture.engine("1h");
  for (const std::int64_t n : {100, 200, 300}) {
    copy_of(engine, n);
  }
  CHECK(engine.background_report().waiting == 3);
}

TEST_CASE("what another engine is tuning is waited for, not tuned twice") {
  const MissFixture fixture;
  Engine first = fixture.engine("2trials");
  const Kernel here = copy_of(first, 1000);
  wait_for([&] { return !fixture.sessions().empty(); });
  Engine second = fixture.engine("2trials");
  const Kernel there = copy_of(second, 1000);
  wait_for([&] { return here.superseded() && (there.superseded() || there.source() == Source::kExact); });
  CHECK(copy_of(second, 1000).source() == Source::kExact);
  CHECK(fixture.sessions().size() == 1);
}

TEST_CASE("a problem that cannot be tuned is reported once, and its stand-in stays") {
  const MissFixture fixture;
  Engine engine = fixture.engine("2trials");
  KernelSpec broken = **find_builtin_kernel("copy");
  broken.name = "broken";
  broken.source_hash = "another";
  broken.cost.sum_length = Expression::variable("p.nothing");  // validation asks for it, a launch does not
  REQUIRE(engine.add_kernel_spec(broken.serialize()).ok());
  const Kernel stand_in = engine.kernel("broken", DType::kF32, {{"n", 1000}}).value();
  CHECK(copies(engine, stand_in, 1000));
  wait_for([&] { return engine.background_report().waiting == 0; });
  REQUIRE(engine.background_report().failures.size() == 1);
  CHECK(engine.background_report().failures[0].find("broken f32 n=1000: ") == 0);
  CHECK_FALSE(stand_in.superseded());
  CHECK(engine.kernel("broken", DType::kF32, {{"n", 1000}}).value().source() == Source::kDefault);
  CHECK(engine.background_report().waiting == 0);
}

TEST_CASE("a kernel of which nothing was right is not tried again by each process that misses it") {
  const MissFixture fixture;
  KernelSpec broken = **find_builtin_kernel("copy");
  broken.name = "broken";
  broken.source_hash = "another";
  const std::string right = "y[i] = (double)(float)x[i]";  // of the reference
  REQUIRE(broken.source.find(right) != std::string::npos);
  broken.source.replace(broken.source.find(right), right.size(), "y[i] = 1e6");
  const auto failure = [&] {
    Engine engine = fixture.engine("2trials");
    REQUIRE(engine.add_kernel_spec(broken.serialize()).ok());
    REQUIRE(engine.kernel("broken", DType::kF32, {{"n", 1000}}).ok());
    wait_for([&] { return engine.background_report().waiting == 0; });
    REQUIRE(engine.background_report().failures.size() == 1);
    return engine.background_report().failures[0];
  };
  failure();
  REQUIRE(fixture.sessions().size() == 1);
  CHECK(failure().find("session 1 found no configuration right") != std::string::npos);
  CHECK(fixture.sessions().size() == 1);
  fixture.age_sessions();
  failure();
  CHECK(fixture.sessions().size() == 2);
}

TEST_CASE("nothing is tuned unless asked for") {
  const MissFixture fixture;
  Engine engine = Engine::open({.store = fixture.path(), .device = "cpu"}).value();
  copy_of(engine, 1000);
  CHECK(engine.background_report().waiting == 0);
  CHECK_FALSE(std::filesystem::exists(fixture.path()));
}

TEST_CASE("tuning misses into a store that cannot be made is refused at once") {
  const MissFixture fixture;
  CHECK_FALSE(Engine::open({.store = "/proc/none/S.db", .device = "cpu", .background_tuning = BackgroundTuning{}}).ok());
}

TEST_CASE("an operation that was missed is tuned as one, over its kernels") {
  const MissFixture fixture;
  Engine engine = fixture.engine("4trials");
  const auto ask = [&] { return engine.kernel("matmul", DType::kF32, {{"m", 1}, {"n", 33}, {"k", 20}}).value(); };
  const Kernel stand_in = ask();
  CHECK(stand_in.source() == Source::kDefault);
  CHECK(stand_in.implementation() == "gemv");
  wait_for([&] { return stand_in.superseded(); });
  CHECK(ask().source() == Source::kExact);
  const std::vector<SessionInfo> sessions = fixture.sessions();
  REQUIRE(sessions.size() == 2);
  for (const SessionInfo& session : sessions) {
    CHECK(operation_of(session) == "matmul");
  }
}

}  // namespace hone
