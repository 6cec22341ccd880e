// The records of a store through hone/hone.h.
#include "tests/c/c_fixture.hpp"

namespace hone::test {
namespace {

CRecords listed(const std::string& store, const hone_records_options& options = sized<hone_records_options>()) {
  hone_records* records = nullptr;
  Failure failure;
  REQUIRE_MESSAGE(hone_records_list(store.c_str(), &options, &records, &failure) == HONE_SUCCESS, failure.message());
  return CRecords(records);
}

hone_record record_at(const CRecords& records, std::size_t index) {
  auto record = sized<hone_record>();
  REQUIRE(hone_records_get(records.get(), index, &record, nullptr) == HONE_SUCCESS);
  return record;
}

}  // namespace

TEST_CASE("c: records are listed") {
  const Folder folder;
  const std::string store = folder / "S.db";
  make_tuned_store(store);
  const CRecords records = listed(store);
  REQUIRE(hone_records_count(records.get()) == 1);
  const hone_record record = record_at(records, 0);
  CHECK(std::string(record.kernel) == "softmax");
  CHECK(std::string(record.dtypes) == "f32");
  CHECK(std::string(record.shape) == "rows=3,cols=5");
  CHECK(contains(record.configuration, "block="));
  CHECK(record.time_us == 1.0);
  CHECK(record.served == 1);
  CHECK(record.state == HONE_RECORD_CANDIDATE);
  CHECK(record.generation == 1);
  auto beyond = sized<hone_record>();
  CHECK(hone_records_get(records.get(), 1, &beyond, nullptr) == HONE_ERROR_INVALID_ARGUMENT);
  auto others = sized<hone_records_options>();
  others.kernel = "gemm";
  CHECK(hone_records_count(listed(store, others).get()) == 0);
}

TEST_CASE("c: records are approved, pinned, withdrawn and rolled back") {
  const Folder folder;
  const std::string store = folder / "S.db";
  make_tuned_store(store);
  const std::int64_t id = record_at(listed(store), 0).id;
  std::int64_t generation = 0;
  auto approved = sized<hone_records_options>();
  approved.approved_only = 1;
  CHECK(hone_records_count(listed(store, approved).get()) == 0);
  CHECK(hone_records_set_state(store.c_str(), &id, 1, HONE_RECORD_APPROVED, "reviewed", &generation, nullptr) == HONE_SUCCESS);
  CHECK(generation == 2);
  CHECK(hone_records_count(listed(store, approved).get()) == 1);
  CHECK(hone_records_set_state(store.c_str(), &id, 1, HONE_RECORD_PINNED, nullptr, nullptr, nullptr) == HONE_SUCCESS);
  CHECK(record_at(listed(store), 0).state == HONE_RECORD_PINNED);
  CHECK(hone_records_set_state(store.c_str(), &id, 1, HONE_RECORD_WITHDRAWN, nullptr, nullptr, nullptr) == HONE_SUCCESS);
  CHECK(hone_records_count(listed(store).get()) == 0);
  auto all = sized<hone_records_options>();
  all.all = 1;
  CHECK(record_at(listed(store, all), 0).served == 0);
  auto earlier = sized<hone_records_options>();
  earlier.generation = &generation;  // 2
  CHECK(hone_records_count(listed(store, earlier).get()) == 1);
  CHECK(described(find_softmax(open_cpu(store).get()).get()).source == HONE_SOURCE_DEFAULT);
  CHECK(hone_records_roll_back(store.c_str(), 2, "it was right", &generation, nullptr) == HONE_SUCCESS);
  CHECK(generation == 5);
  CHECK(record_at(listed(store), 0).state == HONE_RECORD_APPROVED);
  CHECK(described(find_softmax(open_cpu(store).get()).get()).source == HONE_SOURCE_EXACT);
  std::int64_t newest = 0;
  CHECK(hone_records_generation(store.c_str(), &newest, nullptr) == HONE_SUCCESS);
  CHECK(newest == 5);
  hone_records* none = nullptr;
  for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{6}}) {
    earlier.generation = &wrong;
    CHECK(hone_records_list(store.c_str(), &earlier, &none, nullptr) == (wrong < 0 ? HONE_ERROR_INVALID_ARGUMENT : HONE_ERROR_NOT_FOUND));
    CHECK(none == nullptr);
  }
}

TEST_CASE("c: what cannot be done to records is said, and changes nothing") {
  const Folder folder;
  const std::string store = folder / "S.db", none = folder / "none.db";
  make_tuned_store(store);
  const std::int64_t ids[] = {record_at(listed(store), 0).id, 99};
  Failure failure;
  CHECK(hone_records_set_state(store.c_str(), ids, 2, HONE_RECORD_PINNED, nullptr, nullptr, &failure) == HONE_ERROR_NOT_FOUND);
  CHECK(failure.says("99"));
  CHECK(record_at(listed(store), 0).state == HONE_RECORD_CANDIDATE);
  CHECK(hone_records_set_state(store.c_str(), ids, 1, 4, nullptr, nullptr, &failure) == HONE_ERROR_INVALID_ARGUMENT);
  CHECK(hone_records_set_state(store.c_str(), ids, 0, HONE_RECORD_PINNED, nullptr, nullptr, &failure) == HONE_ERROR_INVALID_ARGUMENT);
  CHECK(hone_records_roll_back(store.c_str(), 7, nullptr, nullptr, &failure) == HONE_ERROR_INVALID_ARGUMENT);
  hone_records* records = nullptr;
  CHECK(hone_records_list(none.c_str(), nullptr, &records, &failure) == HONE_ERROR_NOT_FOUND);
  CHECK(records == nullptr);
  CHECK_FALSE(std::filesystem::exists(none));
}

}  // namespace hone::test
