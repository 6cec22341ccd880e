// What is put into the store comes back.

#include <cmath>
#include <limits>

#include "store_fixture.hpp"

using namespace hone;
using namespace hone::test;

namespace {

void check_equal(const Trial& a, const Trial& b) {
  CHECK(a.configuration == b.configuration);
  CHECK(a.position == b.position);
  CHECK(a.outcome == b.outcome);
  CHECK(a.detail == b.detail);
  CHECK(a.resources.registers == b.resources.registers);
  CHECK(a.resources.spill_bytes == b.resources.spill_bytes);
  CHECK(a.resources.stack_bytes == b.resources.stack_bytes);
  CHECK(a.resources.shared_bytes == b.resources.shared_bytes);
  CHECK(a.resources.occupancy == b.resources.occupancy);
  CHECK(a.measurement.samples_us == b.measurement.samples_us);
  CHECK(a.measurement.median_us == b.measurement.median_us);
  CHECK(a.measurement.ci95_low_us == b.measurement.ci95_low_us);
  CHECK(a.measurement.ci95_high_us == b.measurement.ci95_high_us);
  CHECK(a.measurement.raced_out == b.measurement.raced_out);
  CHECK(a.measurement.by_graph == b.measurement.by_graph);
  CHECK(a.readings.sm_clock_mhz == b.readings.sm_clock_mhz);
  CHECK(a.readings.memory_clock_mhz == b.readings.memory_clock_mhz);
  CHECK(a.readings.temperature_c == b.readings.temperature_c);
  CHECK(a.readings.power_w == b.readings.power_w);
  CHECK(a.readings.throttle_reasons == b.readings.throttle_reasons);
  CHECK(a.readings.discarded_samples == b.readings.discarded_samples);
  CHECK(a.seconds.compile == b.seconds.compile);
  CHECK(a.seconds.validate == b.seconds.validate);
  CHECK(a.seconds.time == b.seconds.time);
  CHECK(a.seconds.overhead == b.seconds.overhead);
  CHECK(a.input_seed == b.input_seed);
  CHECK(a.max_error == b.max_error);
  CHECK(a.artifact == b.artifact);
  CHECK(a.final_round == b.final_round);
}

TEST_CASE("trials and controls of several devices come back as they were, samples as they were taken") {
  Directory directory;
  auto store = must_open(directory.store());
  const std::int64_t session = must(store->begin_session(session_key(), "60s"));
  Trial trial = good_trial(5);
  trial.device = "cuda:1";
  trial.factor = 0.98;
  const std::vector<double> samples = trial.measurement.samples_us;
  must(store->add_trial(session, parameters(), trial, 1.0));
  must(store->add_trial(session, parameters(), good_trial(6), 1.0));
  Control control{.device = "cuda:1", .measurement = trial.measurement, .readings = {}, .factor = 0.98, .left = {}};
  control.readings.sm_clock_mhz = 1980.0;
  must(store->add_control(session, control));
  must(store->add_control(session, {.device = "cuda:0", .measurement = {}, .readings = {}, .factor = 1.0, .left = "too slow"}));
  CHECK_FALSE(store->add_control(77, control).ok());

  const std::vector<Trial> trials = must(store->trials(session, parameters()));
  REQUIRE(trials.size() == 2);
  CHECK(trials[0].device == "cuda:1");
  CHECK(trials[0].factor == 0.98);
  CHECK(trials[0].measurement.samples_us == samples);
  CHECK(trials[1].device.empty());
  CHECK(trials[1].factor == 1.0);
  const std::vector<Control> controls = must(store->controls(session));
  REQUIRE(controls.size() == 2);
  CHECK(controls[0].device == "cuda:1");
  CHECK(controls[0].measurement.samples_us == samples);
  CHECK(controls[0].readings.sm_clock_mhz == 1980.0);
  CHECK(controls[0].factor == 0.98);
  CHECK(controls[0].left.empty());
  CHECK(controls[1].left == "too slow");

  trial.final_round = true;
  trial.factor = 1.0;
  trial.final_device = "cuda:0";
  must(store->add_trial(session, parameters(), trial, 2.0));
  const Trial finalist = must(store->trials(session, parameters())).front();
  CHECK(finalist.device == "cuda:1");
  CHECK(finalist.final_device == "cuda:0");
  CHECK(finalist.factor == 1.0);  // of the final round's measurement
}

}  // namespace

