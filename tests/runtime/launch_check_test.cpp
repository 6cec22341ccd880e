// Checks of launches: what they find, what the engine does then, and what they leave alone.
#include "hone/launch_check.hpp"

#include <condition_variable>
#include <limits>
#include <mutex>
#include <stdexcept>

#include "tests/runtime/engine_fixture.hpp"

namespace hone::test {
namespace {

constexpr std::int64_t kElements = 64;
constexpr float kRare = 42.0F;  // what the wrong configuration copies as another number
using Finding = LaunchCheck::Finding;

/// copy, of which the configurations of blocks of 256 threads are wrong where an element is kRare.
KernelSpec wrong_copy() {
  KernelSpec spec = **find_builtin_kernel("copy");
  const std::string line = "const long packets = p.n / kVec;";
  REQUIRE(contains(spec.source, line));
  const std::string wrong =
      " if constexpr (c.block == 256) { if (threadIdx.x == 0 && blockIdx.x == 0) { for (long i = 0; i < p.n; ++i) "
      "y[i] = (float)x[i] == 42.0F ? T(1) : x[i]; } return; }";
  spec.source.replace(spec.source.rfind(line), line.size(), line + wrong);
  spec.source_hash = "wrong_copy";
  return spec;
}

/// A store in which the default with blocks of so many threads won.
void store_record(const std::filesystem::path& file, const KernelSpec& spec, const Shape& shape, int block) {
  const Registry::Found cpu = builtin_registry().device("cpu").value();
  const Problem problem = make_problem(spec, DType::kF32, shape).value();
  const auto store = open_store(file, StoreMode::kReadWrite).value();
  Choice choice = choose(spec, problem, cpu.info, nullptr).value();
  for (std::size_t i = 0; i < spec.parameters.size(); ++i) {
    if (spec.parameters[i].name == "block") {
      choice.configuration.values[i] = Value(std::int64_t{block});
    }
  }
  const LaunchPlan plan = make_launch_plan(spec, problem, choice, cpu, store.get()).value();
  Record record;
  record.configuration = plan.choice.configuration;
  record.configuration_text = text(spec.parameters, record.configuration);
  record.measurement = {.samples_us = {1.0}, .median_us = 1.0, .ci95_low_us = 1.0, .ci95_high_us = 1.0};
  record.artifact = plan.code.artifact->digest;
  record.symbols = plan.code.symbols;
  const RecordKey key = record_key(spec, problem, cpu.info);
  const std::int64_t session = store->begin_session({key, "random", "", 0}, "1trials").value();
  REQUIRE(store->finish_session(session, key, record, 1.0).value());
}

/// What on_check was told.
class Findings {
 public:
  void add(const LaunchCheck& found) {
    const std::lock_guard lock(mutex_);
    all_.push_back(found);
    changed_.notify_all();
  }
  [[nodiscard]] std::size_t count() const {
    const std::lock_guard lock(mutex_);
    return all_.size();
  }
  [[nodiscard]] LaunchCheck last() const {
    const std::lock_guard lock(mutex_);
    return all_.back();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<LaunchCheck> all_;
};

/// An engine that checks, with a store in which `block` won, and arrays for copy.
class Checking {
 public:
  explicit Checking(int block, std::size_t one_in = 1, const std::function<void(const LaunchCheck&)>& also = nullptr) {
    const KernelSpec spec = wrong_copy();
    store_record(folder_ / "S.db", spec, {{"n", kElements}}, block);
    engine_.emplace(Engine::open({.store = folder_ / "S.db",
                                  .device = "cpu",
                                  .check_one_in = one_in,
                                  .on_check =
                                      [this, also](const LaunchCheck& found) {
                                        findings_.add(found);
                                        if (also != nullptr) {
                                          also(found);
                                        }
                                      }})
                        .value());
    REQUIRE(engine_->add_kernel_spec(spec.serialize()).ok());
    x_ = engine_->memory().allocate(kElements * sizeof(float)).value();
    y_ = engine_->memory().allocate(kElements * sizeof(float)).value();
    set(7, 1.5F);
  }
  void set(std::size_t i, float value) {
    input_.at(i) = value;
    REQUIRE(engine_->memory().upload(x_->address(), std::as_bytes(std::span(input_))).ok());
  }
  Kernel look_up() { return engine_->kernel("copy", DType::kF32, {{"n", kElements}}).value(); }
  /// Element i of the copy.
  float launch(const Kernel& copy, std::size_t i) {
    std::vector<float> output(kElements, -1.0F);
    REQUIRE(copy.launch(nullptr, static_cast<const float*>(x_->address()), static_cast<float*>(y_->address())).ok());
    REQUIRE(engine_->memory().download(std::as_writable_bytes(std::span(output)), y_->address()).ok());
    return output.at(i);
  }
  /// Launches until one more was checked: one that comes during a check is not.
  LaunchCheck launch_until_checked(const Kernel& copy) {
    for (const std::size_t before = findings_.count(); findings_.count() == before;) {
      launch(copy, 0);
      std::this_thread::yield();
    }
    return findings_.last();
  }
  Engine& engine() { return *engine_; }
  Findings& findings() { return findings_; }

