// What is compiled in, and what is copied to constant memory, from the command line.
#include <doctest/doctest.h>

#include "tests/cli/command.hpp"

namespace hone::test {
namespace {

std::string example_file(const std::string& name) { return HONE_SOURCE_DIR "/examples/kernels/" + name + ".cu"; }

Ended tune_file(const std::string& file, const std::string& shape, const std::string& store, const std::string& dtype) {
  return run({"tune", file, "--device", "cpu", "--dtype", dtype, "--shape", shape, "--budget", "3trials", "--seed", "1", "--store", store,
              "--json"});
}

/// The default of an example in which `from` is replaced.
Ended run_with(const std::string& name, const std::string& from, const std::string& to, const Arguments& more) {
  const TemporaryDirectory directory;
  std::string text = contents(example_file(name));
  const std::size_t at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  text.replace(at, from.size(), to);
  write(directory / (name + ".cu"), text);
  Arguments arguments{"run", directory / (name + ".cu"), "--device", "cpu", "--config", "default", "--store", directory / "S.db"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(arguments);
}

}  // namespace

TEST_CASE("an extent that is compiled in is tuned for each value, and serves no other") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", file = example_file("rotary");
  const Ended small = tune_file(file, "tokens=8,heads=3,head=64", store, "f32");
  REQUIRE_MESSAGE(small.exit == 0, small.err);
  CHECK(small.json()["outcomes"]["ok"] == 3);
  // The default of another value, from the same store: code of head=64 gives wrong results for it.
  const Ended other = run(
      {"run", file, "--device", "cpu", "--config", "default", "--shape", "tokens=8,heads=3,head=32", "--dtype", "f32", "--store", store});
  CHECK_MESSAGE(other.exit == 0, other.err);
  // The nearest record is of the same value, or none.
  const auto best = [&](const std::string& shape) {
    return run({"best", file, "--device", "cpu", "--shape", shape, "--dtype", "f32", "--store", store, "--json"});
  };
  CHECK(best("tokens=9,heads=3,head=64").json()["source"] == "nearest");
  const Ended none = best("tokens=8,heads=3,head=32");
  CHECK((none.exit != 0 || none.json()["source"] == "default"));
  // Each has a record of its own then.
  const Ended second = tune_file(file, "tokens=8,heads=3,head=32", store, "f32");
  REQUIRE_MESSAGE(second.exit == 0, second.err);
  CHECK(second.json()["outcomes"]["ok"] == 3);
  CHECK(best("tokens=9,heads=3,head=32").json()["tuned_shape"]["head"] == 32);
}

TEST_CASE("code that has the default's value in it is refused for another") {
  const Ended ended =
      run_with("rotary", "kHalf = Problem::head / 2", "kHalf = 64", {"--shape", "tokens=8,heads=3,head=32", "--dtype", "f32"});
  CHECK(ended.exit != 0);
  CHECK((ended.out + ended.err).find("argument 'y'") != std::string::npos);
}

TEST_CASE("a table in constant memory is filled, read and checked") {
  const TemporaryDirectory directory;
  const Ended ended = tune_file(example_file("lookup"), "n=6400", directory / "S.db", "");
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  CHECK(ended.json()["outcomes"]["ok"] == 3);
  // One that ignores it, one that reads another entry.
  for (const char* const wrong : {"line[e] = line[e];", "line[e] = table[line[e] ^ 128];"}) {
    CAPTURE(wrong);
    const Ended refused = run_with("lookup", "line[e] = c.shared ? copy[line[e]] : table[line[e]];", wrong, {"--shape", "n=6400"});
    CHECK(refused.exit != 0);
    CHECK((refused.out + refused.err).find("argument 'y'") != std::string::npos);
  }
  // A function that the kernel and the reference call may read the table by itself.
  const Ended shared = run_with(
      "lookup", "REFERENCE(p.n) void lookup_reference(long i, const u8* x, const u8* table, double* y, Problem p) { y[i] = table[x[i]]; }",
      "HONE_DEVICE u8 entry(int k) { return table[k]; }\n"
      "REFERENCE(p.n) void lookup_reference(long i, const u8* x, double* y, Problem p) { y[i] = entry(x[i]); }",
      {"--shape", "n=6400"});
  CHECK_MESSAGE(shared.exit == 0, shared.err);
}

TEST_CASE("somebody else's array in constant memory is taken as it is") {
  const TemporaryDirectory directory;
  write(directory / "their.cu",
        "__constant__ float d_filter[8];\n"
        "__global__ void blur(float* out, const float* in, int n) {\n  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i >= n) return;\n  float sum = 0;\n  for (int k = 0; k < TAPS; ++k) sum += d_filter[k] * in[i + k];\n  out[i] = sum;\n}\n");
  const std::string text =
      "#include <hone/kernel.h>\nstruct Problem { long n = 1000; };\nstruct Config { TUNE(32, 64) int block = 32; TUNE(5) "
      "OPTION(\"-DTAPS={}\") int taps = 5; };\n"
      "#include \"their.cu\"\nKERNEL void blur(OUT(p.n) float* out, IN(p.n + 8) const float* in, SCALAR(1000) int n);\nCONSTANT(5) extern "
      "float d_filter[];\n"
      "constexpr bool valid(Problem p, Config c) { return p.n == 1000; }\n"
      "constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block)}, .block = {c.block}}; }\n"
      "constexpr Cost cost(Problem p) { return {.sum_length = 5}; }\n"
      "REFERENCE(p.n) void mine_reference(long i, const float* in, const float* d_filter, double* out, Problem p) {\n"
      "  out[i] = 0;\n  for (int k = 0; k < 5; ++k) out[i] += (double)d_filter[k] * in[i + k];\n}\n";
  write(directory / "mine.cu", text);
  const Ended ended = run({"run", directory / "mine.cu", "--device", "cpu", "--config", "default", "--store", directory / "S.db"});
  CHECK_MESSAGE(ended.exit == 0, ended.err);
  const auto kernels = run({"kernels", directory / "mine.cu", "--json"}).json();
  CHECK(kernels["arguments"].back()["name"] == "d_filter");
  CHECK(kernels["arguments"].back()["direction"] == "constant");
}

TEST_CASE("an exported plan says what is copied to constant memory") {
  const TemporaryDirectory directory;
  const Ended ended = run({"export", example_file("lookup"), "--device", "cpu", "--config", "default", "--shape", "n=6400", "--out",
                           directory / "plan", "--store", directory / "S.db", "--json"});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const auto constants = ended.json()["constants"];
  REQUIRE(constants.size() == 1);
  CHECK(constants[0] == nlohmann::json{{"symbol", "table"}, {"argument", "table"}, {"bytes", 256}});
  const auto plan = ended.json();
  CHECK(plan["arguments"].back()["role"] == "in");
}

}  // namespace hone::test
