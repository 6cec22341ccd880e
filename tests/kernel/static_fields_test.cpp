// STATIC fields of a Problem: constants of the code, variables of everything that is read.
#include "engine/kernel/static_fields.hpp"

#include <algorithm>

#include "engine/device/device.hpp"
#include "engine/kernel/small_problems.hpp"
#include "engine/store/store.hpp"
#include "tests/kernel/reader_fixture.hpp"

using namespace hone;
using reader_test::can_read;
using reader_test::error_of;

namespace {

/// A file around the fields of its Problem; `more` stands before `launch`.
std::string static_file(const std::string& fields, const std::string& more = "", const std::string& grid = "p.n") {
  return "#include <hone/kernel.h>\nenum class Layout { kRows, kColumns = 5 };\nstruct Problem {\n" + fields +
         "\n};\nstruct Config { TUNE(32, 64) int block = 32; };\n" + more +
         "constexpr Launch launch(Problem p, Config c) { return {.grid = {" + grid + "}, .block = {c.block}}; }\n" +
         "REFERENCE(p.n) void add_reference(long i, double* y, Problem p) { y[i] = 0; }\n" +
         "template <Config c> KERNEL void add(OUT(p.n) float* y, Problem p) {}\n";
}

constexpr const char* kStaticFields =
    "  long n = 64;\n  RANGE(2, 512) STATIC long head =\n      64 + 64;  // elements of a head\n  STATIC bool causal = false; bool other = "
    "true;\n"
    "  STATIC Layout layout = Layout::kColumns;";

KernelSpec read_static(const std::string& text) {
  const reader_test::Folder folder;
  auto spec = read_kernel_file(folder.write("add.cu", text));
  REQUIRE_MESSAGE(spec.ok(), (spec.ok() ? "" : spec.error().message));
  return *std::move(spec);
}

std::int64_t grid_of(const KernelSpec& spec, const Problem& problem) {
  return spec.passes[0].grid[0].evaluate(bindings(problem)).value().integer();
}

}  // namespace

TEST_CASE("a STATIC field is a field of the Problem like others, and no part of the struct that kernels take") {
  if (!can_read()) {
    return;
  }
  const KernelSpec spec = read_static(static_file(kStaticFields));
  REQUIRE(spec.problem.size() == 5);
  CHECK(spec.problem[1].name == "head");
  CHECK(spec.problem[1].is_static());
  CHECK(spec.problem[1].default_value == 128);
  CHECK(spec.problem[1].most == 512);
  CHECK(spec.problem[1].comment == "elements of a head");
  CHECK(spec.problem[2].kind == FieldKind::kFlag);
  CHECK(spec.problem[4].kind == FieldKind::kEnumeration);
  CHECK_FALSE(spec.problem[0].is_static());
  const Problem problem = make_problem(spec, spec.dtypes.front(), {{"n", 7}, {"head", 32}, {"layout", 0}}).value();
  CHECK(packed(spec, problem) == std::vector<std::int64_t>{7, 1});
  CHECK(plan_launch(spec, problem, default_configuration(spec), {}).value().front().fields == std::vector<std::int64_t>{7, 1});
  CHECK(make_problem(spec, spec.dtypes.front(), {{"head", 513}}).error().message.find("head is 513; it is at most 512") !=
        std::string::npos);
}

TEST_CASE("what is read follows a STATIC field wherever it is named") {
  if (!can_read()) {
    return;
  }
  const KernelSpec spec =
      read_static(static_file(kStaticFields,
                              "constexpr long kHalf = Problem::head / 2;\nconstexpr long twice(Problem q) { return 2 * q.head; }\n"
                              "constexpr bool valid(Problem p, Config c) { return p.layout == Layout::kColumns || Problem::causal; }\n",
                              "kHalf + twice(p) + p.head"));
  const auto at = [&](std::int64_t head) { return make_problem(spec, spec.dtypes.front(), {{"head", head}}).value(); };
  CHECK(grid_of(spec, at(128)) == 448);
  CHECK(grid_of(spec, at(32)) == 112);
  REQUIRE(spec.constraints.size() == 1);
  CHECK(spec.constraints[0].condition.variables() == std::vector<std::string>{"p.causal", "p.layout"});
}

