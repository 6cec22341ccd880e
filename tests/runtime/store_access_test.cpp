// Lookups go on where the store fails.
#include <sqlite3.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "engine/base/digest.hpp"
#include "engine/kernel/builtin_kernels.hpp"
#include "tests/runtime/engine_fixture.hpp"

namespace hone::test {
namespace {

class Connection {
 public:
  explicit Connection(const std::filesystem::path& file) { REQUIRE(sqlite3_open(file.c_str(), &handle_) == SQLITE_OK); }
  ~Connection() { sqlite3_close(handle_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void execute(const char* sql) const { REQUIRE(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) == SQLITE_OK); }
  [[nodiscard]] std::int64_t number(const std::string& sql) const {
    sqlite3_stmt* statement = nullptr;
    REQUIRE(sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK);
    REQUIRE(sqlite3_step(statement) == SQLITE_ROW);
    const std::int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
  }

 private:
  sqlite3* handle_ = nullptr;
};

/// Overwrites the first page of a table.
void tear(const std::filesystem::path& file, const std::string& table) {
  std::int64_t page = 0, size = 0;
  {
    const Connection connection(file);
    size = connection.number("PRAGMA page_size");
    page = connection.number("SELECT rootpage FROM sqlite_schema WHERE name = '" + table + "'");
  }
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp((page - 1) * size);
  bytes << std::string(static_cast<std::size_t>(size), '\xff');
}

Kernel softmax_of(Engine& engine) { return engine.kernel("softmax", DType::kF32, kSoftmaxShape).value(); }

/// A store of this user's that has the problem's record.
class TunedStore {
 public:
  TunedStore() : user_("XDG_DATA_HOME", folder_ / "user"), file_(folder_ / "S.db") { make_tuned_store(file_); }
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

 private:
  Folder folder_;
  Variable user_;
  std::filesystem::path file_;
};

}  // namespace

TEST_CASE("a store that is locked when an engine opens: the default runs, the engine says why once, and the record is found later") {
  const TunedStore store;
  const Connection other(store.file());
  other.execute("BEGIN EXCLUSIVE");
  Engine engine = cpu_engine(store.file());
  const Kernel standard = softmax_of(engine);
  CHECK(standard.source() == Source::kDefault);
  CHECK(is_right(engine, standard));
  CHECK(engine.kernel("softmax", DType::kF32, {{"rows", 2}, {"cols", 5}}).ok());
  const BoundKernel bound = engine.bind("softmax", DType::kF32, {"rows", "cols"}).value();
  CHECK((*bound(kSoftmaxShape[0].second, kSoftmaxShape[1].second))->source() == Source::kDefault);
  REQUIRE(engine.warnings().size() == 1);
  CHECK(contains(engine.warnings()[0], "another process has locked the store"));
  other.execute("COMMIT");
  while ((*bound(kSoftmaxShape[0].second, kSoftmaxShape[1].second))->source() != Source::kExact) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  while (softmax_of(engine).source() != Source::kExact) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(is_right(engine, softmax_of(engine)));
}

TEST_CASE("a store that is locked when a problem is looked up") {
  const TunedStore store;
  Engine engine = cpu_engine(store.file());
  const Connection other(store.file());
  other.execute("BEGIN EXCLUSIVE");
  const Kernel standard = softmax_of(engine);
  CHECK(standard.source() == Source::kDefault);
  CHECK(contains(standard.why(), "another process has locked the store"));
  CHECK(is_right(engine, standard));
  CHECK(engine.warnings().size() == 1);
}

TEST_CASE("a store whose records are torn: the default runs, and the engine says why") {
  const TunedStore store;
  tear(store.file(), "record");
  Engine engine = cpu_engine(store.file());
  const Kernel standard = softmax_of(engine);
  CHECK(standard.source() == Source::kDefault);
  CHECK(contains(standard.why(), "the file is corrupt"));
  CHECK(is_right(engine, standard));
  REQUIRE(engine.warnings().size() == 1);
  CHECK(contains(engine.warnings()[0], store.file().string()));
}

TEST_CASE("a store whose code is torn: the record's configuration is compiled") {
  const TunedStore store;
  tear(store.file(), "artifact");
  Engine engine = cpu_engine(store.file());
  const Kernel tuned = softmax_of(engine);
  CHECK(tuned.source() == Source::kExact);
  CHECK(is_right(engine, tuned));
}

TEST_CASE("a store that is cut off, or no store at all") {
  const TunedStore store;
  SUBCASE("cut off") { std::filesystem::resize_file(store.file(), 5000); }
  SUBCASE("a letter") { std::ofstream(store.file()) << "Dear store,\n"; }
  SUBCASE("of a newer Hone") { Connection(store.file()).execute("PRAGMA user_version = 999"); }
  Engine engine = cpu_engine(store.file());
  CHECK(softmax_of(engine).source() == Source::kDefault);
  CHECK(is_right(engine, softmax_of(engine)));
  REQUIRE(engine.warnings().size() == 1);
  CHECK(contains(engine.warnings()[0], store.file().string()));
}

TEST_CASE("a store that cannot be written serves what is in it") {
  const TunedStore store;
  REQUIRE(chmod(store.file().c_str(), 0444) == 0);
  Engine engine = cpu_engine(store.file());
  CHECK(softmax_of(engine).source() == Source::kExact);
  CHECK(is_right(engine, softmax_of(engine)));
  CHECK(engine.kernel("copy", DType::kF32, {{"n", 64}}).ok());  // compiled, and not kept
  CHECK(engine.warnings().empty());
}

TEST_CASE("a winner whose code does not load: the default runs, and the engine says why") {
  const TunedStore store;
  // As an update of the system may leave it: sealed, sound, and without the symbol that is asked for.
  const KernelSpec& spec = **find_builtin_kernel("softmax");
  const Registry::Found cpu = builtin_registry().device("cpu").value();
  {
    const auto opened = open_store(store.file(), StoreMode::kReadWrite).value();
    const Problem problem = make_problem(spec, DType::kF32, {{"rows", 7}, {"cols", 8}}).value();
    const std::string configuration = "block=512";
    Record record;
    record.configuration = parse_configuration(spec.parameters, configuration).value();
    record.configuration_text = text(spec.parameters, record.configuration);
    REQUIRE(valid_for(spec, problem, cpu.info, record.configuration));
    record.measurement = {.samples_us = {1.0}, .median_us = 1.0, .ci95_low_us = 1.0, .ci95_high_us = 1.0};
    auto artifact = std::make_shared<Artifact>();
    artifact->bytes = std::vector<std::byte>(64, std::byte{7});
    artifact->digest = digest(artifact->bytes);
    REQUIRE(opened->put_compiled(compiled_key(spec, problem, record.configuration_text, cpu.info), {artifact, {"nothing"}, {}}).ok());
    record.artifact = artifact->digest;
    record.symbols = {"nothing"};
    const RecordKey key = record_key(spec, problem, cpu.info);
    REQUIRE(opened->finish_session(opened->begin_session({key, "random", "", 0}, "1trials").value(), key, record, 1.0).value());
  }
  Engine engine = cpu_engine(store.file());
  const Kernel standard = engine.kernel("softmax", DType::kF32, {{"rows", 7}, {"cols", 8}}).value();
  CHECK(standard.source() == Source::kDefault);
  CHECK(contains(standard.why(), "was skipped"));
  CHECK(engine.warnings().size() == 1);
}

}  // namespace hone::test
