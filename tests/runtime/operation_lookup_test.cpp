// Which kernel of an operation serves a problem: lookup in a store, and in an engine.
#include "engine/store/operation_lookup.hpp"

#include <doctest/doctest.h>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/plugin/registry.hpp"
#include "tests/runtime/engine_fixture.hpp"

namespace hone {
namespace {

using test::contains;
using test::Folder;

/// softmax and two more kernels of its operation that take the same configurations, and a store.
class OperationFixture {
 public:
  OperationFixture() : store(open_store(folder_ / "S.db", StoreMode::kReadWrite).value()) {
    first.name = "first";
    second.name = "second";
    for (KernelSpec* const spec : {&first, &second}) {
      spec->operation = "softmax";
      spec->source_hash = spec->name;
      own.push_back(spec);
    }
    operation = find_operation("softmax", own).value();
  }

  [[nodiscard]] Problem problem(std::int64_t rows) const {
    return make_problem(*operation.definition, DType::kF32, {{"rows", rows}, {"cols", 64}}).value();
  }

  void record(const KernelSpec& spec, std::int64_t rows, double low_us, double high_us) const {
    const RecordKey key = record_key(spec, problem(rows), device);
    const std::int64_t session = store->begin_session({key, "random", "", 0}, "1trials").value();
    Record made;
    made.configuration = choose(spec, problem(rows), device, nullptr).value().configuration;
    made.configuration_text = text(spec.parameters, made.configuration);
    const double median = (low_us + high_us) / 2;
    made.measurement = {.samples_us = {median}, .median_us = median, .ci95_low_us = low_us, .ci95_high_us = high_us};
    made.session = session;
    REQUIRE(store->finish_session(session, key, made, 1.0).value());
  }

  void choose_for(const KernelSpec& spec, std::int64_t rows) const {
    const RecordKey key = operation_key("softmax", problem(rows), device);
    REQUIRE(store
                ->put_operation_record(
                    key, {.kernel = spec.name, .source_hash = spec.source_hash, .session = 1, .created_at = {}, .problem = {}})
                .ok());
  }

  [[nodiscard]] OperationChoice chosen(std::int64_t rows) const { return choose(operation, problem(rows), device, store.get()).value(); }

 private:
  Folder folder_;

