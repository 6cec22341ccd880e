#include "engine/store/workload.hpp"

#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "tests/runtime/engine_fixture.hpp"

namespace hone::test {
namespace {

const std::string kHead = "{\"hone_workload\":1}\n";

std::string problem_line(const std::string& rest) { return kHead + "\n{\"kernel\": \"softmax\", " + rest + "}\n"; }

std::string refusal_of(const std::string& text) {
  const Result<Workload> parsed = parse_workload(text, "calls.jsonl");
  REQUIRE_FALSE(parsed.ok());
  CHECK(parsed.error().code == ErrorCode::kInvalidArgument);
  return parsed.error().message;
}

std::string file_text(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_text(const std::filesystem::path& file, const std::string& text) { std::ofstream(file) << text; }

WorkloadProblem softmax_of(std::int64_t rows, std::uint64_t count, std::optional<double> time_us = {}) {
  return {.kernel = "softmax", .dtypes = "f32", .shape = {{"rows", rows}, {"cols", 5}}, .count = count, .time_us = time_us};
}

}  // namespace

TEST_CASE("a workload is read as it was written, a line for each problem") {
  const Workload workload{softmax_of(3, 7, 12.5), {.kernel = "own/kernel.cu", .dtypes = "", .shape = {}, .count = 1}};
  const std::string written = text(workload);
  CHECK(written == kHead +
                       "{\"kernel\":\"softmax\",\"dtype\":\"f32\",\"shape\":{\"rows\":3,\"cols\":5},\"count\":7,\"time_us\":12.5}\n"
                       "{\"kernel\":\"own/kernel.cu\",\"shape\":{},\"count\":1}\n");
  const Workload read = parse_workload(written, "F").value();
  REQUIRE(read.size() == 2);
  CHECK(text(read) == written);
}

TEST_CASE("equal problems of joined workloads become one") {
  const Workload joined = parse_workload(text({softmax_of(3, 1, 10.0)}) + "\n" + kHead +
                                             "{\"kernel\":\"softmax\",\"dtype\":\"f32\",\"shape\":{\"cols\":5,\"rows\":3},\"count\":3,"
                                             "\"time_us\":14}\n" +
                                             text({softmax_of(4, 2)}),
                                         "F")
                              .value();
  REQUIRE(joined.size() == 2);
  CHECK(joined[0].count == 4);
  CHECK(joined[0].time_us == 13.0);
  CHECK(joined[1].count == 2);
  CHECK_FALSE(joined[1].time_us.has_value());
}

TEST_CASE("what is wrong in a workload is said with its file and line") {
  CHECK(contains(refusal_of(""), "calls.jsonl:1: this is no workload"));
  CHECK(contains(refusal_of("\n{\"kernel\": \"softmax\"}"), "calls.jsonl:2: this is no workload"));
  CHECK(contains(refusal_of("{\"hone_workload\": 2}"), "newer Hone"));
  CHECK(contains(refusal_of("{\"hone_workload\": \"1\"}"), "version"));
  CHECK(contains(refusal_of(kHead + "[1]"), "calls.jsonl:2: this is no JSON object"));
  CHECK(contains(refusal_of(kHead + "{\"kernel\": "), "calls.jsonl:2: this is no JSON object"));
  CHECK(contains(refusal_of(kHead + std::string(1000, '[')), "calls.jsonl:2: "));
  CHECK(contains(refusal_of(problem_line("\"shape\": {}")), "calls.jsonl:3: count is missing"));
  CHECK(contains(refusal_of(problem_line("\"shape\": {}, \"cuont\": 1")), "did you mean 'count'"));
  CHECK(contains(refusal_of(problem_line("\"shape\": {}, \"count\": 0")), "count is 0"));
  CHECK(contains(refusal_of(problem_line("\"shape\": {}, \"count\": 1.5")), "count is 1.5"));
  CHECK(contains(refusal_of(problem_line("\"shape\": \"rows=3\", \"count\": 1")), "shape is"));
  CHECK(contains(refusal_of(problem_line("\"shape\": {\"rows\": 2.5}, \"count\": 1")), "the extent rows is 2.5"));
  CHECK(contains(refusal_of(problem_line("\"shape\": {}, \"count\": 1, \"dtype\": 16")), "dtype is 16"));
  CHECK(contains(refusal_of(problem_line("\"shape\": {}, \"count\": 1, \"time_us\": -1")), "time_us is -1"));
}

TEST_CASE("launches are added to what a file holds, and the most frequent problem comes first") {
  const Folder folder;
  const std::filesystem::path file = folder / "calls.jsonl";
  CHECK(read_workload(file).error().code == ErrorCode::kNotFound);
  REQUIRE(add_to_workload(file, {softmax_of(3, 2), softmax_of(4, 1)}).ok());
  REQUIRE(add_to_workload(file, {softmax_of(4, 5, 8.0), softmax_of(5, 3)}).ok());
  const Workload held = read_workload(file).value();
  CHECK(text(held) == text({softmax_of(4, 6, 8.0), softmax_of(5, 3), softmax_of(3, 2)}));
  const std::filesystem::path parent = file.parent_path();
  CHECK(std::distance(std::filesystem::directory_iterator(parent), {}) == 1);  // no draft is left
}

TEST_CASE("a file that is no workload stays as it is, and a folder that is not there is said") {
  const Folder folder;
  write_text(folder / "notes.txt", "do not touch");
  CHECK(contains(add_to_workload(folder / "notes.txt", {softmax_of(3, 1)}).error().message, "notes.txt:1"));
  CHECK(file_text(folder / "notes.txt") == "do not touch");
  const Error missing = add_to_workload(folder / "none" / "calls.jsonl", {softmax_of(3, 1)}).error();
  CHECK(missing.code == ErrorCode::kIo);
  CHECK(contains(missing.message, "calls.jsonl"));
}

TEST_CASE("writers of one workload at a time lose no launch") {
  const Folder folder;
  const std::filesystem::path file = folder / "calls.jsonl";
  constexpr int kWriters = 4, kTimes = 10;
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([&] {
      for (int k = 0; k < kTimes; ++k) {
        const bool written = add_to_workload(file, {softmax_of(3, 1)}).ok();
        static_cast<void>(written);
      }
    });
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  CHECK(read_workload(file)->front().count == kWriters * kTimes);
}

}  // namespace hone::test
