// What configurations are not held to, as their kernel's own default is wrong for it, on the cpu device.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "engine/reader/kernel_file.hpp"
#include "engine/tune/session.hpp"
#include "engine/tune/survey.hpp"

namespace hone {
namespace {

namespace fs = std::filesystem;

/// y = 2 x + 1. mode=0 is the default and slow; mode=1 takes |x| for at most 1, and so does the default where CLAMPS says so; mode=2 is
/// right. Where n is odd the default is not legal.
constexpr const char* kClamping = R"cuda(#include <hone/kernel.h>
struct Problem { long n = 4096; };
struct Config { TUNE(0, 1, 2) int mode = 0; };
constexpr bool valid(Problem p, Config c) { return c.mode != 0 || p.n % 2 == 0; }
constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, 64L)}, .block = {1}}; }
constexpr Cost cost(Problem p) { return {.flops = 2.0 * p.n, .bytes = 8.0 * p.n}; }
REFERENCE(p.n) void clamping_reference(long i, const f32* x, double* y, Problem p) { y[i] = 2.0 * (double)x[i] + 1.0; }
template <Config c> KERNEL void clamping(IN(p.n) const f32* x, OUT(p.n) f32* y, Problem p) {
  for (long i = blockIdx.x * 64; i < min_of(p.n, blockIdx.x * 64 + 64L); ++i) {
    float v = *(const volatile float*)(x + i);
    for (int k = 0; k < (c.mode == 1 ? 0 : 40); ++k) v = *(const volatile float*)(x + i);
    if (c.mode == 1 || (CLAMPS && c.mode == 0)) v = v > 1.0f ? 1.0f : v < -1.0f ? -1.0f : v;
    y[i] = 2.0f * v + 1.0f;
  }
}
)cuda";

/// y = 2 x + 1 of as many elements as a scalar says: legal for one problem alone.
constexpr const char* kSized = R"cuda(#include <hone/kernel.h>
struct Problem { long n = 4096; };
struct Config { TUNE(0, 1) int mode = 0; };
constexpr bool valid(Problem p, Config c) { return p.n == 4096; }
constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, 64L)}, .block = {64}}; }
REFERENCE(p.n) void clamping_reference(long i, const f32* x, double* y, Problem p) { y[i] = 2.0 * (double)x[i] + 1.0; }
template <Config c> KERNEL void clamping(IN(p.n) const f32* x, OUT(p.n) f32* y, SCALAR(4096) i32 n, Problem p) {
  const long i = blockIdx.x * 64L + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i] + 1.0f;
}
)cuda";

std::string clamping(bool default_clamps) {
  std::string source = kClamping;
  return source.replace(source.find("CLAMPS"), 6, default_clamps ? "true" : "false");
}

class Clamping {
 public:
  explicit Clamping(bool default_clamps, std::int64_t n = 4096) : Clamping(clamping(default_clamps), n) {}
  explicit Clamping(const std::string& source, std::int64_t n = 4096)
      : folder_(fs::temp_directory_path() / ("hone_verdicts_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "clamping.cu") << source;
    request.spec = read_kernel_file(folder_ / "clamping.cu").value();
    request.device = builtin_registry().device("cpu").value();
    request.strategy = "exhaustive";
    request.budget = parse_budget("1h").value();
    request.measure.maximum_seconds = 0.02;
    request.problem = make_problem(request.spec, DType::kF32, {{"n", n}}).value();
    store = open_store(folder_ / "store.db", StoreMode::kReadWrite).value();
  }
  ~Clamping() {
    store.reset();
    fs::remove_all(folder_);
  }
  Clamping(const Clamping&) = delete;
  Clamping& operator=(const Clamping&) = delete;

  static Configuration mode(std::int64_t value) { return {{Value(value)}}; }
  TuneReport tune() { return hone::tune(request, *store, builtin_registry()).value(); }
  void restrict_to(const char* modes) { request.restriction = parse_restriction(std::string("mode=") + modes).value(); }
  /// In the latest session.
  [[nodiscard]] Outcome outcome_of(std::int64_t value) const {
    const std::vector<Trial> trials = store->trials(store->sessions()->back().id, request.spec.parameters).value();
    const auto found = std::ranges::find(trials, mode(value), &Trial::configuration);
    REQUIRE(found != trials.end());
    return found->outcome;
  }

  TuneRequest request;
  std::unique_ptr<Store> store;

 private:
  fs::path folder_;
};

bool says_so(const std::vector<std::string>& notes) {
  return std::ranges::any_of(notes, [](const std::string& note) { return note.find("the default configuration is wrong") == 0; });
}

}  // namespace

