#include "engine/replay/recorded_space.hpp"

#include <doctest/doctest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "engine/measure/measure.hpp"
#include "engine/plugin/registry.hpp"
#include "tests/skip.hpp"

namespace hone {
std::unique_ptr<DevicePlugin> make_replay_device();
}

namespace {

using namespace hone;
namespace fs = std::filesystem;

/// A folder that is gone with its test.
class Scratch {
 public:
  Scratch() : folder_(fs::temp_directory_path() / ("hone_replay_test_" + std::to_string(::getpid()))) { fs::create_directories(folder_); }
  ~Scratch() { fs::remove_all(folder_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  [[nodiscard]] fs::path write_compressed(const std::string& name, const std::string& text) const {
    const fs::path file = folder_ / name;
    const gzFile stream = gzopen(file.c_str(), "wb");
    gzwrite(stream, text.data(), static_cast<unsigned>(text.size()));
    gzclose(stream);
    return file;
  }
  [[nodiscard]] fs::path path(const std::string& name) const { return folder_ / name; }

 private:
  fs::path folder_;
};

constexpr const char* kCacheHead = R"({
"device_name": "Some GPU", "kernel_name": "k", "tune_params_keys": ["block", "layout", "fast"],
"tune_params": {"fast": [false, true], "block": [64, 32], "layout": ["row", "column"]},
"cache": {
)";
constexpr const char* kCacheRecords =
    R"("32,row,False": {"block": 32, "layout": "row", "fast": false, "time": 2.0, "times": [1.5, 3.0, 2.0], "compile_time": 500, "verification_time": 40, "benchmark_time": 30, "framework_time": 2, "strategy_time": 9},
"64,row,False": {"block": 64, "layout": "row", "fast": false, "time": "CompilationFailedConfig", "compile_time": 250},
"64,column,True": {"block": 64, "layout": "column", "fast": true, "time": "RuntimeFailedConfig"},
"32,column,True": {"block": 32, "layout": "column", "fast": true, "time": 1.25})";

std::string cache() { return std::string(kCacheHead) + kCacheRecords + "}\n}"; }

const RecordedTrial& trial(const RecordedSpace& recorded, const std::string& configuration) {
  const auto parsed = parse_configuration(recorded.space().parameters(), configuration);
  REQUIRE(parsed.ok());
  const auto position = recorded.space().index(*parsed);
  REQUIRE(position.has_value());
  return *recorded.find(*position);
}

void check_cache(const RecordedSpace& recorded) {
  CHECK(text(recorded.space().size()) == "4");
  CHECK(text(recorded.space().cartesian()) == "8");
  CHECK(recorded.device_name() == "Some GPU");
  CHECK(recorded.space().parameters()[1].kind == ParameterKind::kEnumeration);
  CHECK(recorded.space().parameters()[1].labels == std::vector<std::string>{"row", "column"});
  CHECK(recorded.best_us() == doctest::Approx(1250.0));
  CHECK(recorded.best_time_us() == doctest::Approx(1250.0));
  const RecordedTrial& timed = trial(recorded, "block=32,layout=row,fast=false");
  CHECK(timed.outcome == Outcome::kOk);
  CHECK(timed.samples_us == std::vector{1500.0, 3000.0, 2000.0});
  CHECK(timed.time_us == 2000.0);
  CHECK(timed.seconds.compile == doctest::Approx(0.5));
  CHECK(timed.seconds.validate == doctest::Approx(0.04));
  CHECK(timed.seconds.time == doctest::Approx(0.03));
  CHECK(timed.seconds.overhead == doctest::Approx(0.002));
  CHECK(trial(recorded, "block=32,layout=column,fast=true").samples_us == std::vector{1250.0});
  const RecordedTrial& rejected = trial(recorded, "block=64,layout=row,fast=false");
  CHECK(rejected.outcome == Outcome::kCompileError);
  CHECK(rejected.detail == "CompilationFailedConfig");
  CHECK(rejected.samples_us.empty());
  CHECK(trial(recorded, "block=64,layout=column,fast=true").outcome == Outcome::kLaunchFailure);
}

}  // namespace

TEST_CASE("A Kernel Tuner cache is read, plain and compressed") {
  const Scratch scratch;
  for (const fs::path& file : {scratch.write("k.GPU.json", cache()), scratch.write_compressed("k.GPU.json.gz", cache())}) {
    CAPTURE(file.string());
    const auto recorded = RecordedSpace::load(file);
    REQUIRE_MESSAGE(recorded.ok(), (recorded.ok() ? "" : recorded.error().message));
    CHECK(recorded->name() == "k.GPU");
    check_cache(*recorded);
  }
}

TEST_CASE("Values that stand only in the key of a record are read from there") {
  const std::string head(kCacheHead);
  const auto recorded = RecordedSpace::parse(head + R"("32,row,False": {"time": 2.0}, "64,column,True": {"time": 3.0}}})", "k.json");
  REQUIRE_MESSAGE(recorded.ok(), (recorded.ok() ? "" : recorded.error().message));
  CHECK(trial(*recorded, "block=32,layout=row,fast=false").time_us == 2000.0);
  CHECK(trial(*recorded, "block=64,layout=column,fast=true").time_us == 3000.0);
  for (const char* key : {"32,row", "32,row,False,4", "48,row,False", "run 1"}) {
    CAPTURE(key);
    const auto refused = RecordedSpace::parse(head + '"' + key + R"(": {"time": 2.0}}})", "k.json");
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().message.find(key) != std::string::npos);
  }
}

