// What sessions leave for later ones of the same kernel.

#include "store_fixture.hpp"

using namespace hone;
using namespace hone::test;

namespace {

Trial trial_of(Count position, std::int64_t block, double median_us) {
  Trial trial = good_trial(position);
  trial.configuration.values = {block, false};
  trial.measurement.median_us = median_us;
  return trial;
}

std::int64_t session_of(Store& store, const SessionKey& key, const std::vector<Trial>& trials) {
  const std::int64_t session = must(store.begin_session(key, "60s"));
  for (const Trial& trial : trials) {
    must(store.add_trial(session, parameters(), trial, 1.0));
  }
  return session;
}

}  // namespace

TEST_CASE("trials of other problems and devices are found by kernel, those of the session itself and of other kernels are not") {
  Directory directory;
  const auto store = must_open(directory.store());
  SessionKey other = session_key(128);
  other.record.device.product = "NVIDIA A100";
  session_of(*store, other, {trial_of(0, 32, 4.0), trial_of(2, 64, 2.0)});
  SessionKey foreign = session_key();
  foreign.record.kernel = "gemm";
  session_of(*store, foreign, {trial_of(0, 32, 1.0)});
  const std::int64_t own = session_of(*store, session_key(), {trial_of(0, 32, 1.0)});

  const std::vector<History> found = must(store->histories("softmax", parameters(), own, 100));
  REQUIRE(found.size() == 1);
  CHECK(found[0].product == "NVIDIA A100");
  CHECK(found[0].problem == other.record.problem);
  REQUIRE(found[0].trials.size() == 2);
  CHECK(found[0].trials[1].configuration.values[0] == Value(64));
  CHECK(found[0].trials[1].measurement.median_us == 2.0);
  CHECK(found[0].trials[1].resources.registers == 40);
  CHECK(found[0].trials[1].seconds.compile == 0.125);
}

TEST_CASE("sessions of one problem become one history with the latest trial of each configuration") {
  Directory directory;
  const auto store = must_open(directory.store());
  session_of(*store, session_key(), {trial_of(0, 32, 4.0), trial_of(2, 64, 2.0)});
  SessionKey again = session_key();
  again.seed = 1;
  session_of(*store, again, {trial_of(2, 64, 3.0)});
  const std::vector<History> found = must(store->histories("softmax", parameters(), 0, 100));
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].trials.size() == 2);
  CHECK(found[0].trials[0].measurement.median_us == 3.0);
  CHECK(must(store->histories("softmax", parameters(), 0, 1))[0].trials.size() == 1);
}

TEST_CASE("trials that today's parameters cannot express are left out") {
  Directory directory;
  const auto store = must_open(directory.store());
  session_of(*store, session_key(), {trial_of(0, 32, 4.0), trial_of(2, 64, 2.0)});
  std::vector<Parameter> changed = parameters();
  changed[0].values = {64, 512};
  changed[0].default_value = 64;
  const std::vector<History> found = must(store->histories("softmax", changed, 0, 100));
  REQUIRE(found.size() == 1);
  CHECK(found[0].trials.size() == 1);
}

TEST_CASE("trials of a parameter that has another name today are left out") {
  Directory directory;
  const auto store = must_open(directory.store());
  session_of(*store, session_key(), {trial_of(0, 32, 4.0)});
  std::vector<Parameter> renamed = parameters();
  renamed[0].name = "renamed";
  for (const History& history : must(store->histories("softmax", renamed, 0, 100))) {
    CHECK(history.trials.empty());
  }
}

TEST_CASE("a strategy's model is kept for each kernel, the latest replacing the one before") {
  Directory directory;
  const auto store = must_open(directory.store());
  CHECK(must(store->find_model("softmax", "reinforcement")).empty());
  must(store->put_model("softmax", "reinforcement", std::string("a\0b", 3)));
  must(store->put_model("softmax", "reinforcement", std::string("c\0d", 3)));
  must(store->put_model("gemm", "reinforcement", "x"));
  CHECK(must(store->find_model("softmax", "reinforcement")) == std::string("c\0d", 3));
  CHECK(must(store->find_model("softmax", "other")).empty());
}
