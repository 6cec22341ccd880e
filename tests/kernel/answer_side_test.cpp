// The answer's side of a kernel file: what inputs are, how far outputs may be off, who accepts them.
#include "engine/kernel/instantiation.hpp"
#include "tests/kernel/reader_fixture.hpp"

using namespace hone;
using reader_test::can_read;
using reader_test::error_of;
using reader_test::Folder;

namespace {

/// A kernel over x, index and y whose marks and further functions are the test's.
std::string file(const std::string& input, const std::string& rest = "", const std::string& behind_reference = "") {
  return "#include <hone/kernel.h>\n"
         "struct Problem { long n = 100, rows = 10; };\n"
         "struct Config { TUNE(32, 64) int block = 32; };\n"
         "constexpr Launch launch(Problem p, Config c) { return {.grid = {1}, .block = {c.block}}; }\n" +
         rest + "\ntemplate <class T> REFERENCE(p.n) " + behind_reference +
         "void add_reference(long i, const T* x, const i32* index, double* y, Problem p) {}\n"
         "template <class T, Config c> KERNEL void add(IN(p.rows) const T* x, " +
         input + " const i32* index, OUT(p.n) T* y, SCALAR(2) float scale, Problem p) {}\n";
}

KernelSpec read_answer_side(const std::string& text) {
  const Folder folder;
  auto spec = read_kernel_file(folder.write("add.cu", text));
  REQUIRE_MESSAGE(spec.ok(), spec.error().message);
  // What crosses a process boundary is the same.
  auto again = parse_kernel_spec(spec->serialize());
  REQUIRE_MESSAGE(again.ok(), again.error().message);
  return std::move(again).value();
}

}  // namespace

TEST_CASE("the mark of an input says what its elements are") {
  if (!can_read()) {
    return;
  }
  const KernelSpec spec = read_answer_side(file("IN(p.n, .low = 1, .below = p.rows, .sorted)"));
  const Fill& fill = spec.arguments[1].fill;
  CHECK(fill.low->text() == "1");
  CHECK(fill.below->text() == "p.rows");
  CHECK(fill.sorted);
  CHECK_FALSE(fill.distinct);
  CHECK(spec.arguments[1].extent.text() == "p.n");
  CHECK(fill_text(spec, 1) == "in [1, p.rows), sorted");
  CHECK(fill_text(spec, 0).empty());
}

TEST_CASE("an input whose elements stand each alone is drawn by the device, one that is ordered or distinct by the host") {
  if (!can_read()) {
    return;
  }
  const KernelSpec spec = read_answer_side(file("IN(p.n, .low = 1, .below = p.rows, .zeros = 0.5)"));
  REQUIRE(is_filled_by_device(spec, spec.arguments[1]));
  const AnswerCode code = answer_code(spec, {});
  REQUIRE(code.parts == std::vector<AnswerPart>{AnswerPart::kReference, AnswerPart::kFill});
  CHECK(code.passes[1].arguments == std::vector<int>{1, spec.seed(), kProblemParameter});
  CHECK(code.passes[1].extent.text() == "p.n");
  CHECK_FALSE(is_filled_by_device(spec, spec.arguments[0]));
  for (const std::string mark :
       {"IN(p.n, .below = p.rows, .sorted)", "IN(p.n, .below = p.n, .distinct)", "IN(p.n, .permutation)", "IN(p.n)"}) {
    const KernelSpec other = read_answer_side(file(mark));
    CHECK_FALSE(is_filled_by_device(other, other.arguments[1]));
    CHECK(answer_code(other, {}).source == other.source);
  }
}

TEST_CASE("contradictions in the mark of an input are named where they stand") {
  if (!can_read()) {
    return;
  }
  CHECK(error_of(file("IN(p.n, .below = p.rows, .permutation)")).find("a .permutation holds 0 to N - 1") != std::string::npos);
  CHECK(error_of(file("IN(p.n, .low = 3)")).find(".low needs .below") != std::string::npos);
  CHECK(error_of(file("IN(p.n, .distinct)")).find(".distinct elements need a range") != std::string::npos);
  CHECK(error_of(file("IN(p.n, .normal)")).find(".normal is for real numbers") != std::string::npos);
  CHECK(error_of(file("IN(p.n, .belo = 3)")).find("add.cu:7:") == 0);
  CHECK(error_of(file("IN(p.n, .belo = 3)")).find("'.belo = 3' is not an item of an input's mark") != std::string::npos);
  CHECK(error_of(file("IN(p.n, .below = c.block)")) != "(no error)");
}