TEST_CASE("What was recorded for another objective is read by that, or refused") {
  const auto read = [](const std::string& objective) {
    std::string text = cache();
    text.insert(1, objective);
    for (const auto& [time, rate] : {std::pair{"\"time\": 2.0,", "\"GFLOP/s\": 400.0, \"energy\": 5.0,"},
                                     {"\"time\": 1.25", "\"GFLOP/s\": 100.0, \"energy\": 8.0,"}}) {
      text.insert(text.find(time), rate);
    }
    return RecordedSpace::parse(text, "k.json");
  };
  const auto rate = read(R"("objective": "GFLOP/s",)");
  REQUIRE_MESSAGE(rate.ok(), (rate.ok() ? "" : rate.error().message));
  const double more = trial(*rate, "block=32,layout=row,fast=false").time_us,
               less = trial(*rate, "block=32,layout=column,fast=true").time_us;
  CHECK(less / more == doctest::Approx(4.0));  // although it took less time
  CHECK(trial(*rate, "block=64,layout=row,fast=false").outcome == Outcome::kCompileError);
  const auto energy = read(R"("objective": "energy",)");
  REQUIRE(energy.ok());
  CHECK(trial(*energy, "block=32,layout=row,fast=false").time_us == 5.0);
  const auto unknown = read(R"("objective": "fitness",)");
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().message.find("fitness") != std::string::npos);
  CHECK_FALSE(read(R"("objective": "fitness", "objective_higher_is_better": true,)")->best_time_us() < 1e300);  // no record has one
}

TEST_CASE("A cache without its last braces is read whole") {
  const Scratch scratch;
  for (const char* end : {"", ",", "}", ",\n"}) {
    CAPTURE(end);
    const auto recorded = RecordedSpace::load(scratch.write("cut.json", std::string(kCacheHead) + kCacheRecords + end));
    REQUIRE(recorded.ok());
    check_cache(*recorded);
  }
}

TEST_CASE("A cache cut off within a record loses that record alone") {
  const Scratch scratch;
  const auto recorded =
      RecordedSpace::load(scratch.write("cut.json", std::string(kCacheHead) + kCacheRecords + R"(, "32,row,True": {"block": 32, "lay)"));
  REQUIRE(recorded.ok());
  check_cache(*recorded);
}

TEST_CASE("A T4 file is read; its values are those that occur") {
  const Scratch scratch;
  const auto recorded = RecordedSpace::load(scratch.write("k.GPU.T4.json", R"({"metadata": {"timeunit": "miliseconds"}, "results": [
    {"configuration": {"block": 64, "vec": 2}, "times": {"compilation": 1000, "framework": 3, "validation": 4, "runtimes": [0.5, 0.25]},
     "invalidity": "correct", "measurements": [{"name": "time", "value": 0.375, "unit": ""}]},
    {"configuration": {"block": 32, "vec": 4}, "times": {"compilation": 10}, "invalidity": "timeout", "measurements": [{"name": "time", "value": "Timeout"}]},
    {"configuration": {"block": 32, "vec": 1}, "times": {"compilation": 10}, "invalidity": "correctness", "measurements": []}]})"));
  REQUIRE_MESSAGE(recorded.ok(), (recorded.ok() ? "" : recorded.error().message));
  CHECK(text(recorded->space().size()) == "3");
  CHECK(recorded->space().parameters()[0].values == std::vector<Value>{Value(32), Value(64)});
  const RecordedTrial& timed = trial(*recorded, "block=64,vec=2");
  CHECK(timed.samples_us == std::vector{500.0, 250.0});
  CHECK(timed.seconds.compile == doctest::Approx(1.0));
  CHECK(timed.seconds.time == doctest::Approx(0.00075));
  CHECK(recorded->best_us() == doctest::Approx(375.0));
  CHECK(trial(*recorded, "block=32,vec=4").outcome == Outcome::kTimeout);
  CHECK(trial(*recorded, "block=32,vec=1").outcome == Outcome::kWrongResult);
  CHECK(recorded->find(3) == nullptr);
}

