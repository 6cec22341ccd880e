// References that take the configuration, and problems that the author of a file wants tried.
#include <algorithm>

#include "engine/kernel/against.hpp"
#include "engine/kernel/instantiation.hpp"
#include "engine/kernel/kernel_problem.hpp"
#include "engine/kernel/small_problems.hpp"
#include "tests/kernel/reader_fixture.hpp"

using namespace hone;
using reader_test::can_read;
using reader_test::error_of;
using reader_test::Folder;

namespace {

std::string shaped_file(const std::string& reference, const std::string& rest = "") {
  return "#include <hone/kernel.h>\n"
         "struct Problem { RANGE(0) long n = 100; long rows = 10; bool upper = false; };\n"
         "struct Config { TUNE(32, 64) int block = 32; TUNE(1, 2, 4) int parts = 1; TUNE(false, true) bool wide = false; };\n"
         "constexpr Launch launch(Problem p, Config c) { return {.grid = {p.n}, .block = {c.block}}; }\n" +
         rest + "\n" + reference +
         "\ntemplate <class T, Config c> KERNEL void add(IN(p.n) const T* x, INOUT(p.n) T* y, OUT(p.rows) float* z, Problem p) {}\n";
}

std::string reference(const std::string& parameters, const std::string& body = "") {
  return "template <class T> REFERENCE(p.n) void add_reference(long i, const T* x, double* y, double* z" + parameters + ") { " + body +
         " }";
}

const std::string kPlain = reference(", Problem p");

KernelSpec read_text(const std::string& text) {
  const Folder folder;
  auto spec = read_kernel_file(folder.write("add.cu", text));
  REQUIRE_MESSAGE(spec.ok(), spec.error().message);
  auto again = parse_kernel_spec(spec->serialize());  // what crosses a process boundary is the same
  REQUIRE_MESSAGE(again.ok(), again.error().message);
  return std::move(again).value();
}

bool says(const std::string& error, const std::string& what) {
  CAPTURE(error);
  return error.find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("a reference takes the configuration, and the fields that it reads are known") {
  if (!can_read()) {
    return;
  }
  const KernelSpec spec = read_text(shaped_file(reference(", Problem p, Config c", "y[i] = c.parts > 1 ? 1 : c.wide;")));
  REQUIRE(spec.reference.size() == 1);
  CHECK(spec.reference[0].arguments == std::vector<int>{0, 1, 2, kProblemParameter, kConfigParameter});
  CHECK(spec.reference[0].fields == std::vector<int>{1, 2});
  const AnswerCode code = answer_code(spec, {});
  CHECK(code.passes[0].arguments == std::vector<int>{0, 1, 2, kProblemParameter, spec.configured(1), spec.configured(2)});
  CHECK(code.source.find("hone_c.parts = static_cast") != std::string::npos);
}

TEST_CASE("one that hands the configuration on reads all of it; one without it reads nothing") {
  if (!can_read()) {
    return;
  }
  const std::string helper = "inline int parts_of(Config c) { return c.parts; }";
  CHECK(read_text(shaped_file(reference(", Config c", "y[i] = c.parts + parts_of(c);"), helper)).reference[0].fields ==
        std::vector<int>{0, 1, 2});
  const KernelSpec plain = read_text(shaped_file(kPlain));
  CHECK(plain.reference[0].fields.empty());
  CHECK(answer_code(plain, {}).passes[0].function == "add_reference");
}

TEST_CASE("where the configuration is no part of the answer's side, the error says what to do") {
  if (!can_read()) {
    return;
  }
  const std::string generator = "template <class T> INPUT(x) T x_input(long i, Config c) { return T(0.0f); }";
  CHECK(says(error_of(shaped_file(kPlain, generator)), "a generator takes no Config: all configurations get the same inputs"));
  const std::string accept = "template <class T> ACCEPT(p.n) bool f(long i, const T* y, Config c) { return true; }";
  CHECK(says(error_of(shaped_file(kPlain, accept)), "a function that accepts results takes no Config"));
  CHECK(says(
      error_of(shaped_file("template <class T, Config c> REFERENCE(p.n) void add_reference(long i, const T* x, double* y, double* z) {}")),
      "take it by value, as `Config c`"));
  CHECK(says(error_of(shaped_file(
                 "template <class T> REFERENCE(c.block) void add_reference(long i, const T* x, double* y, double* z, Config c) {}")),
             "add.cu:6:30: error"));
}

TEST_CASE("nothing is held against a kernel whose right answer depends on its own configuration") {
  if (!can_read()) {
    return;
  }
  const KernelSpec judge = read_text(shaped_file(reference(", Config c", "y[i] = c.parts;")));
  const auto held = held_against(read_text(shaped_file(kPlain)), judge);
  REQUIRE_FALSE(held.ok());
  CHECK(says(held.error().message, "the correct answer of add depends on its own configuration"));
}

TEST_CASE("SHAPES lists problems; fields that are left out have their defaults") {
  if (!can_read()) {
    return;
  }
  const KernelSpec spec = read_text(
      shaped_file(kPlain, "SHAPES({.n = 3, .upper = true}, {.rows = 7},\n  {.n = 0});\nSHAPES({.n = 5 * 13, .rows = 2}, {.rows = 7});"));
  REQUIRE(spec.shapes.size() == 4);
  CHECK(spec.shapes[0] == Shape{{"n", 3}, {"rows", 10}, {"upper", 1}});
  CHECK(spec.shapes[1] == Shape{{"n", 100}, {"rows", 7}, {"upper", 0}});
  CHECK(spec.shapes[2] == Shape{{"n", 0}, {"rows", 10}, {"upper", 0}});
  CHECK(spec.shapes[3] == Shape{{"n", 65}, {"rows", 2}, {"upper", 0}});
  CHECK(spec.warnings.empty());
  const Problem tuned{DType::kF16, spec.shapes[1]};
  const std::vector<Problem> given = given_problems(spec, tuned, 64);
  REQUIRE(given.size() == 2);  // not the problem itself, and not the one of 65 elements
  CHECK(given[0].shape == spec.shapes[0]);
  CHECK(given[0].dtype == DTypes(DType::kF16));
}

TEST_CASE("a shape has the values of the problem in fields that are compiled in") {
  if (!can_read()) {
    return;
  }
  const KernelSpec spec = read_text(
      "#include <hone/kernel.h>\nstruct Problem { long n = 100; STATIC long width = 4; };\nstruct Config { TUNE(32, 64) int block = 32; "
      "};\n"
      "constexpr Launch launch(Problem p, Config c) { return {.grid = {p.n}, .block = {c.block}}; }\n"
      "template <class T> REFERENCE(p.n * p.width) void add_reference(long i, const T* x, double* y, Problem p) { y[i] = x[i]; }\n"
      "SHAPES({.n = 3});\n"
      "template <class T, Config c> KERNEL void add(IN(p.n * p.width, .normal) const T* x, OUT(p.n * p.width) T* y, Problem p) {}\n");
  REQUIRE(spec.shapes.size() == 1);
  const Problem tuned{DType::kF16, Shape{{"n", 100}, {"width", 8}}};
  const std::vector<Problem> given = given_problems(spec, tuned, 64);
  REQUIRE(given.size() == 1);
  CHECK(given[0].shape == Shape{{"n", 3}, {"width", 8}});
}

TEST_CASE("what is wrong with a shape is said where it stands") {
  if (!can_read()) {
    return;
  }
  CHECK(says(error_of(shaped_file(kPlain, "SHAPES({.n = 3}, {.m = 4});")), "add.cu:5:20: error: field designator 'm'"));
  CHECK(says(error_of(shaped_file(kPlain, "SHAPES({.n = 3},\n  {.rows = 0});")),
             "add.cu:6:3: error: SHAPES: 'rows' is 0; an extent is at least 1"));
  CHECK(says(error_of(shaped_file(kPlain, "SHAPES({.n = 1L << 30});")), "elements; SHAPES are small problems"));
  CHECK(says(error_of(shaped_file(kPlain, "SHAPES();")), "SHAPES lists problems"));
  CHECK(says(error_of(shaped_file(kPlain, "long later();\nSHAPES({.n = later()});")), "error"));
}

TEST_CASE("a shape that valid refuses for all configurations is an error, one that it refuses for the default a warning") {
  if (!can_read()) {
    return;
  }
  const std::string never = "constexpr bool valid(Problem p, Config c) { if (p.rows > p.n) return false; return p.n % c.block == 0; }\n";
  CHECK(says(error_of(shaped_file(kPlain, never + "SHAPES({.n = 64, .rows = 65});")),
             "add.cu:6:8: error: SHAPES: 'valid' rejects every configuration on"));
  const KernelSpec spec = read_text(shaped_file(kPlain, never + "SHAPES({.n = 50, .rows = 2}, {.n = 64});"));
  CHECK(spec.shapes.size() == 2);
  REQUIRE(spec.warnings.size() == 1);
  CHECK(says(spec.warnings[0], "add.cu:6:8: warning: SHAPES: 'valid' rejects the default configuration on n=50,rows=2"));
}

TEST_CASE("extents that may be 0 are 0 in one of the small problems") {
  if (!can_read()) {
    return;
  }
  const KernelSpec spec = read_text(shaped_file(kPlain));
  const std::vector<Problem> small = ragged_problems(spec, Problem{DType::kF32, {{"n", 100}, {"rows", 10}, {"upper", 0}}}, 1 << 16);
  const auto empty = [](const Problem& problem) { return problem.shape[0].second == 0; };
  CHECK(std::ranges::count_if(small, empty) == 1);
  CHECK(std::ranges::none_of(small, [](const Problem& problem) { return problem.shape[1].second < 1; }));
}

TEST_CASE("of an in-place argument a function of the answer's code makes doubles") {
  if (!can_read()) {
    return;
  }
  const KernelSpec spec = read_text(shaped_file(kPlain));
  const AnswerCode code = answer_code(spec, {});
  REQUIRE(code.passes.size() == 2);
  CHECK(code.passes[1].arguments == std::vector<int>{1, spec.expected(1)});
  CHECK(code.passes[1].extent.text() == "p.n");
}
