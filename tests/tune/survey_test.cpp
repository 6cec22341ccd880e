// Configurations timed at one shape after another, on the cpu device.
#include "engine/tune/survey.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "engine/reader/kernel_file.hpp"

namespace hone {
namespace {

namespace fs = std::filesystem;

/// Right everywhere for small n. Beyond 100, mode=2 is wrong and mode=3 writes where nothing is; mode=4 does not compile.
constexpr const char* kModes = R"cuda(#include <hone/kernel.h>
struct Problem { long n = 64; };
struct Config { TUNE(0, 1, 2, 3, 4) int mode = 0; };
constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, 64L)}, .block = {64}}; }
template <class T> constexpr Cost cost(Problem p) { return {.flops = 1.0 * p.n, .bytes = 2.0 * p.n * sizeof(T)}; }
template <class T> REFERENCE(p.n) void modes_reference(long i, const T* x, double* y, Problem p) { y[i] = 2.0 * (double)(float)x[i]; }
template <class T, Config c> KERNEL void modes(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) {
  static_assert(c.mode != 4);
  const long i = (long)blockIdx.x * 64 + threadIdx.x;
  if (c.mode == 3 && p.n > 100) *(volatile int*)8 = 1;
  if (i < p.n) y[i] = T((c.mode == 2 && p.n > 100 ? 3.0f : 2.0f) * (float)x[i]);
}
)cuda";

class SurveyFixture {
 public:
  SurveyFixture() : folder_(fs::temp_directory_path() / ("hone_survey_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "modes.cu") << kModes;
    request.spec = read_kernel_file(folder_ / "modes.cu").value();
    request.device = builtin_registry().device("cpu").value();
    request.budget = {.seconds = std::nullopt, .trials = 1};
    request.problem = problem(64);
    store = open_store(folder_ / "store.db", StoreMode::kReadWrite).value();
  }
  ~SurveyFixture() {
    store.reset();
    fs::remove_all(folder_);
  }

  [[nodiscard]] Problem problem(std::int64_t n) const { return make_problem(request.spec, DType::kF32, {{"n", n}}).value(); }
  static std::vector<Configuration> modes(std::vector<std::int64_t> values) {
    std::vector<Configuration> all;
    for (const std::int64_t value : values) {
      all.push_back({{Value(value)}});
    }
    return all;
  }

  TuneRequest request;
  std::unique_ptr<Store> store;

 private:
  fs::path folder_;
};

Outcome outcome_of(const std::vector<Trial>& trials, std::int64_t mode) {
  const auto found = std::ranges::find(trials, Configuration{{Value(mode)}}, &Trial::configuration);
  REQUIRE(found != trials.end());
  return found->outcome;
}

}  // namespace

TEST_CASE("a survey compiles the reference that no session has left") {
  SurveyFixture fixture;
  Survey survey(fixture.request, fixture.request.spec, *fixture.store);
  const Surveyed surveyed = survey.measure(fixture.problem(200), SurveyFixture::modes({0, 2}), 100.0);
  REQUIRE_MESSAGE(surveyed.ended.ok(), surveyed.ended.error().message);
  CHECK(has_time(outcome_of(surveyed.trials, 0)));
  CHECK(outcome_of(surveyed.trials, 2) == Outcome::kWrongResult);
}

TEST_CASE("a survey that was prepared, for its problem or for another, finds what it finds") {
  SurveyFixture fixture;
  Survey survey(fixture.request, fixture.request.spec, *fixture.store);
  survey.prepare(fixture.problem(200));
  const Surveyed there = survey.measure(fixture.problem(200), SurveyFixture::modes({0, 2}), 100.0);
  REQUIRE_MESSAGE(there.ended.ok(), there.ended.error().message);
  CHECK(has_time(outcome_of(there.trials, 0)));
  CHECK(outcome_of(there.trials, 2) == Outcome::kWrongResult);
  CHECK(there.trials.front().seconds.overhead > 0.0);
  survey.prepare(fixture.problem(200));
  const Surveyed elsewhere = survey.measure(fixture.problem(64), SurveyFixture::modes({0, 2}), 100.0);
  REQUIRE_MESSAGE(elsewhere.ended.ok(), elsewhere.ended.error().message);
  CHECK(has_time(outcome_of(elsewhere.trials, 2)));  // right there
}