TEST_CASE("A file that is missing or is something else is an error that names it") {
  const Scratch scratch;
  const auto missing = RecordedSpace::load(scratch.path("none.json"));
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().code == ErrorCode::kNotFound);
  for (const char* other : {"", "[1, 2]", "{\"a\": 1}", "not json", "{\"results\": 3}", "{\"results\": []}"}) {
    CAPTURE(other);
    const auto recorded = RecordedSpace::load(scratch.write("other.json", other));
    REQUIRE_FALSE(recorded.ok());
    CHECK(recorded.error().message.find("other.json") != std::string::npos);
  }
}

TEST_CASE("A result without parameters before one with some is an error") {
  const auto recorded = RecordedSpace::parse(R"({"results": [{"configuration": {}}, {"configuration": {"block": 32}}]})", "k.json");
  REQUIRE_FALSE(recorded.ok());
  CHECK(recorded.error().message == "recorded space 'k.json': a result has no configuration");
}

TEST_CASE("Numbers that fit nothing and values nested without end are taken or refused, not trusted") {
  std::string records = kCacheRecords;
  records.insert(records.find("\"compile_time\": 500"), "\"registers\": 1e300, \"shared_bytes\": -1e300, ");
  const auto recorded = RecordedSpace::parse(std::string(kCacheHead) + records + "}\n}", "k.json");
  REQUIRE_MESSAGE(recorded.ok(), recorded.error().message);
  CHECK(recorded->find(0) != nullptr);
  const std::string deep(100'000, '[');
  const auto refused = RecordedSpace::parse(std::string(kCacheHead) + "\"x\": {\"block\": " + deep, "k.json");
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message == "recorded space 'k.json': nested more deeply than 100 levels");
}

TEST_CASE("Recorded spaces of real GPUs are read whole") {
  // The community's, which are not ours to copy.
  const char* const given = std::getenv("HONE_SPACES");
  if (given == nullptr) {
    hone::tests::skip("spaces", "HONE_SPACES names no folder with the community's recorded spaces");
    return;
  }
  const fs::path folder = given;
  const auto cached = RecordedSpace::load(folder / "convolution10p.A100.json.gz");
  const auto t4 = RecordedSpace::load(folder / "convolution10p.A100.T4.json.gz");
  REQUIRE(cached.ok());
  REQUIRE(t4.ok());
  CHECK(text(cached->space().size()) == "4362");
  CHECK(text(t4->space().size()) == "4362");
  CHECK(t4->best_us() == doctest::Approx(cached->best_us()));
  std::size_t failures = 0;
  for (Count i = 0; i < cached->space().size(); ++i) {
    failures += cached->find(i)->outcome == Outcome::kOk ? 0 : 1;
    const auto same = t4->space().index(cached->space().at(i));
    REQUIRE(same.has_value());
    CHECK(t4->find(*same)->outcome == cached->find(i)->outcome);
  }
  CHECK(failures == 161);
}

TEST_CASE("Trials that are written are read back: outcomes, samples, costs, resources and the default") {
  const Scratch scratch;
  Parameter block, fast, layout;
  block.name = "block";
  block.values = {32, 64};
  block.default_value = 32;
  fast.name = "fast";
  fast.kind = ParameterKind::kBoolean;
  fast.values = {false, true};
  fast.default_value = true;
  layout.name = "layout";
  layout.kind = ParameterKind::kEnumeration;
  layout.values = {0, 1};
  layout.labels = {"row", "column"};
  layout.default_value = 0;
  Trial right, slow, wrong;
  right.configuration.values = {32, true, 1};
  right.measurement.samples_us = {3.0, 1.5, 2.0};
  right.measurement.median_us = 2.0;
  right.seconds = {.compile = 0.5, .validate = 0.25, .time = 0.125, .overhead = 0.0625};
  right.resources = {.registers = 40, .spill_bytes = 8, .stack_bytes = 16, .shared_bytes = 4096, .occupancy = 0.75};
  slow.configuration.values = {64, true, 1};
  slow.outcome = Outcome::kCompileTimeout;
  wrong.configuration.values = {32, false, 0};
  wrong.outcome = Outcome::kRace;
  const RecordedSubject subject{.kernel = "k",
                                .source_hash = "1",
                                .device_name = "Some GPU",
                                .problem = {DType::kBF16, {{"n", 7}}},
                                .parameters = {block, fast, layout}};
  for (const char* name : {"k.json", "k.json.gz"}) {
    REQUIRE(write_recorded_space(scratch.path(name), subject, {right, slow, wrong}).ok());
    const auto recorded = RecordedSpace::load(scratch.path(name));
    REQUIRE_MESSAGE(recorded.ok(), recorded.error().message);
    CHECK(recorded->device_name() == "Some GPU");
    CHECK(recorded->space().size() == 3);
    CHECK(trial(*recorded, "block=64,fast=true,layout=column").outcome == Outcome::kCompileTimeout);
    CHECK(trial(*recorded, "block=32,fast=false,layout=row").outcome == Outcome::kRace);
    const RecordedTrial& read = trial(*recorded, "block=32,fast=true,layout=column");
    CHECK(read.outcome == Outcome::kOk);
    REQUIRE(read.samples_us.size() == 3);
    CHECK(read.samples_us[0] == doctest::Approx(3.0));
    CHECK(read.time_us == doctest::Approx(2.0));
    CHECK(read.seconds.compile == doctest::Approx(0.5));
    CHECK(read.seconds.overhead == doctest::Approx(0.0625));
    CHECK(read.resources.registers == 40);
    CHECK(read.resources.shared_bytes == 4096);
    CHECK(read.resources.occupancy == doctest::Approx(0.75));
    CHECK(recorded->space().parameters()[0].default_value == Value(32));
    CHECK(recorded->space().parameters()[1].default_value == Value(true));
    CHECK(recorded->space().parameters()[2].default_value == Value(0));
  }
  std::ifstream compressed(scratch.path("k.json.gz"), std::ios::binary);
  CHECK(compressed.get() == 0x1f);
  CHECK(write_recorded_space(scratch.path("none.json"), subject, {}).error().code == ErrorCode::kInvalidArgument);
  CHECK(write_recorded_space(scratch.path("no folder/k.json"), subject, {right}).error().code == ErrorCode::kIo);
}

TEST_CASE("What was too slow is read back with its time, and no other reader takes it for right") {
  const Scratch scratch;
  Parameter block;
  block.name = "block";
  block.values = {32, 64};
  block.default_value = 32;
  Trial right, slow;
  right.configuration.values = {32};
  right.measurement = summarize({4.0});
  slow.configuration.values = {64};
  slow.outcome = Outcome::kTooSlow;
  slow.measurement = summarize({2.5});
  const RecordedSubject subject{
      .kernel = "k", .source_hash = "1", .device_name = "GPU", .problem = {DType::kF32, {}}, .parameters = {block}};
  REQUIRE(write_recorded_space(scratch.path("k.json"), subject, {right, slow}).ok());
  const auto recorded = RecordedSpace::load(scratch.path("k.json"));
  REQUIRE(recorded.ok());
  const RecordedTrial& read = trial(*recorded, "block=64");
  CHECK(read.outcome == Outcome::kTooSlow);
  CHECK(read.time_us == doctest::Approx(2.5));
  REQUIRE(read.samples_us.size() == 1);
  CHECK(recorded->best_us() == doctest::Approx(4.0));
  CHECK(recorded->best_time_us() == doctest::Approx(4.0));
  std::ifstream file(scratch.path("k.json"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  CHECK(text.find(R"("time":"too_slow")") != std::string::npos);
}

TEST_CASE("A parameter that is called like something that is recorded of trials keeps its values") {
  const Scratch scratch;
  Parameter registers, time;
  registers.name = "registers";
  registers.values = {0, 32};
  registers.default_value = 0;
  time.name = "time";
  time.values = {1, 2};
  time.default_value = 1;
  Trial first, second;
  first.configuration.values = {0, 2};
  first.measurement = summarize({4.0});
  first.resources.registers = 40;
  second.configuration.values = {32, 2};
  second.measurement = summarize({3.0});
  second.resources.registers = 32;
  const RecordedSubject subject{
      .kernel = "k", .source_hash = "1", .device_name = "GPU", .problem = {DType::kF32, {}}, .parameters = {registers, time}};
  REQUIRE(write_recorded_space(scratch.path("k.json"), subject, {first, second}).ok());
  const auto recorded = RecordedSpace::load(scratch.path("k.json"));
  REQUIRE_MESSAGE(recorded.ok(), recorded.error().message);
  CHECK(trial(*recorded, "registers=0,time=2").time_us == doctest::Approx(4.0));
  CHECK(trial(*recorded, "registers=32,time=2").time_us == doctest::Approx(3.0));
  CHECK(trial(*recorded, "registers=0,time=2").resources.registers == 40);
}

TEST_CASE("The replay device is there and says that it runs nothing") {
  const auto plugin = make_replay_device();
  const auto devices = plugin->enumerate();
  REQUIRE(devices.ok());
  REQUIRE(devices->size() == 1);
  CHECK(devices->front().id == "replay");
  CHECK(devices->front().properties.size() == device_property_names().size());
  const auto opened = plugin->open(devices->front());
  REQUIRE_FALSE(opened.ok());
  CHECK(opened.error().code == ErrorCode::kUnavailable);
  CHECK_FALSE(plugin->compiler(devices->front()).ok());
}
