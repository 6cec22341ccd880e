// Libraries among the kernels of an operation: their specs, and when they serve.
#include "engine/store/library_lookup.hpp"

#include <doctest/doctest.h>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/plugin/registry.hpp"
#include "engine/tune/session.hpp"
#include "engine/worker/worker.hpp"
#include "tests/runtime/engine_fixture.hpp"

namespace hone {
namespace {

using test::contains;
using LibraryFolder = test::Folder;

/// A softmax of a library: algorithms 0 to 9 in one or two parts, of which it has four for any problem with fewer than 100 columns.
class MadeUpLibrary final : public LibraryKernel {
 public:
  std::string number = "2.1";
  bool here = true;
  mutable int opened = 0;

  [[nodiscard]] std::string_view name() const override { return "made_up"; }
  [[nodiscard]] std::string_view operation() const override { return "softmax"; }
  [[nodiscard]] std::string_view summary() const override { return "A library"; }
  [[nodiscard]] Result<LibraryVersion> version() const override {
    ++opened;
    return here ? Result<LibraryVersion>(LibraryVersion{number, "libmade_up.so"}) : Error{ErrorCode::kUnavailable, "no libmade_up.so"};
  }
  void describe(KernelSpec& spec) const override {
    spec.dtypes = {DType::kF32};
    spec.parameters = {{.name = "algorithm", .values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, .default_value = 0},
                       {.name = "parts", .values = {1, 2}, .default_value = 1}};
    spec.constraints = {{.condition = Expression::make(Operator::kLess, {Expression::variable("p.cols"), Expression::constant(100)}),
                         .text = "p.cols < 100"}};
  }
  [[nodiscard]] Result<LibrarySpace> space(const DeviceInfo& /*info*/, const Problem& /*problem*/) const override {
    return LibrarySpace{.configurations = {{{7, 1}}, {{7, 2}}, {{3, 2}}}, .suggested = 1};
  }
};

class LibraryFixture {
 public:
  [[nodiscard]] Problem problem(std::int64_t rows, std::int64_t columns = 64) const {
    return make_problem(*operation.definition, DType::kF32, {{"rows", rows}, {"cols", columns}}).value();
  }
  void record(const KernelSpec& spec, std::int64_t rows, double us) const {
    const RecordKey key = record_key(spec, problem(rows), device);
    const std::int64_t session = store->begin_session({key, "random", "", 0}, "1trials").value();
    Record made;
    made.configuration = choose(spec, problem(rows), device, nullptr).value().configuration;
    made.configuration_text = text(spec.parameters, made.configuration);
    made.measurement = {.samples_us = {us}, .median_us = us, .ci95_low_us = us, .ci95_high_us = us};
    made.session = session;
    REQUIRE(store->finish_session(session, key, made, 1.0).value());
  }
  void choose_for(const KernelSpec& spec, std::int64_t rows) const {
    REQUIRE(
        store
            ->put_operation_record(operation_key("softmax", problem(rows), device),
                                   {.kernel = spec.name, .source_hash = spec.source_hash, .session = 1, .created_at = {}, .problem = {}})
            .ok());
  }
  [[nodiscard]] OperationChoice chosen(std::int64_t rows) {
    return choose(operation, problem(rows), device, store.get(), libraries).value();
  }

 private:
  LibraryFolder folder_;