 private:
  Folder folder_;
  Findings findings_;
  std::optional<Engine> engine_;
  std::unique_ptr<Buffer> x_, y_;
  std::vector<float> input_ = std::vector<float>(kElements, 2.0F);
};

}  // namespace

TEST_CASE("a check of a launch says what it was of, and that it agrees with the default") {
  Checking checking(256);
  const Kernel copy = checking.look_up();
  REQUIRE(copy.source() == Source::kExact);
  const LaunchCheck found = checking.launch_until_checked(copy);
  CHECK(found.finding == Finding::kAgrees);
  CHECK(found.kernel == "copy");
  CHECK(found.problem == copy.problem());
  CHECK(found.configuration == copy.configuration_text());
  CHECK(found.worst == 0.0);
  CHECK(contains(found.text, "agrees with the default"));
  CHECK(checking.engine().warnings().empty());
}

TEST_CASE("a configuration that is wrong for a rare input is found, and the default serves in its place") {
  Checking checking(256);
  const Kernel copy = checking.look_up();
  CHECK(checking.launch_until_checked(copy).finding == Finding::kAgrees);
  checking.set(9, kRare);
  LaunchCheck found = checking.launch_until_checked(copy);
  while (found.finding == Finding::kAgrees) {  // of a launch before the input changed
    found = checking.launch_until_checked(copy);
  }
  CHECK(found.finding == Finding::kDiffers);
  CHECK(found.argument == "y");
  CHECK(found.wrong == 1);
  CHECK(found.elements == kElements);
  CHECK(found.first_wrong == 9);
  CHECK(found.actual == 1.0);
  CHECK(found.of_default == kRare);
  CHECK(found.worst > 1.0);
  SUBCASE("in handles") {
    CHECK(copy.superseded());
    CHECK(checking.launch(copy, 9) == kRare);
  }
  SUBCASE("in lookups") {
    const Kernel now = checking.look_up();
    CHECK(now.source() == Source::kDefault);
    CHECK(contains(now.why(), "was wrong in a check"));
    CHECK(checking.launch(now, 9) == kRare);
  }
  SUBCASE("in lookups of the nearest shape") {
    CHECK(checking.engine().kernel("copy", DType::kF32, {{"n", 2 * kElements}}).value().source() == Source::kDefault);
  }
  SUBCASE("and warnings say so") {
    REQUIRE(checking.engine().warnings().size() == 1);
    CHECK(contains(checking.engine().warnings().front(), "argument 'y': 1 of 64 elements differ from the default's, the first at index 9"));
    CHECK(contains(checking.engine().warnings().front(), "hone verify copy --update"));
  }
}

TEST_CASE("a configuration that a check found wrong serves no other shape that was loaded before") {
  Checking checking(256);
  const auto other = [&] { return checking.engine().kernel("copy", DType::kF32, {{"n", 2 * kElements}}).value(); };
  const Kernel before = other();
  REQUIRE(before.source() == Source::kNearest);
  const Kernel copy = checking.look_up();
  checking.set(9, kRare);
  while (checking.launch_until_checked(copy).finding == Finding::kAgrees) {  // of a launch before the input changed
  }
  CHECK(before.superseded());
  CHECK(other().source() == Source::kDefault);
  CHECK(contains(other().why(), "was wrong in a check"));
}

TEST_CASE("a bound kernel's lookups find the default once a check found the configuration wrong") {
  Checking checking(256);
  const BoundKernel bound = checking.engine().bind("copy", DType::kF32, {"n"}).value();
  checking.set(0, kRare);
  CHECK((*bound(kElements))->source() == Source::kExact);
  CHECK(checking.launch_until_checked(**bound(kElements)).finding == Finding::kDiffers);
  CHECK((*bound(kElements))->source() == Source::kDefault);
}

TEST_CASE("NaNs in outputs are no finding where inputs have some, and both configurations agree") {
  Checking checking(256);
  const Kernel copy = checking.look_up();
  checking.set(3, std::numeric_limits<float>::quiet_NaN());
  const LaunchCheck found = checking.launch_until_checked(copy);
  CHECK(found.finding == Finding::kAgrees);
  CHECK(found.not_finite == 1);
}

TEST_CASE("one launch of so many is checked, and none without check_one_in") {
  Checking checking(256, 1000);
  const Kernel copy = checking.look_up();
  for (int i = 0; i < 999; ++i) {
    checking.launch(copy, 0);
  }
  CHECK(checking.findings().count() == 0);
  checking.launch_until_checked(copy);
}

TEST_CASE("a sum in another order, with a workspace to clear, agrees with the default's") {
  const Folder folder;
  const Shape shape{{"n", 100'000}};
  store_record(folder / "S.db", **find_builtin_kernel("full_sum"), shape, 64);
  Findings findings;
  Engine engine = Engine::open({.store = folder / "S.db",
                                .device = "cpu",
                                .check_one_in = 1,
                                .on_check = [&](const LaunchCheck& found) { findings.add(found); }})
                      .value();
  const Kernel sum = engine.kernel("full_sum", DType::kF32, shape).value();
  REQUIRE(sum.source() == Source::kExact);
  std::vector<float> input(100'000);
  for (std::size_t i = 0; i < input.size(); ++i) {  // nearly cancels: what is right is small, and rounding is not
    input[i] = (i % 2 == 0 ? 1.0F : -1.0F) * (1.0F + static_cast<float>(i % 1000) * 1e-3F);
  }
  const auto x = engine.memory().allocate(input.size() * sizeof(float)).value();
  const auto y = engine.memory().allocate(sizeof(float)).value();
  REQUIRE(engine.memory().upload(x->address(), std::as_bytes(std::span(input))).ok());
  while (findings.count() < 3) {
    REQUIRE(sum.launch(nullptr, static_cast<const float*>(x->address()), static_cast<float*>(y->address())).ok());
  }
  CHECK(findings.last().finding == Finding::kAgrees);
}

TEST_CASE("the default is not held against itself") {
  Checking checking(128);  // the record's configuration is the default
  const Kernel copy = checking.look_up();
  REQUIRE(copy.source() == Source::kExact);
  for (int i = 0; i < 100; ++i) {
    checking.launch(copy, 0);
  }
  CHECK(checking.findings().count() == 0);
}

TEST_CASE("what on_check throws is a warning") {
  Checking checking(256, 1, [](const LaunchCheck&) { throw std::runtime_error("no log"); });
  const Kernel copy = checking.look_up();
  checking.launch_until_checked(copy);
  checking.launch_until_checked(copy);  // the check after it: the exception was handled
  CHECK(checking.engine().warnings() == std::vector<std::string>{"EngineOptions::on_check threw: no log"});
}

TEST_CASE("a handle that outlives its engine launches without checks") {
  std::optional<Kernel> copy;
  alignas(16) std::array<float, kElements> x{}, y{};
  {
    Checking checking(256);
    copy = checking.look_up();
    checking.launch_until_checked(*copy);
  }
  x.fill(3.0F);
  CHECK(copy->launch(nullptr, static_cast<const float*>(x.data()), y.data()).ok());
  CHECK(y.back() == 3.0F);
}

}  // namespace hone::test