TEST_CASE("a trial comes back exactly, also from another process's view of the file") {
  Directory directory;
  const Trial trial = good_trial((Count{1} << 100) + 7);
  auto store = must_open(directory.store());
  const std::int64_t session = must(store->begin_session(session_key(), "60s"));
  must(store->add_trial(session, parameters(), trial, 2.5));
  for (const StoreMode mode : {StoreMode::kReadWrite, StoreMode::kReadOnly}) {
    const auto read = must(must_open(directory.store(), mode)->trials(session, parameters()));
    REQUIRE(read.size() == 1);
    check_equal(read.front(), trial);
  }
}

TEST_CASE("every outcome can be recorded, and trials keep their order") {
  Directory directory;
  auto store = must_open(directory.store());
  const std::int64_t session = must(store->begin_session(session_key(), "60s"));
  Count position = 1'000;
  for (const Outcome outcome : all_outcomes()) {
    Trial trial = good_trial(position--);
    trial.outcome = outcome;
    trial.detail = "line 1\n\"quoted\" \xff";
    must(store->add_trial(session, parameters(), trial, 0.0));
  }
  const auto read = must(store->trials(session, parameters()));
  REQUIRE(read.size() == all_outcomes().size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    CHECK(read[i].outcome == all_outcomes()[i]);
    CHECK(read[i].position == 1'000 - i);
    // A server takes only text.
    CHECK(read[i].detail == (is_store_server(directory.store()) ? "line 1\n\"quoted\" \uFFFD" : "line 1\n\"quoted\" \xff"));
    CHECK(read[i].measurement.samples_us.empty() == !has_time(read[i].outcome));
  }
}

TEST_CASE("every dtype can be a problem's") {
  Directory directory;
  auto store = must_open(directory.store());
  for (const DType dtype : all_dtypes()) {
    RecordKey key = record_key();
    key.problem.dtype = dtype;
    tuned(*store, key, record_of("block=64", 5.0));
    CHECK(must(store->find_record(key, parameters()))->problem.dtype == dtype);
  }
}

TEST_CASE("an error that is not a number survives") {
  Directory directory;
  auto store = must_open(directory.store());
  const std::int64_t session = must(store->begin_session(session_key(), "60s"));
  Trial wrong = good_trial(1);
  wrong.outcome = Outcome::kWrongResult;
  wrong.max_error = std::numeric_limits<double>::quiet_NaN();
  must(store->add_trial(session, parameters(), wrong, 0.0));
  wrong.position = 2;
  wrong.max_error = std::numeric_limits<double>::infinity();
  must(store->add_trial(session, parameters(), wrong, 0.0));
  const auto read = must(store->trials(session, parameters()));
  CHECK(std::isnan(read.at(0).max_error));
  CHECK(std::isinf(read.at(1).max_error));
}

TEST_CASE("nothing is recorded twice") {
  Directory directory;
  auto store = must_open(directory.store());
  const std::int64_t session = must(store->begin_session(session_key(), "60s"));
  must(store->add_trial(session, parameters(), good_trial(5), 1.0));
  const Result<void> again = store->add_trial(session, parameters(), good_trial(5), 2.0);
  REQUIRE_FALSE(again.ok());
  CHECK(again.error().code == ErrorCode::kInvalidArgument);
  CHECK(again.error().message.find("position 5") != std::string::npos);
  CHECK(must(store->sessions()).front().elapsed_seconds == 1.0);
  CHECK(must(store->trials(session, parameters())).size() == 1);
}

TEST_CASE("a trial of no session is refused") {
  Directory directory;
  auto store = must_open(directory.store());
  const Result<void> added = store->add_trial(77, parameters(), good_trial(5), 1.0);
  REQUIRE_FALSE(added.ok());
  CHECK(added.error().code == ErrorCode::kNotFound);
}

TEST_CASE("a finalist is one trial with the measurement of the final round") {
  Directory directory;
  auto store = must_open(directory.store());
  const std::int64_t session = must(store->begin_session(session_key(), "60s"));
  must(store->add_trial(session, parameters(), good_trial(5), 1.0));
  must(store->add_trial(session, parameters(), good_trial(6), 2.0));
  Trial final_trial = good_trial(5);
  final_trial.final_round = true;
  final_trial.measurement = {.samples_us = {11, 12}, .median_us = 11.5, .ci95_low_us = 11, .ci95_high_us = 12};
  must(store->add_trial(session, parameters(), final_trial, 3.0));
  must(store->add_trial(session, parameters(), final_trial, 4.0));  // a final round begun anew after a crash
  const auto read = must(store->trials(session, parameters()));
  REQUIRE(read.size() == 2);
  check_equal(read[0], final_trial);
  CHECK_FALSE(read[1].final_round);
  const SessionInfo info = must(store->sessions()).front();
  CHECK(info.trials == 2);
  CHECK(info.best_us == 11.5);
  CHECK(raw_sql(directory.store(), "SELECT median_us FROM trial WHERE position = '5'") == "10.25");
}

TEST_CASE("a finalist that fails in the final round is a failed trial") {
  Directory directory;
  auto store = must_open(directory.store());
  const std::int64_t session = must(store->begin_session(session_key(), "60s"));
  must(store->add_trial(session, parameters(), good_trial(5), 1.0));
  Trial failed = good_trial(5);
  failed.final_round = true;
  failed.outcome = Outcome::kRace;
  failed.detail = "repeats differ";
  must(store->add_trial(session, parameters(), failed, 3.0));
  const Trial read = must(store->trials(session, parameters())).at(0);
  CHECK(read.outcome == Outcome::kRace);
  CHECK(read.detail == "repeats differ");
  CHECK(read.measurement.samples_us.empty());
  CHECK_FALSE(must(store->sessions()).front().best_us.has_value());
}

TEST_CASE("what was too slow keeps its time and is the best of nothing") {
  Directory directory;
  auto store = must_open(directory.store());
  const std::int64_t session = must(store->begin_session(session_key(), "60s"));
  Trial slow = good_trial(5);
  slow.outcome = Outcome::kTooSlow;
  must(store->add_trial(session, parameters(), slow, 1.0));
  check_equal(must(store->trials(session, parameters())).at(0), slow);
  CHECK_FALSE(must(store->sessions()).front().best_us.has_value());
  const auto histories = must(store->histories(record_key().kernel, parameters(), 0, 100));
  REQUIRE(histories.size() == 1);
  CHECK(histories[0].trials.at(0).outcome == Outcome::kTooSlow);
  CHECK(histories[0].trials.at(0).measurement.median_us == slow.measurement.median_us);
}

TEST_CASE("a session tells what it is") {
  Directory directory;
  auto store = must_open(directory.store());
  const std::int64_t session = must(store->begin_session(session_key(), "60s,200trials"));
  must(store->add_trial(session, parameters(), good_trial(5), 7.5));
  const SessionInfo info = must(store->sessions()).at(0);
  CHECK(info.id == session);
  CHECK(info.kernel == "softmax");
  CHECK(info.source_hash == record_key().source_hash);
  CHECK(info.device_id == "cuda:0");
  CHECK(info.product == "NVIDIA H200");
  CHECK(info.strategy == "bayes");
  CHECK(info.strategy_parameters == "batch=8");
  CHECK(info.budget == "60s,200trials");
  CHECK(info.problem.dtype == DType::kF16);
  CHECK(text(info.problem.shape) == "rows=4096,cols=1024");
  CHECK(info.seed == session_key().seed);
  CHECK(info.state == SessionState::kRunning);
  CHECK(info.elapsed_seconds == 7.5);
  CHECK(info.trials == 1);
  CHECK(info.best_us == 10.25);
  CHECK(info.owner_alive);
  CHECK(info.created_at.size() == std::string("2025-11-21T05:24:00.123Z").size());
  CHECK(info.updated_at >= info.created_at);
  must(store->finish_session(session, record_key(), std::nullopt, 9.0));
  const SessionInfo done = must(store->sessions()).at(0);
  CHECK(done.state == SessionState::kDone);
  CHECK_FALSE(done.owner_alive);
  CHECK(done.elapsed_seconds == 9.0);
}

TEST_CASE("a session records the environment it ran in") {
  Directory directory;
  auto store = must_open(directory.store());
  tuned(*store, record_key(), std::nullopt);
  tuned(*store, record_key(), std::nullopt);
  CHECK(raw_sql(directory.store(), "SELECT count(*) FROM environment") == "1");
  CHECK(raw_sql(directory.store(), "SELECT count(*) FROM device") == "1");
  CHECK(raw_sql(directory.store(), "SELECT count(*) FROM environment WHERE host <> '' AND kernel_release <> '' AND hone_version <> ''") ==
        "1");
}

TEST_CASE("a record is found by its key and by nothing else") {
  Directory directory;
  auto store = must_open(directory.store());
  const std::int64_t session = tuned(*store, record_key(), record_of("block=128,online=false", 9.5));
  const std::optional<Record> found = must(store->find_record(record_key(), parameters()));
  REQUIRE(found.has_value());
  CHECK(found->configuration_text == "block=128,online=false");
  CHECK(found->configuration.values == std::vector<Value>{128, false});
  CHECK(found->measurement.median_us == 9.5);
  CHECK(found->measurement.samples_us == good_trial(0).measurement.samples_us);
  CHECK(found->default_us == 20.5);
  CHECK(found->session == session);
  CHECK(found->trials == 17);
  CHECK(found->artifact == "a1");
  CHECK(found->symbols == std::vector<std::string>{"_Z7softmax", "reduce"});
  CHECK(found->environment == record_key().device.environment);
  CHECK(text(found->problem.shape) == "rows=4096,cols=1024");
  CHECK_FALSE(found->created_at.empty());

  std::vector<RecordKey> others(14, record_key());
  others[0].kernel = "gemm";
  others[1].source_hash = "f";
  others[2].problem.dtype = DType::kF32;
  others[3].problem.shape[0].second = 1;
  others[4].layout = "strided";
  others[5].alignment = 4;
  others[6].device.product = "NVIDIA H100";
  others[7].device.properties["multiprocessors"] = 114;
  others[8].purpose.timing_profile = "warm-l2";
  others[9].purpose.input_profile = "sparse";
  others[10].purpose.objective = "energy";
  others[11].purpose.accuracy_bound = "1e-3";
  others[12].dtypes = "In=e4m3,Out=bf16";
  others[13].device.share = "50%";
  for (const RecordKey& other : others) {
    CHECK_FALSE(must(store->find_record(other, parameters())).has_value());
  }
}

TEST_CASE("numbers and JSON of a damaged store that nobody could have written are read as none") {
  const Directory directory;
  const auto store = must_open(directory.store());
  must(store->begin_session(session_key(), "60s"));
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  raw_sql(directory.store(), "UPDATE environment SET device = '{\"driver\": " + deep + "}'");
  raw_sql(directory.store(), "UPDATE device SET properties = '{\"memory\": 9223372036854775807}'");
  const std::vector<DeviceInfo> devices = must(store->devices());
  REQUIRE(devices.size() == 1);
  CHECK(devices.front().environment.empty());
  CHECK(devices.front().properties.find("memory")->second > 0);
}

TEST_CASE("the environment, the device's number and the driver's share of memory are no part of a key") {
  Directory directory;
  auto store = must_open(directory.store());
  tuned(*store, record_key(), record_of("block=64", 9.5));
  RecordKey today = record_key();
  today.device.id = "cuda:3";
  today.device.uuid = "GPU-7";
  today.device.properties["memory"] -= 20'000'000;
  today.device.environment["driver"] = "590.1";
  today.device.environment.erase("compiler");
  today.device.environment["power_limit_w"] = "500";
  const std::optional<Record> found = must(store->find_record(today, parameters()));
  REQUIRE(found.has_value());
  const std::vector<Staleness> stale = staleness(*found, today.device);
  REQUIRE(stale.size() == 1);
  CHECK(stale[0].what == "driver");
  CHECK(stale[0].then == "580.82");
  CHECK(stale[0].now == "590.1");
  CHECK(staleness(*found, record_key().device).empty());
}

TEST_CASE("devices come back with the environment of their latest session, and find their records") {
  Directory directory;
  auto store = must_open(directory.store());
  CHECK(must(store->devices()).empty());
  tuned(*store, record_key(), record_of("block=64", 9.5));
  SessionKey later = session_key();
  later.record.device.environment["driver"] = "590.10";
  must(store->begin_session(later, "9trials"));
  const std::vector<DeviceInfo> devices = must(store->devices());
  REQUIRE(devices.size() == 1);
  CHECK(devices[0].id == "cuda:0");
  CHECK(devices[0].plugin == "cuda");
  CHECK(devices[0].product == "NVIDIA H200");
  CHECK(devices[0].architecture == "sm_90a");
  CHECK(devices[0].properties.at("multiprocessors") == 132);
  CHECK(devices[0].environment.at("driver") == "590.10");
  RecordKey again = record_key();
  again.device = devices[0];
  CHECK(must(store->find_record(again, parameters())).has_value());
}

TEST_CASE("a faster record replaces the old one of its key") {
  Directory directory;
  auto store = must_open(directory.store());
  tuned(*store, record_key(), record_of("block=64", 9.5));
  const std::int64_t first = must(store->find_record(record_key(), parameters()))->id;
  const std::int64_t session = tuned(*store, record_key(), record_of("block=32", 8.5));
  const std::optional<Record> found = must(store->find_record(record_key(), parameters()));
  CHECK(found->id > first);
  CHECK(found->session == session);
  CHECK(found->configuration.values == std::vector<Value>{32, true});
  CHECK(must(store->records_of(record_key(), parameters())).size() == 1);
}

TEST_CASE("a lookup without an accuracy bound never gets a record that was tuned under one") {
  Directory directory;
  auto store = must_open(directory.store());
  RecordKey loose = record_key();
  loose.purpose.accuracy_bound = "1e-2";
  tuned(*store, loose, record_of("block=64", 1.0));
  CHECK_FALSE(must(store->find_record(record_key(), parameters())).has_value());
  CHECK(must(store->records_of(record_key(), parameters())).empty());
  CHECK(must(store->find_record(loose, parameters())).has_value());
  // Both stand beside each other, whichever is written later.
  tuned(*store, record_key(), record_of("block=32", 9.5));
  CHECK(must(store->find_record(record_key(), parameters()))->configuration_text == "block=32");
  CHECK(must(store->find_record(loose, parameters()))->configuration_text == "block=64");
}

TEST_CASE("a key with an empty part is refused: it would be two keys to the database or none") {
  Directory directory;
  auto store = must_open(directory.store());
  RecordKey key = record_key();
  key.purpose.accuracy_bound = "";
  CHECK(store->begin_session({key, "random", "", 1}, "60s").error().code == ErrorCode::kInvalidArgument);
  const std::int64_t session = must(store->begin_session(session_key(), "60s"));
  CHECK(store->finish_session(session, key, record_of("block=64", 1.0), 1.0).error().code == ErrorCode::kInvalidArgument);
}

TEST_CASE("dtypes are names: several in one key, and those that this Hone does not know") {
  Directory directory;
  auto store = must_open(directory.store());
  RecordKey key = record_key();
  key.dtypes = "In=e4m3,Out=bf16";
  tuned(*store, key, record_of("block=64", 5.0));
  CHECK(must(store->find_record(key, parameters()))->problem == key.problem);
  CHECK(must(store->sessions()).at(0).dtypes == "In=e4m3,Out=bf16");
  tuned(*store, record_key(), std::nullopt);
  CHECK(must(store->sessions()).at(1).dtypes == "f16");
}

TEST_CASE("a session and what it learnt carry the purpose") {
  Directory directory;
  auto store = must_open(directory.store());
  SessionKey key = session_key();
  key.record.purpose = {.input_profile = "sparse", .objective = "energy", .accuracy_bound = "1e-2", .timing_profile = "warm-l2"};
  for (const SessionKey& one : {session_key(), key}) {
    const std::int64_t session = must(store->begin_session(one, "60s"));
    must(store->add_trial(session, parameters(), good_trial(1), 1.0));
  }
  CHECK(must(store->sessions()).at(0).purpose == Purpose());
  CHECK(must(store->sessions()).at(1).purpose == key.record.purpose);
  const auto histories = must(store->histories("softmax", parameters(), 0, 10));
  REQUIRE(histories.size() == 2);
  CHECK(histories[0].purpose == key.record.purpose);
  CHECK(histories[1].purpose == Purpose());
  // Sessions of different purposes are different sessions.
  store.reset();
  store = must_open(directory.store());
  CHECK(must(store->resume_session(key))->id == 2);
  CHECK_FALSE(must(store->resume_session(key)).has_value());
}

TEST_CASE("a session that was released can be resumed by the process that ran it") {
  Directory directory;
  auto store = must_open(directory.store());
  const std::int64_t session = must(store->begin_session(session_key(), "60s"));
  CHECK_FALSE(must(store->resume_session(session_key())).has_value());
  must(store->release_session(session, 7.5));
  const auto resumed = must(store->resume_session(session_key()));
  REQUIRE(resumed.has_value());
  CHECK(resumed->id == session);
  CHECK(resumed->elapsed_seconds == 7.5);
  CHECK_FALSE(must(store->resume_session(session_key())).has_value());
  CHECK(store->release_session(99, 1.0).error().code == ErrorCode::kNotFound);
}

TEST_CASE("a winner that was not measured beside the record takes its place only where the intervals part") {
  Directory directory;
  auto store = must_open(directory.store());
  const auto finish = [&](const Record& winner, std::optional<std::int64_t> compared_with) {
    const std::int64_t session = must(store->begin_session(session_key(), "60s"));
    return must(store->finish_session(session, record_key(), winner, 1.0, compared_with));
  };
  const auto standing = [&] { return *must(store->find_record(record_key(), parameters())); };
  CHECK(finish(record_of("block=64", 10.0), std::nullopt));
  const std::int64_t first = standing().id;
  CHECK_FALSE(finish(record_of("block=32", 9.9), std::nullopt));  // faster, and within the noise
  CHECK_FALSE(finish(record_of("block=32", 11.0), std::nullopt));
  CHECK(standing().id == first);
  CHECK(finish(record_of("block=32", 9.5), std::nullopt));
  CHECK(standing().configuration_text == "block=32");
}

TEST_CASE("a trial's energy comes back, of the search and of the final round, and with the record") {
  Directory directory;
  auto store = must_open(directory.store());
  SessionKey key = session_key();
  key.record.purpose.objective = "energy";
  const std::int64_t session = must(store->begin_session(key, "60s"));
  Trial trial = good_trial(5);
  trial.measurement.energy_j = Figure{2e-3, 1e-3, 3e-3};
  must(store->add_trial(session, parameters(), trial, 1.0));
  must(store->add_trial(session, parameters(), good_trial(6), 1.5));
  CHECK(must(store->trials(session, parameters())).front().measurement.energy_j->high == 3e-3);
  CHECK_FALSE(must(store->trials(session, parameters())).back().measurement.energy_j);
  trial.final_round = true;
  trial.measurement.energy_j = Figure{2.5e-3, 2e-3, 2.7e-3};
  must(store->add_trial(session, parameters(), trial, 2.0));
  CHECK(must(store->trials(session, parameters())).front().measurement.energy_j->value == 2.5e-3);
  Record record = record_of("block=64", 5.0);
  record.measurement.energy_j = trial.measurement.energy_j;
  must(store->finish_session(session, key.record, record, 3.0));
  const auto found = must(store->find_record(key.record, parameters()));
  REQUIRE(found);
  REQUIRE(found->measurement.energy_j);
  CHECK(found->measurement.energy_j->low == 2e-3);
}

TEST_CASE("a record for energy is replaced by what takes less of it, however long that takes") {
  Directory directory;
  auto store = must_open(directory.store());
  RecordKey key = record_key();
  key.purpose.objective = "energy";
  const auto tune = [&](const char* configuration, double us, double joules) {
    Record record = record_of(configuration, us);
    record.measurement.energy_j = Figure{joules, 0.99 * joules, 1.01 * joules};
    tuned(*store, key, record);
    return must(store->find_record(key, parameters()))->configuration_text;
  };
  CHECK(tune("block=64", 5.0, 2e-3) == "block=64");
  CHECK(tune("block=128", 1.0, 2.5e-3) == "block=64");   // faster, and takes more
  CHECK(tune("block=128", 1.0, 1.99e-3) == "block=64");  // the intervals overlap
  CHECK(tune("block=128", 9.0, 1e-3) == "block=128");
}

TEST_CASE("a session that measured the standing record itself decides, and one that measured an earlier record does not") {
  Directory directory;
  auto store = must_open(directory.store());
  tuned(*store, record_key(), record_of("block=64", 10.0));
  const std::int64_t first = must(store->find_record(record_key(), parameters()))->id;
  const auto finish = [&](const Record& winner, std::int64_t compared_with) {
    const std::int64_t session = must(store->begin_session(session_key(), "60s"));
    return must(store->finish_session(session, record_key(), winner, 1.0, compared_with));
  };
  CHECK(finish(record_of("block=32", 10.5), first));         // the old one was slower still, side by side
  CHECK_FALSE(finish(record_of("block=128", 10.4), first));  // another session has written one meanwhile
  CHECK(finish(record_of("block=128", 9.0), first));
  CHECK(must(store->find_record(record_key(), parameters()))->configuration_text == "block=128");
}

TEST_CASE("a session without a winner leaves the record alone") {
  Directory directory;
  auto store = must_open(directory.store());
  tuned(*store, record_key(), record_of("block=64", 9.5));
  tuned(*store, record_key(), std::nullopt);
  CHECK(must(store->find_record(record_key(), parameters()))->configuration_text == "block=64");
}

TEST_CASE("records of other shapes are found together") {
  Directory directory;
  auto store = must_open(directory.store());
  for (const std::int64_t rows : {1, 512, 4096}) {
    tuned(*store, record_key(rows), record_of("block=64", static_cast<double>(rows)));
  }
  RecordKey other = record_key(512);
  other.problem.dtype = DType::kF32;
  tuned(*store, other, record_of("block=64", 1.0));
  const auto found = must(store->records_of(record_key(77), parameters()));
  REQUIRE(found.size() == 3);
  CHECK(found[1].problem.shape.at(0).second == 512);
  CHECK(found[1].measurement.median_us == 512.0);
}

TEST_CASE("compiled code comes back, and many configurations share one artifact") {
  Directory directory;
  auto store = must_open(directory.store());
  const Compiled compiled{artifact_of(100'000), {"k<128>", "reduce"}, good_trial(0).resources};
  CompiledKey key{record_key().source_hash, DType::kF16, "block=128,online=false", "sm_90a", "NVRTC 13.0"};
  CHECK_FALSE(must(store->find_compiled(key)).has_value());
  must(store->put_compiled(key, compiled));
  must(store->put_compiled(key, compiled));
  key.configuration = "reference";
  must(store->put_compiled(key, compiled));
  CHECK(raw_sql(directory.store(), "SELECT count(*) FROM artifact") == "1");

  auto reader = must_open(directory.store(), StoreMode::kReadOnly);
  const std::optional<Compiled> found = must(reader->find_compiled(key));
  REQUIRE(found.has_value());
  CHECK(found->artifact->bytes == compiled.artifact->bytes);
  CHECK(found->artifact->digest == compiled.artifact->digest);
  CHECK(found->symbols == compiled.symbols);
  CHECK(found->resources.registers == 40);
  CHECK(found->resources.occupancy == 0.75);
  key.compiler = "NVRTC 13.1";
  CHECK_FALSE(must(reader->find_compiled(key)).has_value());
}

TEST_CASE("an artifact of no bytes is one") {
  Directory directory;
  auto store = must_open(directory.store());
  const CompiledKey key{"h", DType::kI32, "reference", "x86-64-v3", "g++ 12"};
  must(store->put_compiled(key, {artifact_of(0), {}, {}}));
  CHECK(must(store->find_compiled(key))->artifact->bytes.empty());
  CHECK(store->put_compiled(key, {}).error().code == ErrorCode::kInvalidArgument);
}

TEST_CASE("damaged compiled code counts as absent and is replaced") {
  Directory directory;
  auto store = must_open(directory.store());
  const CompiledKey key{"h", DType::kF32, "block=32", "sm_90a", "NVRTC 13.0"};
  const Compiled compiled{artifact_of(5'000), {"k"}, {}};
  for (const char* damage : {"bytes = x'00112233'", "size = size + 1", "size = 4000000000000000000"}) {
    must(store->put_compiled(key, compiled));
    REQUIRE(must(store->find_compiled(key)).has_value());
    raw_sql(directory.store(), std::string("UPDATE artifact SET ") + damage);
    CHECK_FALSE(must(store->find_compiled(key)).has_value());
  }
  must(store->put_compiled(key, compiled));
  CHECK(must(store->find_compiled(key))->artifact->bytes == compiled.artifact->bytes);
}
