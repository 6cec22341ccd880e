#include "engine/store/lookup.hpp"

#include <doctest/doctest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/plugin/registry.hpp"

namespace hone {
namespace {

/// softmax on the cpu device, and a store of its own.
class Fixture {
 public:
  Fixture() : path_(std::filesystem::temp_directory_path() / ("hone_lookup_" + std::to_string(::getpid()) + ".db")) {
    std::filesystem::remove(path_);
    store = open_store(path_, StoreMode::kReadWrite).value();
  }
  ~Fixture() {
    store.reset();
    std::filesystem::remove(path_);
  }

  [[nodiscard]] Problem problem(std::int64_t rows, std::int64_t cols) const {
    return make_problem(spec, DType::kF32, {{"rows", rows}, {"cols", cols}}).value();
  }

  void record(const Problem& of, const Configuration& configuration, const Purpose& purpose = {}) const {
    const RecordKey key = record_key(spec, of, device, purpose);
    const std::int64_t session = store->begin_session({key, "random", "", 0}, "1trials").value();
    Record made;
    made.configuration = configuration;
    made.configuration_text = text(spec.parameters, configuration);
    made.measurement = {.samples_us = {1.0}, .median_us = 1.0, .ci95_low_us = 1.0, .ci95_high_us = 1.0};
    made.session = session;
    made.problem = of;
    made.artifact = artifact;
    made.symbols = {"k"};
    REQUIRE(store->finish_session(session, key, made, 1.0).ok());
  }

  KernelSpec spec = *find_builtin_kernel("softmax").value();
  DeviceInfo device = builtin_registry().device("cpu").value().info;
  std::unique_ptr<Store> store;
  std::string artifact;  ///< of the records' code; empty: they have none