TEST_CASE("the source for a problem has its values in place, on the same lines") {
  if (!can_read()) {
    return;
  }
  const KernelSpec spec = read_static(static_file(kStaticFields));
  const std::string source = source_for(spec, {{"n", 7}, {"head", 32}, {"causal", 1}, {"layout", 0}});
  CHECK(std::ranges::count(source, '\n') == std::ranges::count(spec.source, '\n'));
  CHECK(source.find("STATIC long head =\n      32L;") != std::string::npos);
  CHECK(source.find("STATIC bool causal = true; bool other = true;") != std::string::npos);
  CHECK(source.find("STATIC Layout layout = static_cast<decltype(Layout::kColumns)>(0);") != std::string::npos);
  CHECK(source.find("long n = 64;") != std::string::npos);
  // As a worker gets it.
  const KernelSpec sent = parse_kernel_spec(spec.serialize()).value();
  CHECK(source_for(sent, {{"head", 32}, {"causal", 1}, {"layout", 0}}) == source);
  KernelSpec damaged = spec;
  damaged.problem[1].initializer->line = 3;
  CHECK(parse_kernel_spec(damaged.serialize()).error().message.find("no initializer of static field head in line 3") != std::string::npos);
  damaged = spec;
  damaged.source = "";
  CHECK(parse_kernel_spec(damaged.serialize()).error().message.find("no initializer of static field head") != std::string::npos);
}

TEST_CASE("code of one value is not found for another") {
  if (!can_read()) {
    return;
  }
  const KernelSpec spec = read_static(static_file(kStaticFields));
  const auto key = [&](const Shape& shape) {
    return compiled_key(spec, make_problem(spec, spec.dtypes.front(), shape).value(), "block=32", {}).source_hash;
  };
  CHECK(key({{"head", 64}}) != key({{"head", 32}}));
  CHECK(key({{"causal", 1}}) != key({}));
  CHECK(key({{"n", 9}}) == key({}));
  CHECK_FALSE(same_code(spec, {{"head", 64}}, {{"head", 32}}));
  CHECK(same_code(spec, {{"n", 1}, {"head", 64}}, {{"n", 2}, {"head", 64}}));
  // Keys of files without any are what they were.
  const KernelSpec plain = read_static(static_file("  long n = 64;"));
  CHECK(compiled_key(plain, make_problem(plain, plain.dtypes.front(), {}).value(), "block=32", {}).source_hash == plain.source_hash);
}

TEST_CASE("small problems keep the values of STATIC fields") {
  if (!can_read()) {
    return;
  }
  const KernelSpec spec = read_static(static_file("  STATIC long head = 96;\n  long n = 1 << 20;"));
  const Problem problem = make_problem(spec, spec.dtypes.front(), {{"head", 80}}).value();
  std::vector<Problem> small = ragged_problems(spec, problem, 64);
  for (Problem& one : regular_problems(spec, problem, 64)) {
    small.push_back(std::move(one));
  }
  CHECK(small.size() > 5);
  for (const Problem& one : small) {
    CHECK(one.shape[0].second == 80);
    CHECK(one.shape[1].second <= 64);
  }
}

TEST_CASE("a STATIC field that cannot be compiled in, or not be followed, is refused") {
  if (!can_read()) {
    return;
  }
  CHECK(error_of(static_file("  long n = 64;\n  STATIC long head{64};"))
            .find("add.cu:5:15: error: STATIC field 'head' needs its value in the form STATIC") == 0);
  CHECK(error_of(static_file("  long n = 64;\n  STATIC int head = 64;")).find("extent 'head' of struct Problem must be a long") !=
        std::string::npos);
  CHECK(error_of(static_file("  long n = 64;\n  STATIC long head = 64;", "enum { kHalf = Problem::head / 2 };\n", "kHalf"))
            .find("the grid of kernel 'add' depends on a STATIC field through") != std::string::npos);
  CHECK(error_of(static_file("  long n = 64;\n  STATIC long head = 64;", "", "(long)sizeof(Vector<float, Problem::head>)"))
            .find("depends on a STATIC field") != std::string::npos);
  CHECK(error_of(static_file("  STATIC long head = 64;\n  long n = head;")).find("must be a constant") != std::string::npos);
  std::string config = static_file("  long n = 64;");
  config.replace(config.find("TUNE(32"), 0, "STATIC int wide = 3; ");
  CHECK(error_of(config).find("'wide' of struct Config is STATIC, but only fields of struct Problem") != std::string::npos);
  const reader_test::Folder folder;
  folder.write("problem.h", "struct Problem { long n = 64; STATIC long head = 64; };\n");
  std::string text = static_file("");
  text.replace(text.find("struct Problem {\n\n};"), std::string("struct Problem {\n\n};").size(), "#include \"problem.h\"");
  CHECK(read_kernel_file(folder.write("add.cu", text)).error().message.find("must be declared in the kernel file itself") !=
        std::string::npos);
}
