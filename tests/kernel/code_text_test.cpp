// What a kernel's source hash depends on: tokens, and neither comments nor layout. (engine/kernel/code_text.hpp, as seen from outside.)
#include "tests/kernel/reader_fixture.hpp"

namespace {

using reader_test::can_read;
using reader_test::Folder;

constexpr const char* kKernel = R"(// y = 2 x.
#include <hone/kernel.h>

#include "twice.h"

struct Problem { long n = 64; };    // elements
struct Config { TUNE(32, 64) int block = 32; };

/* the whole
   geometry */
constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block)}, .block = {c.block}}; }
#define LAST (p.n)
template <class T> REFERENCE(p.n) void add_reference(long i, const T* x, double* y, Problem p) { y[i] = i < LAST ? 2.0 * (float)x[i] : 0; }
template <class T, Config c> KERNEL void add(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) {
  const long i = blockIdx.x * (long)c.block + threadIdx.x;
  const char* text = "two  // spaces";
  (void)text;
  if (i < p.n) y[i] = T(twice((float)x[i]) + 1'000 - 1000);
}
)";

constexpr const char* kHeader = "HONE_BOTH constexpr float twice(float a) { return a + a; }\n";

std::string hash_of(const std::string& kernel, const std::string& header = kHeader) {
  const Folder folder;
  folder.write("twice.h", header);
  const auto spec = hone::read_kernel_file(folder.write("add.cu", kernel));
  REQUIRE_MESSAGE(spec.ok(), spec.error().message);
  return spec->source_hash;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, "the test's kernel has no '", from, "'");
  return text.replace(at, from.size(), to);
}

std::string changed(const std::string& from, const std::string& to) { return hash_of(replaced(kKernel, from, to)); }

}  // namespace

TEST_CASE("comments and layout leave the source hash as it is") {
  if (!can_read()) {
    return;
  }
  const std::string hash = hash_of(kKernel);
  CHECK(changed("// y = 2 x.", "// y is twice x. It's \"quoted\" /* and not */ simple.") == hash);
  CHECK(changed("// elements", "/* elements\n of x */") == hash);
  CHECK(changed("/* the whole\n   geometry */\n", "") == hash);
  CHECK(changed("#define LAST (p.n)", "#define   LAST /* the end */ (p.n)  // of all") == hash);
  CHECK(changed("#define LAST (p.n)", "#define LAST \\\n  (p.n)") == hash);
  CHECK(changed("(long)c.block + threadIdx.x;", "( long ) c.block\n      + /* one */ threadIdx.x ;") == hash);
  CHECK(changed("\n\n", "\r\n\n\n\t\n") == hash);
  CHECK(hash_of(kKernel, "// Twice.\nHONE_BOTH constexpr float twice(float a) {\n  return a + a;  // twice\n}\n") == hash);
}

TEST_CASE("every token counts for the source hash") {
  if (!can_read()) {
    return;
  }
  const std::string hash = hash_of(kKernel);
  CHECK(changed("TUNE(32, 64)", "TUNE(32, 65)") != hash);
  CHECK(changed("\"two  // spaces\"", "\"two // spaces\"") != hash);
  CHECK(changed("\"two  // spaces\"", "\"two  // space\"") != hash);
  CHECK(changed("\"two  // spaces\"", "R\"(two  // spaces)\"") != hash);
  CHECK(changed("1'000", "1'001") != hash);
  CHECK(changed("1'000 - 1000", "1'000 - - 1000") != changed("1'000 - 1000", "1'000 + - 1000"));
  CHECK(changed("i < LAST", "i <= LAST") != hash);
  CHECK(changed("#define LAST (p.n)", "#define LAST (p.n - 1)") != hash);
  CHECK(changed("const char* text", "const char * const text") != hash);
  CHECK(hash_of(kKernel, "HONE_BOTH constexpr float twice(float a) { return 2 * a; }\n") != hash);
}

TEST_CASE("what stands in a raw literal is no comment") {
  if (!can_read()) {
    return;
  }
  const auto with = [](const char* literal) { return changed("\"two  // spaces\"", literal); };
  CHECK(with("R\"x(a \" // b)x\"") != with("R\"x(a \" // c)x\""));
  CHECK(with("R\"x(a )\" /* b */)x\"") != with("R\"x(a )\" /* c */)x\""));
  CHECK(with("R\"(a  b)\"") != with("R\"(a b)\""));
}

TEST_CASE("macros with and without parameters are told apart") {
  if (!can_read()) {
    return;
  }
  CHECK(changed("#define LAST (p.n)", "#define LAST (p.n)\n#define F (x)") !=
        changed("#define LAST (p.n)", "#define LAST (p.n)\n#define F(x)"));
}

TEST_CASE("where the text can see its layout, all of it counts") {
  if (!can_read()) {
    return;
  }
  const std::string lines = "\"two  // spaces\", *where = \"\" + 0 * __LINE__";
  CHECK(hash_of(replaced(kKernel, "\"two  // spaces\"", lines)) != hash_of("\n" + replaced(kKernel, "\"two  // spaces\"", lines)));
  const std::string quoting = std::string(kHeader) + "#define TEXT(x) #x\n";
  const std::string used = replaced(kKernel, "\"two  // spaces\"", "TEXT(a+b)");
  CHECK(hash_of(used, quoting) != hash_of(replaced(used, "a+b", "a + b"), quoting));
  const std::string joining = std::string(kHeader) + "#define JOIN(x, y) x##y\n";
  CHECK(hash_of(kKernel, joining) == hash_of(replaced(kKernel, "// elements", ""), joining));
}