TEST_CASE("a restricted session holds its configurations to what the default that it leaves out is right for") {
  Clamping right(false);
  right.restrict_to("1");
  const TuneReport refused = right.tune();
  CHECK_FALSE(refused.best);
  CHECK_FALSE(says_so(refused.notes));
  CHECK(right.outcome_of(1) == Outcome::kWrongResult);
}

TEST_CASE("and to nothing that this default is wrong for, which the report says") {
  Clamping clamping(true);
  clamping.restrict_to("1|2");
  const TuneReport report = clamping.tune();
  CHECK(report.best);
  CHECK(clamping.outcome_of(1) != Outcome::kWrongResult);  // which of the two is faster is the host's business
  CHECK(says_so(report.notes));
}

TEST_CASE("what stands in for a default that is not legal may be wrong, and decides nothing for the others") {
  Clamping odd(false, 4097);
  const TuneReport report = odd.tune();
  REQUIRE(report.best);
  CHECK(report.best->configuration == Clamping::mode(2));
  CHECK(odd.outcome_of(1) == Outcome::kWrongResult);
}

TEST_CASE("a scalar that may be the size keeps its value where no small problem is legal") {
  Clamping sized{std::string(kSized)};
  sized.restrict_to("1");
  const TuneReport report = sized.tune();
  REQUIRE_MESSAGE(report.best, report.first_failure);
  CHECK(report.notes.empty());
}

TEST_CASE("what is legal for large problems alone is held to inputs that provoke at a part of such a problem") {
  std::string source = clamping(false);
  source.replace(source.find("c.mode != 0 || p.n % 2 == 0"), 27, "p.n >= 131072");
  Clamping large(source, (1 << 21) + 67);
  large.restrict_to("1|2");
  const TuneReport report = large.tune();
  REQUIRE_MESSAGE(report.best, report.first_failure);
  CHECK(report.best->configuration == Clamping::mode(2));
  CHECK(large.outcome_of(1) == Outcome::kWrongResult);
}

TEST_CASE("a session that goes on with an earlier one holds its configurations to what that has found the default right for") {
  Clamping parts(false);
  parts.request.finish = false;
  parts.request.budget = parse_budget("1trials").value();
  CHECK(parts.tune().outcomes.at(Outcome::kOk) == 1);
  parts.request.finish = true;
  parts.request.budget = parse_budget("3trials").value();
  const TuneReport whole = parts.tune();
  CHECK(whole.resumed_trials == 1);
  CHECK(parts.outcome_of(1) == Outcome::kWrongResult);
  REQUIRE(whole.best);
  CHECK(whole.best->configuration != Clamping::mode(1));
}

TEST_CASE("one configuration that is run alone is held to what its default is right for, too") {
  Clamping right(false);
  const Tried wrong = run_configuration(right.request, Clamping::mode(1), nullptr).value();
  CHECK(wrong.trial.outcome == Outcome::kWrongResult);
  CHECK(wrong.notes.empty());
  CHECK(run_configuration(right.request, Clamping::mode(2), nullptr)->trial.outcome == Outcome::kOk);
  Clamping clamping(true);
  const Tried excused = run_configuration(clamping.request, Clamping::mode(1), nullptr).value();
  CHECK(excused.trial.outcome == Outcome::kOk);
  CHECK(says_so(excused.notes));
}

TEST_CASE("a survey asks for one run, or for the full gate") {
  Clamping right(false);
  Survey survey(right.request, right.request.spec, *right.store);
  const std::vector<Configuration> both{Clamping::mode(2), Clamping::mode(1)};
  const Surveyed one_run = survey.measure(right.request.problem, both, 100.0);
  REQUIRE_MESSAGE(one_run.ended.ok(), one_run.ended.error().message);
  CHECK(std::ranges::count(one_run.trials, Outcome::kOk, &Trial::outcome) == 2);
  CHECK(std::ranges::count(one_run.trials, true, &Trial::final_round) == 0);
  const Surveyed whole = survey.measure(right.request.problem, both, 100.0, Gate::kFull);
  REQUIRE_MESSAGE(whole.ended.ok(), whole.ended.error().message);
  REQUIRE(whole.trials.size() == 2);
  CHECK(whole.trials[0].outcome == Outcome::kOk);
  CHECK(whole.trials[0].final_round);
  CHECK(whole.trials[1].outcome == Outcome::kWrongResult);
  CHECK_FALSE(whole.trials[1].final_round);
  const std::vector<Trial> kept = right.store->trials(right.store->sessions()->back().id, right.request.spec.parameters).value();
  CHECK(kept[0].final_round);
  Clamping clamping(true);
  Survey lenient(clamping.request, clamping.request.spec, *clamping.store);
  CHECK(lenient.measure(clamping.request.problem, {Clamping::mode(1)}, 100.0, Gate::kFull).trials.front().outcome == Outcome::kOk);
}

}  // namespace hone
