#include "hone/engine.hpp"

#include <sqlite3.h>
#include <sys/stat.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "engine/kernel/builtin_kernels.hpp"
#include "tests/runtime/engine_fixture.hpp"

namespace hone::test {
namespace {

/// As a store is whose schema had no generations when it was written.
void forget_generations(const std::filesystem::path& store) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(store.c_str(), &database) == SQLITE_OK);
  const char* const statements = "UPDATE record SET generation = 0; DELETE FROM change; DELETE FROM sqlite_sequence WHERE name = 'change'";
  CHECK(sqlite3_exec(database, statements, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
}

}  // namespace

TEST_CASE("an engine without a store launches the default and gets the right answer") {
  Engine engine = cpu_engine();
  const Kernel softmax = engine.kernel("softmax", DType::kF32, kSoftmaxShape).value();
  CHECK(softmax.source() == Source::kDefault);
  CHECK(softmax.why().empty());
  CHECK(engine.warnings().empty());
  CHECK(is_right(engine, softmax));
}

TEST_CASE("an engine does not wait for a server: it is sent to a file, and shows no password") {
  const auto engine = Engine::open({.store = "postgres://me:secret@db.example.org/hone", .device = "cpu"});
  REQUIRE_FALSE(engine.ok());
  CHECK(engine.error().code == ErrorCode::kStore);
  CHECK(engine.error().message.find("hone store pull") != std::string::npos);
  CHECK(engine.error().message.find("secret") == std::string::npos);
}

TEST_CASE("code that came from elsewhere is launched only where the application says so, and otherwise the default says why") {
  const Folder folder;
  const auto file = folder / "S.db";
  {
    const Variable author("XDG_DATA_HOME", folder / "author");
    make_tuned_store(file);
    CHECK(cpu_engine(file).kernel("softmax", DType::kF32, kSoftmaxShape).value().source() == Source::kExact);
  }
  const Variable other("XDG_DATA_HOME", folder / "other");
  Engine careful = cpu_engine(file);
  const Kernel standard = careful.kernel("softmax", DType::kF32, kSoftmaxShape).value();
  CHECK(standard.source() == Source::kDefault);
  CHECK(contains(standard.why(), "EngineOptions::trust_store"));
  CHECK(is_right(careful, standard));
  Engine trusting = Engine::open({.store = file, .device = "cpu", .trust_store = true}).value();
  const Kernel tuned = trusting.kernel("softmax", DType::kF32, kSoftmaxShape).value();
  CHECK(tuned.source() == Source::kExact);
  CHECK(tuned.why().empty());
  CHECK(is_right(trusting, tuned));
}

TEST_CASE("a winner of given arrays is for the engine that names them alone") {
  const Folder folder;
  const auto file = folder / "S.db";
  const std::string arrays = "0123456789abcdef0123456789abcdef";
  make_tuned_store(file, purpose_within(0.0, arrays));
  const auto source = [&](const std::string& given) {
    Engine engine = Engine::open({.store = file, .device = "cpu", .given = given}).value();
    return engine.kernel("softmax", DType::kF32, kSoftmaxShape).value().source();
  };
  CHECK(source("") == Source::kDefault);
  CHECK(source("fedcba9876543210fedcba9876543210") == Source::kDefault);
  CHECK(source(arrays) == Source::kExact);
}

TEST_CASE("an engine that is held to a generation serves what was served then, and one that is not there is refused") {
  const Folder folder;
  make_tuned_store(folder / "S.db");
  const auto store = open_store(folder / "S.db", StoreMode::kReadWrite).value();
  const std::int64_t then = store->generation().value();
  REQUIRE(store->set_record_state({1}, RecordState::kWithdrawn, "").ok());
  const auto source_at = [&](std::int64_t generation) {
    Engine engine = Engine::open({.store = folder / "S.db", .device = "cpu", .generation = generation}).value();
    return engine.kernel("softmax", DType::kF32, kSoftmaxShape).value().source();
  };
  CHECK(source_at(0) == Source::kDefault);
  CHECK(source_at(then) == Source::kExact);
  Engine held = Engine::open({.store = folder / "S.db", .device = "cpu", .generation = then}).value();
  CHECK(held.generation().value() == then);
  CHECK(Engine::open({.store = folder / "S.db", .device = "cpu"}).value().generation().value() == then + 1);
  const Result<Engine> future = Engine::open({.store = folder / "S.db", .device = "cpu", .generation = then + 2});
  REQUIRE_FALSE(future.ok());
  CHECK(future.error().message.find("has no generation") != std::string::npos);
  CHECK_FALSE(Engine::open({.store = folder / "none.db", .device = "cpu", .generation = 1}).ok());
}

TEST_CASE("an engine can be held to generation 0: what a store had before it counted generations") {
  const Folder folder;
  make_tuned_store(folder / "S.db");
  forget_generations(folder / "S.db");
  const auto opened = [&](std::optional<std::int64_t> generation) {
    return Engine::open({.store = folder / "S.db", .device = "cpu", .generation = generation}).value();
  };
  CHECK(opened({}).generation().value() == 0);
  REQUIRE(open_store(folder / "S.db", StoreMode::kReadWrite).value()->set_record_state({1}, RecordState::kWithdrawn, "").ok());
  const auto source = [](Engine engine) { return engine.kernel("softmax", DType::kF32, kSoftmaxShape).value().source(); };
  CHECK(source(opened({})) == Source::kDefault);
  CHECK(source(opened(0)) == Source::kExact);
  CHECK(opened(0).generation().value() == 0);
  const Result<Engine> before = Engine::open({.store = folder / "S.db", .device = "cpu", .generation = -1});
  REQUIRE_FALSE(before.ok());
  CHECK(before.error().code == ErrorCode::kInvalidArgument);
}

TEST_CASE("an engine for approved records runs the default until a record is approved") {
  const Folder folder;
  make_tuned_store(folder / "S.db");
  const auto source = [&] {
    Engine engine = Engine::open({.store = folder / "S.db", .device = "cpu", .approved_only = true}).value();
    return engine.kernel("softmax", DType::kF32, kSoftmaxShape).value().source();
  };
  CHECK(source() == Source::kDefault);
  REQUIRE(open_store(folder / "S.db", StoreMode::kReadWrite).value()->set_record_state({1}, RecordState::kApproved, "").ok());
  CHECK(source() == Source::kExact);
}

TEST_CASE("a default can be forced, by the application and from outside") {
  const Folder folder;
  make_tuned_store(folder / "S.db");
  const auto kernel = [&](const std::vector<std::string>& forced) {
    Engine engine = Engine::open({.store = folder / "S.db", .device = "cpu", .force_default = forced}).value();
    return engine.kernel("softmax", DType::kF32, kSoftmaxShape).value();
  };
  CHECK(kernel({}).source() == Source::kExact);
  CHECK(kernel({"gemm"}).source() == Source::kExact);
  CHECK(kernel({"softmax"}).source() == Source::kDefault);
  CHECK(kernel({"all"}).why() == "the default is forced");
  const Variable forced("HONE_FORCE_DEFAULT", "gemm,softmax");
  CHECK(kernel({}).source() == Source::kDefault);
}

TEST_CASE("the default of a kernel keeps its operation from its winner, and that of an operation holds for its kernels") {
  const Folder folder;
  KernelSpec other = **find_builtin_kernel("softmax");
  other.name = "other_softmax";
  other.operation = "softmax";
  other.source_hash = "other";
  make_tuned_store(folder / "S.db", {}, other, kSoftmaxShape);
  const auto kernel = [&](std::string_view name, const std::vector<std::string>& forced) {
    Engine engine = Engine::open({.store = folder / "S.db", .device = "cpu", .force_default = forced}).value();
    REQUIRE(engine.add_kernel_spec(other.serialize()).ok());
    return engine.kernel(name, DType::kF32, kSoftmaxShape).value();
  };
  CHECK(kernel("softmax", {}).implementation() == "other_softmax");
  CHECK(kernel("softmax", {}).source() == Source::kExact);
  CHECK(kernel("softmax", {"other_softmax"}).implementation() == "softmax");
  CHECK(kernel("softmax", {"other_softmax"}).source() == Source::kDefault);
  CHECK(kernel("other_softmax", {"other_softmax"}).source() == Source::kDefault);
  CHECK(kernel("other_softmax", {}).source() == Source::kExact);
  CHECK(kernel("other_softmax", {"softmax"}).source() == Source::kDefault);
}

TEST_CASE("a kernel of one's own that bears a built-in's name gets its own code, also where the built-in was asked for before") {
  Engine engine = cpu_engine();
  alignas(16) std::array<float, 3> x{1.0F, 2.0F, 3.0F}, y{};
  const auto copied = [&](const Kernel& copy) {
    REQUIRE(copy.launch(nullptr, std::span<const float>(x), std::span(y)).ok());
    return y;
  };
  const Kernel builtin = engine.kernel("copy", DType::kF32, {{"n", 3}}).value();
  CHECK(copied(builtin) == x);
  KernelSpec own = **find_builtin_kernel("copy");
  const std::string statement = "y[tail] = x[tail]";
  REQUIRE(contains(own.source, statement));
  own.source.replace(own.source.find(statement), statement.size(), "y[tail] = x[tail] * T(2)");
  own.source_hash = "another";
  REQUIRE(engine.add_kernel_spec(own.serialize()).ok());
  CHECK(copied(engine.kernel("copy", DType::kF32, {{"n", 3}}).value()) == std::array{2.0F, 4.0F, 6.0F});
  CHECK(copied(builtin) == x);
}

TEST_CASE("a handle goes on when its engine is gone") {
  for (const char* name : {"copy", "full_sum"}) {  // the second has workspaces, one of them cleared before each launch
    CAPTURE(name);
    const Kernel kernel = cpu_engine().kernel(name, DType::kF32, {{"n", 64}}).value();
    alignas(16) std::array<float, 64> x{}, y{};
    x.fill(0.5F);
    REQUIRE(kernel.launch(nullptr, std::span<const float>(x), std::span(y)).ok());
    CHECK(y[0] == (std::string_view(name) == "copy" ? 0.5F : 32.0F));
    CHECK(kernel.source() == Source::kDefault);
  }
}

TEST_CASE("what one thread compiles keeps nobody waiting who asks for something else") {
  const Folder folder;
  const std::filesystem::path script = folder / "compiler", begun = folder / "begun", go_on = folder / "go_on";
  std::ofstream(script) << "#!/bin/sh\n[ \"$1\" = --version ] && exec g++ --version\n: >" << begun.string() << "\nwhile [ ! -e "
                        << go_on.string() << " ]; do sleep 0.01; done\nexec g++ \"$@\"\n";
  REQUIRE(chmod(script.c_str(), 0755) == 0);
  Engine engine = cpu_engine();
  REQUIRE(engine.kernel("copy", DType::kF32, {{"n", 64}}).ok());
  const Variable compiler("HONE_CXX", script);
  bool compiled = false;
  std::thread other([&] { compiled = engine.kernel("softmax", DType::kF32, kSoftmaxShape).ok(); });
  while (!std::filesystem::exists(begun)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(engine.kernel("copy", DType::kF32, {{"n", 64}}).ok());  // under one lock it would wait for what comes after it
  std::ofstream(go_on) << "";
  other.join();
  CHECK(compiled);
}

TEST_CASE("unknown kernels, dtypes and shapes are refused by name") {
  Engine engine = cpu_engine();
  CHECK(contains(engine.kernel("sofmax", DType::kF32, {}).error().message, "softmax"));
  CHECK(contains(engine.kernel("softmax", DType::kI32, {}).error().message, "dtype"));
  CHECK(contains(engine.kernel("softmax", DType::kF32, {{"row", 1}}).error().message, "rows"));
  CHECK(contains(engine.kernel("softmax", DType::kF32, {{"rows", 0}}).error().message, "at least 1"));
}

TEST_CASE("an unknown device is refused") { CHECK_FALSE(Engine::open({.store = "", .device = "abacus"}).ok()); }

}  // namespace hone::test
