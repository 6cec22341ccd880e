// Inputs and answers from .npy files.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>

#include "tests/cli/command.hpp"

namespace hone::test {
namespace {

template <class T>
std::string npy_file(const std::string& descr, const std::string& shape, const std::vector<T>& values) {
  const std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
  std::string text = "\x93NUMPY";
  text += {'\1', '\0', static_cast<char>(header.size() % 256), static_cast<char>(header.size() / 256)};
  return text + header + std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

/// y = table[index].
const std::string kPick = R"cuda(#include <hone/kernel.h>
struct Problem { long n = 64, rows = 4; };
struct Config { TUNE(32, 64) int block = 32; };
constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block)}, .block = {c.block}}; }
template <class T> REFERENCE(p.n) void pick_reference(long i, const T* table, const i32* index, double* y, Problem p) { y[i] = (double)(float)table[index[i]]; }
template <class T, Config c> KERNEL void pick(IN(p.rows) const T* table, IN(p.n, .below = p.rows) const i32* index, OUT(p.n) T* y, Problem p) {
  const long i = blockIdx.x * (long)c.block + threadIdx.x;
  if (i < p.n) y[i] = table[index[i]];
}
)cuda";

struct Files {
  Files() {
    write(directory / "pick.cu", kPick);
    write(directory / "table.npy", npy_file<float>("<f4", "(5,)", {10, 20, 30, 40, 50}));
    write(directory / "index.npy", npy_file<std::int64_t>("<i8", "(8,)", {0, 1, 2, 3, 4, 4, 3, 0}));
    write(directory / "y.npy", npy_file<double>("<f8", "(8,)", {10, 20, 30, 40, 50, 50, 40, 10}));
    write(directory / "other.npy", npy_file<double>("<f8", "(8,)", {10, 20, 30, 40, 50, 50, 40, 11}));
  }
  [[nodiscard]] Ended hone(const std::string& verb, const std::vector<std::string>& more) const {
    std::vector<std::string> words{verb, directory / "pick.cu", "--device", "cpu", "--store", directory / "S.db", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  TemporaryDirectory directory;
};

}  // namespace

TEST_CASE("arrays are tuned on, say the extents, and their winner is theirs alone") {
  const Files files;
  const std::vector<std::string> inputs{"--input", "table=" + (files.directory / "table.npy"), "--input",
                                        "index=" + (files.directory / "index.npy")};
  std::vector<std::string> all = inputs;
  all.insert(all.end(), {"--expect", "y=" + (files.directory / "y.npy"), "--budget", "2trials"});
  const Ended tuned = files.hone("tune", all);
  REQUIRE_MESSAGE(tuned.exit == 0, tuned.err);
  CHECK(tuned.json()["shape"] == nlohmann::json({{"n", 8}, {"rows", 5}}));
  CHECK(tuned.json()["outcomes"]["ok"] == 2);
  CHECK(tuned.json()["given"]["digest"].get<std::string>().size() == 32);

  all.resize(all.size() - 2);
  CHECK(files.hone("best", all).exit == 0);
  const Ended other = files.hone("best", {"--shape", "n=8,rows=5"});
  CHECK(other.exit != 0);
  CHECK(files.hone("run", all).exit == 0);
}

TEST_CASE("a result that is not the given answer is refused") {
  const Files files;
  const Ended tuned =
      files.hone("tune", {"--input", "table=" + (files.directory / "table.npy"), "--input", "index=" + (files.directory / "index.npy"),
                          "--expect", "y=" + (files.directory / "other.npy"), "--budget", "1trials"});
  CHECK(tuned.exit != 0);
  CHECK(tuned.err.find("argument 'y'") != std::string::npos);
  CHECK(tuned.err.find("index 7") != std::string::npos);
}

TEST_CASE("check takes given arrays, for the kernel's own reference, for given answers and against another kernel") {
  const Files files;
  const std::vector<std::string> inputs{"--input", "table=" + (files.directory / "table.npy"), "--input",
                                        "index=" + (files.directory / "index.npy")};
  const auto checked = [&](const std::string& file, const std::vector<std::string>& more) {
    std::vector<std::string> words{"check", files.directory / file, "--device", "cpu", "--configurations", "0", "--json"};
    words.insert(words.end(), inputs.begin(), inputs.end());
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  };
  const Ended right = checked("pick.cu", {"--expect", "y=" + (files.directory / "y.npy")});
  REQUIRE_MESSAGE(right.exit == 0, right.out, right.err);
  CHECK(right.json()["given"]["digest"].get<std::string>().size() == 32);
  REQUIRE(right.json()["checked"].size() == 4);  // two blocks, by the gate and sanitized
  const nlohmann::json judged = right.json()["checked"];
  for (const nlohmann::json& one : judged) {
    CHECK(one["dtype"] == "f32");  // what the table's file has
    CHECK(one["shape"] == nlohmann::json({{"n", 8}, {"rows", 5}}));
  }
  const Ended wrong = checked("pick.cu", {"--expect", "y=" + (files.directory / "other.npy")});
  CHECK(wrong.exit == 1);
  CHECK(wrong.json()["checked"][0]["detail"].get<std::string>().find("index 7") != std::string::npos);

  std::string other = kPick;
  for (std::size_t at = other.find("pick"); at != std::string::npos; at = other.find("pick")) {
    other.replace(at, 4, "take");
  }
  write(files.directory / "take.cu", other);
  CHECK(checked("take.cu", {"--against", files.directory / "pick.cu"}).exit == 0);
  other.replace(other.find("= table[index[i]];\n}"), 18, "= index[i] == 4 && table[4] == T(50.0f) ? T(7.0f) : table[index[i]];");
  write(files.directory / "take.cu", other);  // wrong on nothing but the given table
  const Ended against = checked("take.cu", {"--against", files.directory / "pick.cu"});
  CHECK(against.exit == 1);
  CHECK(against.json()["checked"][0]["outcome"] == "wrong_result");
}

TEST_CASE("arrays that do not fit the kernel or each other are refused") {
  const Files files;
  const auto error = [&](const std::vector<std::string>& more) {
    const Ended ended = files.hone("tune", more);
    CHECK(ended.exit == 2);
    return ended.err;
  };
  const auto at = [&](const std::string& name) { return std::string(files.directory / name); };
  CHECK(error({"--input", "z=" + at("table.npy")}).find("'z' is no input of pick") != std::string::npos);
  CHECK(error({"--expect", "table=" + at("table.npy")}).find("'table' is no output of pick") != std::string::npos);
  CHECK(error({"--input", "table=" + at("none.npy")}).find("no such file") != std::string::npos);
  CHECK(error({"--input", "table"}).find("is not of the form --input ARGUMENT=FILE.npy") != std::string::npos);
  CHECK(error({"--input", "table=" + at("pick.cu")}).find("not a .npy file") != std::string::npos);
  CHECK(error({"--input", "table=" + at("table.npy"), "--shape", "rows=7"}).find("--shape has rows=7, but the given arrays have rows=5") !=
        std::string::npos);
  CHECK(error({"--input", "index=" + at("index.npy"), "--expect", "y=" + at("table.npy")}).find("p.n is 5 here but 8") !=
        std::string::npos);
}

}  // namespace hone::test
