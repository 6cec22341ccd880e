// Kernel files: text by way of libclang to a spec, or errors with their place.

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "engine/kernel/kernel_spec.hpp"
#include "tests/fuzz/mutate.hpp"

namespace {

using hone::fuzz::require;
namespace fs = std::filesystem;

/// In memory where the machine has such a folder: a file is written for each execution.
fs::path scratch_file() {
  const fs::path memory = "/dev/shm";
  std::error_code failure;
  const fs::path folder = fs::is_directory(memory, failure) ? memory : fs::temp_directory_path();
  return folder / ("hone_reader_fuzz_" + std::to_string(getpid()) + ".cu");
}

struct Scratch {
  fs::path file = scratch_file();
  ~Scratch() {
    std::error_code failure;
    fs::remove(file, failure);
  }
};

/// Pieces of kernel files, legal and not.
constexpr auto kWords = std::to_array<std::string_view>({"TUNE(1, 2, 4) ",
                                                         "TUNE() ",
                                                         "TUNE(1, 1) ",
                                                         "OPTION(\"--maxrregcount={}\") ",
                                                         "IN(p.n) ",
                                                         "OUT(p.n) ",
                                                         "INOUT(p.n) ",
                                                         "WORKSPACE(c.a) ",
                                                         "OUT_ZEROED(p.n) ",
                                                         "REFERENCE(p.n) ",
                                                         "KERNEL ",
                                                         "LAUNCH_BOUNDS(c.a) ",
                                                         "struct Problem { long n = 8; };\n",
                                                         "struct Config { TUNE(1, 2) int a = 1; };\n",
                                                         "template <class T> ",
                                                         "template <class T, Config c> ",
                                                         "template <int N> ",
                                                         "constexpr ",
                                                         "bool valid(Problem p, Config c) { return p.n % c.a == 0; }\n",
                                                         "Launch launch(Problem p, Config c) ",
                                                         "Cost cost(Problem p) ",
                                                         "return ",
                                                         "if (c.a > 1) return false;\n",
                                                         "if (",
                                                         ") return true; else ",
                                                         "p.n",
                                                         "c.a",
                                                         "d.multiprocessors",
                                                         "sizeof(T)",
                                                         "sizeof(Config)",
                                                         " + ",
                                                         " - ",
                                                         " * ",
                                                         " / ",
                                                         " % ",
                                                         " << ",
                                                         " >> ",
                                                         " & ",
                                                         " | ",
                                                         " ^ ",
                                                         " && ",
                                                         " || ",
                                                         " ? 1 : 2",
                                                         "!",
                                                         "~",
                                                         "(long)",
                                                         "(bool)",
                                                         "(double)",
                                                         "0",
                                                         "1",
                                                         "-1",
                                                         "0x7fffffffffffffff",
                                                         "1e400",
                                                         "0.5f",
                                                         "'a'",
                                                         "\"text\"",
                                                         "min(",
                                                         "max(",
                                                         ")",
                                                         "(",
                                                         "{",
                                                         "}",
                                                         "[0]",
                                                         ";",
                                                         ",",
                                                         "{.grid = {p.n}, .block = {c.a}}",
                                                         ".cluster = {2}",
                                                         ".shared = 1 << 40",
                                                         "constexpr long f(long x) { return x < 2 ? x : f(x - 1) + f(x - 2); }\n",
                                                         "f(p.n)",
                                                         "static_assert(false);",
                                                         "enum class E { kA, kB };\n",
                                                         "TUNE(E::kA, E::kB) E e = E::kA;\n",
                                                         "const T* x",
                                                         "T* y",
                                                         "double* y",
                                                         "Problem p",
                                                         "Device d",
                                                         "#include <hone/kernel.h>\n",
                                                         "#include \"none.h\"\n",
                                                         "#define X(a) a X(a)\n",
                                                         "// comment\n",
                                                         "/* open ",
                                                         "TensorMap m",
                                                         "STATIC ",
                                                         "STATIC long head = 128;\n",
                                                         "p.head",
                                                         "CONSTANT(p.n) ",
                                                         "CONSTANT(Problem::head) float table[256];\n",
                                                         "extern float table[];\n"});

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Scratch scratch;
  std::ofstream(scratch.file, std::ios::binary) << hone::fuzz::text_of(data, size);
  const auto spec = hone::read_kernel_file(scratch.file);
  if (!spec) {
    require(!spec.error().message.empty(), "an error says what is wrong");
    return 0;
  }
  const auto again = hone::parse_kernel_spec(spec->serialize());
  require(again.ok(), "what was read survives its JSON", again.ok() ? "" : again.error().message);
  require(again->parameters.size() == spec->parameters.size() && again->constraints.size() == spec->constraints.size(),
          "nothing is lost on the way");
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  hone::fuzz::Random random(seed);
  return random.one_in(4) ? LLVMFuzzerMutate(data, size, max_size) : hone::fuzz::mutate_bytes(random, kWords, data, size, max_size);
}