TEST_CASE("a generator fills its input, element by element or by itself") {
  if (!can_read()) {
    return;
  }
  const std::string element =
      "template <class T> INPUT(index) i32 index_input(long i, Random& random, Problem p) { return (i32)random.integer(0, p.rows); }";
  const std::string itself =
      "template <class T> INPUT(index, p.n / 2) void index_pairs(long i, i32* index, const T* x, float scale, Random& random, Problem p) { "
      "index[2 * i] = 0; }";
  const KernelSpec spec = read_answer_side(file("IN(p.n)", element + "\n" + itself));
  REQUIRE(spec.generators.size() == 2);
  CHECK(spec.generators[0].returns_element);
  CHECK(spec.generators[0].target == 1);
  CHECK_FALSE(spec.generators[0].extent.has_value());
  CHECK_FALSE(spec.generators[1].returns_element);
  CHECK(spec.generators[1].extent->text() == "p.n / 2");
  CHECK(spec.generators[1].arguments == std::vector<int>{1, 0, 3, kRandomParameter, kProblemParameter});
  CHECK(fill_text(spec, 1) == "by index_input, by index_pairs");
  const AnswerCode code = answer_code(spec, {});
  CHECK(code.passes.size() == 3);
  CHECK(code.source.starts_with(spec.source));
}

TEST_CASE("a generator of no input, or beside a mark that says the same, is refused") {
  if (!can_read()) {
    return;
  }
  const std::string generator = "template <class T> INPUT(index) i32 index_input(long i, Random& random) { return 0; }";
  CHECK(error_of(file("IN(p.n, .below = 4)", generator)).find("one of them") != std::string::npos);
  CHECK(error_of(file("IN(p.n)", "template <class T> INPUT(y) T y_input(long i) { return T(0.0f); }")).find("'y' is not an input") !=
        std::string::npos);
  CHECK(error_of(file("IN(p.n)", "template <class T> INPUT(index) i32 f(long i, const T* y) { return 0; }")).find("'y' is not an input") !=
        std::string::npos);
  CHECK(error_of(file("IN(p.n)", "template <class T> INPUT(index) i32 f(int i) { return 0; }")).find("must be `long`") !=
        std::string::npos);
}

TEST_CASE("TOLERANCE says how far an output may be off") {
  if (!can_read()) {
    return;
  }
  const KernelSpec spec = read_answer_side(file("IN(p.n)", "", "TOLERANCE(y, .absolute = 1e-3 * p.n, .ulps = 2, .fraction = 0.999) "));
  const Bound& bound = spec.arguments[2].bound;
  CHECK(bound.ulps->text() == "2");
  CHECK(bound.fraction->text() == "0.999");
  CHECK(bound.absolute.has_value());
  CHECK_FALSE(bound.set);
  CHECK(read_answer_side(file("IN(p.n)", "", "TOLERANCE(y, .set, .group = p.rows) ")).arguments[2].bound.set);
  CHECK(error_of(file("IN(p.n)", "", "TOLERANCE(x, .ulps = 2) ")).find("TOLERANCE names an output") != std::string::npos);
  CHECK(error_of(file("IN(p.n)", "", "TOLERANCE(y) ")).find("TOLERANCE names an output") != std::string::npos);
  CHECK(error_of(file("IN(p.n)", "", "TOLERANCE(y, .ulp = 2) ")).find("'.ulp = 2' is not a tolerance") != std::string::npos);
}

TEST_CASE("a function may accept outputs; a file whose outputs are all accepted needs no reference") {
  if (!can_read()) {
    return;
  }
  const std::string accept =
      "template <class T> ACCEPT(p.n) bool add_accept(long i, const T* x, const T* y, const double* expected_y, Problem p) { return true; "
      "}";
  const KernelSpec spec = read_answer_side(file("IN(p.n)", accept));
  REQUIRE(spec.acceptances.size() == 1);
  CHECK(spec.acceptances[0].arguments == std::vector<int>{0, 2, spec.expected(2), kProblemParameter});
  CHECK(spec.is_accepted(2));
  CHECK(bound_text(spec, 2) == "judged by add_accept");

  std::string alone = file("IN(p.n)", accept);
  const auto begin = alone.find("template <class T> REFERENCE");
  alone.erase(begin, alone.find('\n', begin) - begin);
  CHECK(read_answer_side(alone).reference.empty());
  CHECK(error_of(file("IN(p.n)", "template <class T> ACCEPT(p.n) bool f(long i, const T* x) { return true; }")).find("takes no output") !=
        std::string::npos);
  CHECK(error_of(file("IN(p.n)", "template <class T> ACCEPT(p.n) int f(long i, const T* y) { return 1; }")).find("returns bool") !=
        std::string::npos);
}