 public:
  DeviceInfo device = builtin_registry().device("cpu").value().info;
  Operation operation = find_operation("softmax").value();
  std::unique_ptr<Store> store = open_store(folder_ / "S.db", StoreMode::kReadWrite).value();
  MadeUpLibrary library;
  Libraries libraries{{&library}};
};

}  // namespace

TEST_CASE("a library's function is an implementation of its operation, of its version") {
  MadeUpLibrary library;
  const KernelSpec spec = library_spec(library).value();
  CHECK(spec.name == "made_up");
  CHECK(spec.library == "made_up 2.1");
  CHECK(operation_of(spec) == "softmax");
  CHECK(spec.judge != nullptr);
  CHECK(spec.passes.size() == 1);
  CHECK(spec.passes.front().arguments.size() == spec.arguments.size());
  CHECK(parse_kernel_spec(spec.serialize())->library == spec.library);
  CHECK(library_spec(library)->source_hash == spec.source_hash);
  library.number = "2.2";
  CHECK(library_spec(library)->source_hash != spec.source_hash);
  library.here = false;
  CHECK(library_spec(library).error().code == ErrorCode::kUnavailable);
}

TEST_CASE("the space of a library for a problem holds what it lists and its own choice") {
  const LibraryFixture fixture;
  TuneRequest request;
  request.problem = fixture.problem(8);
  request.device.info = fixture.device;
  request.spec = parse_kernel_spec(library_spec_for(fixture.library, fixture.device, request.problem)->serialize()).value();
  CHECK(request.spec.listed.size() == 4);
  CHECK(request.spec.parameters[0].values == std::vector<Value>{0, 3, 7});
  const auto space = space_of(request).value();
  CHECK(space->size() == 4);
  CHECK(space->contains({{0, 1}}));
  CHECK(space->contains({{3, 2}}));
  CHECK_FALSE(space->contains({{3, 1}}));
  const LikelySpace likely = likely_space_of(request).value();
  CHECK(likely.likely()->size() == 2);  // what is suggested, and the default
  CHECK(likely.likely()->contains({{7, 1}}));
  request.restriction = parse_restriction("parts=2").value();
  CHECK(space_of(request).value()->size() == 2);
  request.restriction = {};
  request.problem = fixture.problem(8, 128);
  const auto refused = space_of(request);
  REQUIRE_FALSE(refused.ok());
  CHECK(contains(refused.error().message, "p.cols < 100"));
  CHECK(library_spec_for(fixture.library, fixture.device, request.problem)->listed.empty());
}

TEST_CASE("a library that lists its configurations for a problem is passed over where another problem's record has others") {
  LibraryFixture fixture;
  const KernelSpec whole = library_spec(fixture.library).value();
  const RecordKey key = record_key(whole, fixture.problem(8), fixture.device);
  const std::int64_t session = fixture.store->begin_session({key, "random", "", 0}, "1trials").value();
  Record made;
  made.configuration = parse_configuration(whole.parameters, "algorithm=9,parts=1").value();
  made.configuration_text = text(whole.parameters, made.configuration);
  made.measurement = {.samples_us = {1.0}, .median_us = 1.0, .ci95_low_us = 1.0, .ci95_high_us = 1.0};
  made.session = session;
  REQUIRE(fixture.store->finish_session(session, key, made, 1.0).value());
  fixture.record(*fixture.operation.definition, 8, 2.0);

  const KernelSpec listed = library_spec_for(fixture.library, fixture.device, fixture.problem(9)).value();
  REQUIRE_FALSE(parse_configuration(listed.parameters, made.configuration_text).ok());
  fixture.operation.implementations.push_back(&listed);
  const Result<OperationChoice> chosen = choose(fixture.operation, fixture.problem(9), fixture.device, fixture.store.get());
  REQUIRE_MESSAGE(chosen.ok(), chosen.error().message);
  CHECK(chosen->spec == fixture.operation.definition);
  CHECK(chosen->choice.source == Source::kNearest);
}

TEST_CASE("a session of a kernel that lists its configurations measures these alone") {
  const LibraryFixture fixture;
  TuneRequest request;
  request.spec = *fixture.operation.definition;
  request.problem = fixture.problem(4, 32);
  request.device = builtin_registry().device("cpu").value();
  request.budget = {.seconds = std::nullopt, .trials = 6};
  const auto whole = space_of(request).value();
  const Configuration standard = default_configuration(request.spec);
  const Configuration other = whole->at(0) == standard ? whole->at(whole->size() - 1) : whole->at(0);
  for (const Configuration& one : {standard, other}) {
    request.spec.listed.push_back(text(request.spec.parameters, one));
  }
  const Result<TuneReport> report = tune(request, *fixture.store, builtin_registry());
  REQUIRE_MESSAGE(report.ok(), report.error().message);
  CHECK(report->valid == 2);
  const auto trials = fixture.store->trials(report->session, request.spec.parameters).value();
  REQUIRE(trials.size() == 2);
  for (const Trial& trial : trials) {
    CHECK((trial.configuration == standard || trial.configuration == other));
  }
}

TEST_CASE("a worker that cannot ask a library says so") {
  const LibraryFixture fixture;
  const Result<KernelSpec> spec = library_spec_in_worker(fixture.library, builtin_registry().device("cpu").value(), fixture.problem(4, 32));
  REQUIRE_FALSE(spec.ok());
  CHECK(contains(spec.error().message, "no library 'made_up'"));
}

TEST_CASE("a library serves where a session of the operation chose it, and is opened for nothing else") {
  LibraryFixture fixture;
  const KernelSpec& own = *fixture.operation.definition;
  fixture.record(own, 8, 2.0);
  fixture.choose_for(own, 8);
  CHECK(fixture.chosen(8).spec->name == "softmax");
  CHECK(fixture.library.opened == 0);
  const KernelSpec library = library_spec(fixture.library).value();
  fixture.record(library, 16, 1.0);
  fixture.choose_for(library, 16);
  const OperationChoice choice = fixture.chosen(16);
  CHECK(choice.spec->name == "made_up");
  CHECK(choice.compared);
  CHECK(choice.choice.source == Source::kExact);
  CHECK(fixture.chosen(17).spec->name == "made_up");
  CHECK(fixture.chosen(8).spec->name == "softmax");
  CHECK(fixture.library.opened == 2);  // once for each who asked
}

TEST_CASE("a pinned record of a library decides for its problem, whatever sessions of the operation chose") {
  LibraryFixture fixture;
  const KernelSpec library = library_spec(fixture.library).value();
  fixture.record(*fixture.operation.definition, 16, 1.0);
  fixture.record(library, 16, 2.0);
  CHECK(fixture.chosen(16).spec->name == "softmax");
  REQUIRE(fixture.store->set_record_state({2}, RecordState::kPinned, "").ok());
  CHECK(fixture.chosen(16).spec->name == "made_up");
  CHECK(fixture.chosen(16).choice.record->state == RecordState::kPinned);
  CHECK(fixture.chosen(17).spec->name == "softmax");
}

TEST_CASE("without the library that was chosen the next best kernel serves and says why") {
  LibraryFixture fixture;
  const KernelSpec library = library_spec(fixture.library).value();
  fixture.record(library, 8, 1.0);
  fixture.record(*fixture.operation.definition, 8, 2.0);
  fixture.choose_for(library, 8);
  SUBCASE("it is missing") {
    fixture.library.here = false;
    const OperationChoice choice = fixture.chosen(8);
    CHECK(choice.spec->name == "softmax");
    CHECK(choice.choice.source == Source::kExact);
    CHECK(contains(choice.choice.why, "made_up was chosen here, and is missing: no libmade_up.so"));
  }
  SUBCASE("it has another version") {
    fixture.library.number = "3.0";
    const OperationChoice choice = fixture.chosen(8);
    CHECK(choice.spec->name == "softmax");
    CHECK(contains(choice.choice.why, "another version"));
    CHECK(contains(choice.choice.why, "3.0"));
  }
  SUBCASE("nothing was said of another problem") {
    fixture.library.here = false;
    CHECK(fixture.chosen(9).choice.why.empty());
  }
}

}  // namespace hone