TEST_CASE("a survey says why a reference does not compile") {
  SurveyFixture fixture;
  fixture.request.spec.source += "\nthis is no kernel\n";
  Survey survey(fixture.request, fixture.request.spec, *fixture.store);
  const Result<void> refused = survey.measure(fixture.problem(64), SurveyFixture::modes({0}), 10.0).ended;
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("the reference does not compile") != std::string::npos);
}

TEST_CASE("a survey times candidates at one shape after another, and who fails there is charged alone") {
  SurveyFixture fixture;
  REQUIRE(tune(fixture.request, *fixture.store, builtin_registry()).ok());
  Survey survey(fixture.request, fixture.request.spec, *fixture.store);
  const Surveyed small = survey.measure(fixture.problem(32), SurveyFixture::modes({1, 3}), 100.0);
  REQUIRE_MESSAGE(small.ended.ok(), small.ended.error().message);
  CHECK(small.trials.size() == 2);
  CHECK(has_time(outcome_of(small.trials, 1)));
  CHECK(has_time(outcome_of(small.trials, 3)));

  const Surveyed large = survey.measure(fixture.problem(200), SurveyFixture::modes({0, 2, 3, 1}), 100.0);
  REQUIRE_MESSAGE(large.ended.ok(), large.ended.error().message);
  CHECK(large.trials.size() == 4);
  CHECK(has_time(outcome_of(large.trials, 0)));
  CHECK(has_time(outcome_of(large.trials, 1)));
  CHECK_FALSE(has_time(outcome_of(large.trials, 2)));
  CHECK(outcome_of(large.trials, 3) == Outcome::kIllegalAccess);

  std::size_t surveys = 0;
  for (const SessionInfo& session : fixture.store->sessions().value()) {
    surveys += session.strategy == "survey" ? 1 : 0;
  }
  CHECK(surveys == 2);
  // They say too little of a problem each to stand for what searches have learnt.
  CHECK(fixture.store->histories("modes", fixture.request.spec.parameters, 0, 100).value().size() == 1);
}

TEST_CASE("what a survey reached is kept where it ends early") {
  SurveyFixture fixture;
  fixture.request.device.info.properties["memory"] = 1 << 20;
  Survey survey(fixture.request, fixture.request.spec, *fixture.store);
  const Surveyed surveyed = survey.measure(fixture.problem(1 << 20), SurveyFixture::modes({0, 4}), 10.0);
  REQUIRE_FALSE(surveyed.ended.ok());
  REQUIRE(surveyed.trials.size() == 1);
  CHECK(outcome_of(surveyed.trials, 4) == Outcome::kCompileError);
  const std::vector<SessionInfo> sessions = fixture.store->sessions().value();
  REQUIRE(sessions.size() == 1);
  CHECK(fixture.store->trials(sessions.front().id, fixture.request.spec.parameters)->size() == 1);
}

TEST_CASE("a survey without time measures one candidate") {
  SurveyFixture fixture;
  REQUIRE(tune(fixture.request, *fixture.store, builtin_registry()).ok());
  Survey survey(fixture.request, fixture.request.spec, *fixture.store);
  const Surveyed surveyed = survey.measure(fixture.problem(48), SurveyFixture::modes({1, 0}), 0.0);
  REQUIRE_MESSAGE(surveyed.ended.ok(), surveyed.ended.error().message);
  REQUIRE(surveyed.trials.size() == 1);
  CHECK(surveyed.trials.front().configuration == SurveyFixture::modes({1}).front());
}

}  // namespace hone