 public:
  DeviceInfo device = builtin_registry().device("cpu").value().info;
  KernelSpec first = *find_builtin_kernel("softmax").value(), second = first;
  std::vector<const KernelSpec*> own;
  Operation operation;
  std::unique_ptr<Store> store;
};

}  // namespace

TEST_CASE("without records the first kernel that is legal serves, in its default") {
  OperationFixture fixture;
  const OperationChoice choice = choose(fixture.operation, fixture.problem(8), fixture.device, nullptr).value();
  CHECK(choice.spec->name == "softmax");
  CHECK(choice.choice.source == Source::kDefault);
  CHECK_FALSE(choice.compared);
  fixture.first.constraints.push_back({Expression::constant(false), "never", 1});
  const std::vector<const KernelSpec*> order{&fixture.first, &fixture.second};
  const Operation illegal_first{"softmax", order, &fixture.first};
  CHECK(choose(illegal_first, fixture.problem(8), fixture.device, nullptr).value().spec->name == "second");
}

TEST_CASE("of exact records that were never compared the fastest serves") {
  const OperationFixture fixture;
  fixture.record(fixture.first, 8, 2.0, 2.1);
  fixture.record(fixture.second, 8, 1.0, 1.1);
  const OperationChoice choice = fixture.chosen(8);
  CHECK(choice.spec->name == "second");
  CHECK(choice.choice.source == Source::kExact);
  CHECK_FALSE(choice.compared);
}

TEST_CASE("what a session of the operation chose stays until another kernel is clearly faster") {
  const OperationFixture fixture;
  fixture.record(fixture.first, 8, 2.0, 2.2);
  fixture.record(fixture.second, 8, 1.9, 2.1);
  fixture.choose_for(fixture.first, 8);
  CHECK(fixture.chosen(8).spec->name == "first");
  CHECK(fixture.chosen(8).compared);
  fixture.record(fixture.second, 8, 1.0, 1.1);
  CHECK(fixture.chosen(8).spec->name == "second");
  CHECK(fixture.chosen(8).compared);
}

TEST_CASE("what was known before a session of the operation chose does not take its choice's place") {
  const OperationFixture fixture;
  fixture.record(fixture.first, 8, 2.0, 2.1);
  fixture.record(fixture.second, 8, 1.0, 1.1);  // then; beside the first it lost
  fixture.choose_for(fixture.first, 8);
  CHECK(fixture.chosen(8).spec->name == "first");
  fixture.record(fixture.second, 8, 0.8, 0.9);
  CHECK(fixture.chosen(8).spec->name == "second");
}

TEST_CASE("a choice of a kernel whose source has changed does not count") {
  const OperationFixture fixture;
  KernelSpec changed = fixture.first;
  changed.source_hash = "of yesterday";
  fixture.record(fixture.second, 8, 1.0, 1.1);
  fixture.choose_for(changed, 8);
  CHECK(fixture.chosen(8).spec->name == "second");
  CHECK_FALSE(fixture.chosen(8).compared);
}

TEST_CASE("a shape that was not tuned gets the kernel that was chosen for the nearest") {
  const OperationFixture fixture;
  fixture.record(fixture.first, 16, 1.0, 1.1);
  fixture.record(fixture.second, 32, 3.0, 3.1);
  CHECK(fixture.chosen(17).spec->name == "first");  // the nearest record
  fixture.choose_for(fixture.second, 32);
  const OperationChoice choice = fixture.chosen(17);
  CHECK(choice.spec->name == "second");  // a record of one kernel says nothing of the others
  CHECK(choice.choice.source == Source::kNearest);
  CHECK(choice.choice.record->problem.shape.front().second == 32);
}

TEST_CASE("records of the same nearest shape: the faster one serves") {
  const OperationFixture fixture;
  fixture.record(fixture.first, 16, 2.0, 2.1);
  fixture.record(fixture.second, 16, 1.0, 1.1);
  CHECK(fixture.chosen(17).spec->name == "second");
}

TEST_CASE("which kernel serves is kept for each problem, and replaced") {
  const OperationFixture fixture;
  fixture.record(fixture.first, 8, 1.0, 1.1);
  fixture.choose_for(fixture.first, 8);
  fixture.choose_for(fixture.second, 16);
  fixture.choose_for(fixture.second, 8);
  const RecordKey key = operation_key("softmax", fixture.problem(8), fixture.device);
  const OperationRecord found = fixture.store->find_operation_record(key).value().value();
  CHECK(found.kernel == "second");
  CHECK(found.source_hash == "second");
  CHECK_FALSE(found.created_at.empty());
  CHECK(fixture.store->operation_records_of(key)->size() == 2);
  CHECK_FALSE(fixture.store->find_operation_record(operation_key("softmax", fixture.problem(9), fixture.device))->has_value());
  CHECK(fixture.store->operation_records_of(operation_key("norm", fixture.problem(8), fixture.device))->empty());
}

TEST_CASE("an engine chooses among the kernels of an operation and says which it took") {
  Engine engine = test::cpu_engine();
  const Kernel matmul = engine.kernel("matmul", DType::kF32, {{"m", 2}, {"n", 2}, {"k", 2}}).value();
  CHECK(matmul.implementation() == "gemm");
  CHECK(engine.kernel("gemm", DType::kF32, {{"m", 2}, {"n", 2}, {"k", 2}}).value().implementation() == "gemm");
  const Result<Kernel> unknown = engine.kernel("matmull", DType::kF32, {});
  REQUIRE_FALSE(unknown.ok());
}

TEST_CASE("a kernel that an application adds implements the operation that it names") {
  Engine engine = test::cpu_engine();
  KernelSpec own = *find_builtin_kernel("softmax").value();
  own.name = "mine";
  REQUIRE(engine.kernel("softmax", DType::kF32, test::kSoftmaxShape).value().implementation() == "softmax");
  own.operation = "softmax";
  REQUIRE(engine.add_kernel_spec(own.serialize()).ok());
  CHECK(engine.kernel("softmax", DType::kF32, test::kSoftmaxShape).value().implementation() == "softmax");
  CHECK(engine.kernel("mine", DType::kF32, test::kSoftmaxShape).value().implementation() == "mine");
  own.name = "other";
  own.problem.pop_back();
  const Result<void> refused = engine.add_kernel_spec(own.serialize());
  REQUIRE_FALSE(refused.ok());
  CHECK(contains(refused.error().message, "its Problem lacks 'cols'"));
}

TEST_CASE("an engine takes the kernel that was chosen for the problem") {
  const Folder folder;
  const auto file = folder / "S.db";
  test::make_tuned_store(file);
  KernelSpec own = *find_builtin_kernel("softmax").value();
  own.name = "mine";
  own.operation = "softmax";
  Engine engine = test::cpu_engine(file);
  REQUIRE(engine.add_kernel_spec(own.serialize()).ok());
  const Kernel kernel = engine.kernel("softmax", DType::kF32, test::kSoftmaxShape).value();
  CHECK(kernel.implementation() == "softmax");
  CHECK(kernel.source() == Source::kExact);
  CHECK(test::is_right(engine, kernel));
}

}  // namespace hone