  /// Has the records' code look like another user's, or like another configuration's.
  void change_records(const std::string& assignment) {
    store.reset();
    sqlite3* database = nullptr;
    REQUIRE(sqlite3_open(path_.c_str(), &database) == SQLITE_OK);
    CHECK(sqlite3_exec(database, ("UPDATE record SET " + assignment).c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(database);
    store = open_store(path_, StoreMode::kReadWrite).value();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("shapes are as far apart as their factors") {
  CHECK(shape_distance({{"a", 8}, {"b", 2}}, {{"a", 8}, {"b", 2}}) == 0.0);
  CHECK(shape_distance({{"a", 8}}, {{"a", 4}}) == doctest::Approx(shape_distance({{"a", 8}}, {{"a", 16}})));
  CHECK(shape_distance({{"window", 0}, {"keys", 8}}, {{"window", 0}, {"keys", 8}}) == 0.0);  // a field may be 0
  CHECK(shape_distance({{"window", 0}, {"keys", 8}}, {{"window", 0}, {"keys", 16}}) == doctest::Approx(std::log(2.0)));
  CHECK(std::isinf(shape_distance({{"window", 0}}, {{"window", 1}})));
  CHECK(are_near({{"a", 8}, {"b", 8}}, {{"a", 4}, {"b", 16}}));
  CHECK_FALSE(are_near({{"a", 8}, {"b", 8}}, {{"a", 2}, {"b", 16}}));
  CHECK_FALSE(are_near({{"window", 0}}, {{"window", 1}}));
}

TEST_CASE("without a store the default is chosen, and it is valid") {
  const Fixture fixture;
  const Problem problem = fixture.problem(7, 13);
  const Choice choice = choose(fixture.spec, problem, fixture.device, nullptr).value();
  CHECK(choice.source == Source::kDefault);
  CHECK(valid_for(fixture.spec, problem, fixture.device, choice.configuration));
}

TEST_CASE("a record of another STATIC field is not nearest: its code is other code") {
  Fixture fixture;
  fixture.spec.problem[1].initializer = Initializer{};  // cols
  const Configuration standard = default_configuration(fixture.spec);
  fixture.record(fixture.problem(512, 1024), standard);
  fixture.record(fixture.problem(1, 512), standard);
  const auto chosen = [&](std::int64_t rows, std::int64_t cols) {
    return choose(fixture.spec, fixture.problem(rows, cols), fixture.device, fixture.store.get()).value();
  };
  CHECK(chosen(512, 1025).source == Source::kDefault);
  const Choice near = chosen(512, 512);
  REQUIRE(near.source == Source::kNearest);
  CHECK(near.record->problem.shape[0].second == 1);
}

TEST_CASE("exact, nearest and default are told apart") {
  const Fixture fixture;
  const Configuration standard = default_configuration(fixture.spec);
  CHECK(choose(fixture.spec, fixture.problem(64, 64), fixture.device, fixture.store.get()).value().source == Source::kDefault);
  fixture.record(fixture.problem(64, 64), standard);
  fixture.record(fixture.problem(4096, 4096), standard);
  CHECK(choose(fixture.spec, fixture.problem(64, 64), fixture.device, fixture.store.get()).value().source == Source::kExact);
  const Choice near = choose(fixture.spec, fixture.problem(100, 64), fixture.device, fixture.store.get()).value();
  CHECK(near.source == Source::kNearest);
  REQUIRE(near.record.has_value());
  CHECK(text(near.record->problem.shape) == "rows=64,cols=64");
}

TEST_CASE("a nearest record that is not valid here is followed by the next nearest that is") {
  const Fixture fixture;
  const Configuration valid = parse_configuration(fixture.spec.parameters, "block=512").value();
  const Configuration other = parse_configuration(fixture.spec.parameters, "unaligned_rows=false").value();
  REQUIRE(valid_for(fixture.spec, fixture.problem(64, 64), fixture.device, other));
  REQUIRE_FALSE(valid_for(fixture.spec, fixture.problem(64, 65), fixture.device, other));
  REQUIRE(valid_for(fixture.spec, fixture.problem(64, 65), fixture.device, valid));
  fixture.record(fixture.problem(64, 64), other);
  fixture.record(fixture.problem(64, 128), valid);
  const Choice near = choose(fixture.spec, fixture.problem(64, 65), fixture.device, fixture.store.get()).value();
  REQUIRE(near.source == Source::kNearest);
  CHECK(text(near.record->problem.shape) == "rows=64,cols=128");
  CHECK(near.configuration == valid);
}

TEST_CASE("where nothing fits this device, the products that have records are named") {
  Fixture fixture;
  const DeviceInfo here = fixture.device;
  fixture.device.product = "Abacus 3000";
  fixture.record(fixture.problem(64, 64), default_configuration(fixture.spec));
  fixture.record(fixture.problem(64, 128), default_configuration(fixture.spec));
  const Choice choice = choose(fixture.spec, fixture.problem(64, 64), here, fixture.store.get()).value();
  CHECK(choice.source == Source::kDefault);
  CHECK(choice.why.empty());
  CHECK(choice.elsewhere == "softmax f32 was tuned for Abacus 3000, and not for " + here.product);
  const Problem half = make_problem(fixture.spec, DType::kF16, {{"rows", 64}, {"cols", 64}}).value();
  CHECK(choose(fixture.spec, half, here, fixture.store.get()).value().elsewhere.empty());
  CHECK(choose(fixture.spec, fixture.problem(64, 65), fixture.device, fixture.store.get()).value().elsewhere.empty());
}

TEST_CASE("where the configurations of all other shapes are illegal, that is what a choice says") {
  const Fixture fixture;
  const Configuration other = parse_configuration(fixture.spec.parameters, "unaligned_rows=false").value();
  REQUIRE_FALSE(valid_for(fixture.spec, fixture.problem(64, 65), fixture.device, other));
  fixture.record(fixture.problem(64, 64), other);
  const Choice choice = choose(fixture.spec, fixture.problem(64, 65), fixture.device, fixture.store.get()).value();
  CHECK(choice.source == Source::kDefault);
  CHECK(choice.elsewhere == "softmax f32 was tuned here for other shapes, and none of their configurations can serve rows=64,cols=65");
}

TEST_CASE("a lookup that names no accuracy bound is never served by a record that was tuned under one") {
  const Fixture fixture;
  const Problem problem = fixture.problem(64, 64);
  const Purpose loose{.input_profile = "default", .objective = "time", .accuracy_bound = "1e-2", .timing_profile = "cold-l2"};
  fixture.record(problem, default_configuration(fixture.spec), loose);
  CHECK(choose(fixture.spec, problem, fixture.device, fixture.store.get()).value().source == Source::kDefault);
  CHECK(choose(fixture.spec, problem, fixture.device, fixture.store.get(), {.purpose = loose}).value().source == Source::kExact);
}

TEST_CASE("records whose code came from elsewhere are passed over, and the choice says why") {
  Fixture fixture;
  fixture.artifact = "a";
  const Problem problem = fixture.problem(64, 64);
  fixture.record(problem, default_configuration(fixture.spec));
  fixture.record(fixture.problem(128, 64), default_configuration(fixture.spec));
  CHECK(choose(fixture.spec, problem, fixture.device, fixture.store.get()).value().why.empty());
  fixture.change_records("seal = ''");
  const Choice launched = choose(fixture.spec, problem, fixture.device, fixture.store.get()).value();
  CHECK(launched.source == Source::kDefault);
  CHECK_FALSE(launched.record.has_value());
  CHECK(launched.why.find("hone trust") != std::string::npos);
  // To look at them nothing has to be trusted.
  CHECK(choose(fixture.spec, problem, fixture.device, fixture.store.get(), {.launch = false}).value().source == Source::kExact);
}

TEST_CASE("a record that does not belong to its code is refused where it is asked for, and passed over as a neighbour") {
  Fixture fixture;
  fixture.artifact = "a";
  fixture.record(fixture.problem(64, 64), default_configuration(fixture.spec));
  fixture.change_records("symbols = '[\"another\"]'");
  const auto refused = choose(fixture.spec, fixture.problem(64, 64), fixture.device, fixture.store.get());
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("do not match") != std::string::npos);
  const Choice other = choose(fixture.spec, fixture.problem(128, 64), fixture.device, fixture.store.get()).value();
  CHECK(other.source == Source::kDefault);
  CHECK(other.why.find("do not match") != std::string::npos);
}

TEST_CASE("a record of another dtype or device is none") {
  const Fixture fixture;
  fixture.record(fixture.problem(64, 64), default_configuration(fixture.spec));
  const Problem half = make_problem(fixture.spec, DType::kF16, {{"rows", 64}, {"cols", 64}}).value();
  CHECK(choose(fixture.spec, half, fixture.device, fixture.store.get()).value().source == Source::kDefault);
  DeviceInfo other = fixture.device;
  other.product = "another";
  CHECK(choose(fixture.spec, fixture.problem(64, 64), other, fixture.store.get()).value().source == Source::kDefault);
}

TEST_CASE("a configuration that was withdrawn from a problem does not come back as that of the nearest record") {
  const Fixture fixture;
  const Configuration standard = default_configuration(fixture.spec);
  const Configuration other = parse_configuration(fixture.spec.parameters, "block=512").value();
  fixture.record(fixture.problem(64, 64), standard);
  fixture.record(fixture.problem(128, 64), standard);
  fixture.record(fixture.problem(4096, 64), other);
  REQUIRE(fixture.store->set_record_state({1}, RecordState::kWithdrawn, "").ok());
  const Choice choice = choose(fixture.spec, fixture.problem(64, 64), fixture.device, fixture.store.get()).value();
  CHECK(choice.source == Source::kNearest);
  CHECK(choice.configuration == other);
  CHECK(choose(fixture.spec, fixture.problem(65, 64), fixture.device, fixture.store.get()).value().configuration == standard);
}

}  // namespace hone
