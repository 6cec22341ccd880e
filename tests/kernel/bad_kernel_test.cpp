// What is wrong with a kernel file is told at the place where it is wrong.

#include <fmt/format.h>

#include "reader_fixture.hpp"

using reader_test::error_of;

namespace {

/// A good file, in lines; a test replaces one.
struct Lines {
  std::string problem = "struct Problem { long n = 64; };";
  std::string config = "struct Config { TUNE(32, 64) int block = 32; };";
  std::string valid = "constexpr bool valid(Problem p, Config c) { return c.block <= p.n; }";
  std::string launch = "constexpr Launch launch(Problem p, Config c) { return {.grid = {p.n}, .block = {c.block}}; }";
  std::string cost = "constexpr Cost cost(Problem p) { return {.flops = 1.0 * p.n}; }";
  std::string reference = "template <class T> REFERENCE(p.n) void add_reference(long i, const T* x, double* y, Problem p) {}";
  std::string head = "template <class T, Config c>";
  std::string kernel = "KERNEL void add(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) {}";
  std::string likely = "constexpr bool likely(Problem p, Config c) { return c.block > 32; }";

  [[nodiscard]] std::string text() const {
    std::string all = "#include <hone/kernel.h>\n";
    for (const auto* line : {&problem, &config, &valid, &launch, &cost, &reference, &head, &kernel, &likely}) {
      all += *line + "\n";
    }
    return all;
  }
};

std::string with(std::string Lines::*line, const std::string& text) {
  Lines lines;
  lines.*line = text;
  return error_of(lines.text());
}

struct Bad {
  std::string Lines::*line;
  std::string text;
  std::string error;  ///< how the message begins
};

void check(const std::vector<Bad>& all) {
  if (!reader_test::can_read()) {
    return;
  }
  for (const auto& bad : all) {
    CAPTURE(bad.text);
    const std::string error = with(bad.line, bad.text);
    CAPTURE(error);
    CHECK(error.substr(0, bad.error.size()) == bad.error);
  }
}

}  // namespace

TEST_CASE("the file that the others are made of is good") {
  if (reader_test::can_read()) {
    CHECK(error_of(Lines{}.text()) == "(no error)");
  }
}

TEST_CASE("errors of C++ are clang's, all of them, at their places") {
  check({{&Lines::valid, "constexpr bool valid(Problem p, Config c) { return c.blok <= p.n; }",
          "add.cu:4:54: error: no member named 'blok' in 'Config'"},
         {&Lines::valid, "constexpr bool valid(Problem p, Config c) { return q.n > 0 && r > 0; }",
          "add.cu:4:52: error: use of undeclared identifier 'q'\nadd.cu:4:63: error: use of undeclared identifier 'r'"},
         {&Lines::kernel, "KERNEL void add(IN(p.n * q) const T* x, OUT(p.n) T* y, Problem p) {}",
          "add.cu:9:26: error: use of undeclared identifier 'q'"},
         {&Lines::kernel, "KERNEL void add(IN(p.n)    const T* x, OUT( p.n * p.k ) T* y, Problem p) {}",
          "add.cu:9:53: error: no member named 'k' in 'Problem'"},
         {&Lines::kernel, "KERNEL void add(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) { __no(x); zero(1u); }",
          "add.cu:9:74: error: use of undeclared identifier 'zero'"},
         {&Lines::config, "struct Config { TUNE(32, many) int block = 32; };", "add.cu:3:26: error: use of undeclared identifier 'many'"},
         {&Lines::config, "struct Config { TUNE(32, 2.5) int block = 32; };",
          "add.cu:3:26: error: type 'double' cannot be narrowed to 'int' in initializer list"},
         {&Lines::reference, "template <class T> REFERENCE(p.rows) void add_reference(long i, const T* x, double* y, Problem p) {}",
          "add.cu:7:32: error: no member named 'rows' in 'Problem'"}});
}

TEST_CASE("rules of struct Problem") {
  check({{&Lines::problem, "struct Problem { int n = 64; };", "add.cu:2:22: error: extent 'n' of struct Problem must be a long, not 'int'"},
         {&Lines::problem, "struct Problem { long n; };", "add.cu:2:23: error: field 'n' of struct Problem needs an initializer"},
         {&Lines::problem, "struct Problem { long n = 0; };", "add.cu:2:23: error: the default of 'n' is 0; an extent is at least 1"},
         {&Lines::problem, "struct Problem { long n = 8, m; };", "add.cu:2:30: error: field 'm' of struct Problem needs an initializer"}});
}

TEST_CASE("rules of struct Config") {
  check({{&Lines::config, "struct Config { int block = 32; };",
          "add.cu:3:21: error: parameter 'block' needs its values: TUNE(1, 2, 4) int block = 1;"},
         {&Lines::config, "struct Config { TUNE() int block = 32; };", "add.cu:3:22: error: TUNE of parameter 'block' lists no value"},
         {&Lines::config, "struct Config { TUNE(32, 64) int block; };", "add.cu:3:34: error: parameter 'block' needs an initializer"},
         {&Lines::config, "struct Config { TUNE(32, 64) int block = 48; };",
          "add.cu:3:34: error: the initializer of parameter 'block', 48, is not among its values TUNE(32, 64)"},
         {&Lines::config, "struct Config { TUNE(32, 64, 16 * 2) int block = 32; };",
          "add.cu:3:22: error: value 32 of parameter 'block' is listed twice"},
         {&Lines::config, "struct Config { TUNE(32) char block = 32; };", "add.cu:3:31: error: parameter 'block' is of type 'char'"},
         {&Lines::config, "struct Config { TUNE(32) OPTION(\"-x\") int block = 32; };",
          "add.cu:3:26: error: OPTION needs {} where the value goes"}});
}

TEST_CASE("what an expression cannot hold") {
  check({{&Lines::valid, "constexpr bool valid(Problem p, Config c) { int n = 0; for (int i = 0; i < 3; ++i) n += i; return n > 0; }",
          "add.cu:4:56: error: a loop cannot be read here: 'valid' may use arithmetic, comparisons"},
         {&Lines::valid, "constexpr bool valid(Problem p, Config c) { long n = p.n; n += 1; return n > 0; }",
          "add.cu:4:59: error: an assignment cannot be read here"},
         {&Lines::valid, "constexpr bool valid(Problem p, Config c) { switch (c.block) { default: return true; } }",
          "add.cu:4:45: error: a switch cannot be read here"},
         {&Lines::valid, "constexpr bool valid(Problem p, Config c) { return sqrtf(p.n) > 2; }",
          "add.cu:4:52: error: a call of 'sqrtf', whose body is not visible, cannot be read here"},
         {&Lines::valid, "int knob = 3; inline bool valid(Problem p, Config c) { return p.n > knob; }",
          "add.cu:4:69: error: 'knob', which is not a constant, cannot be read here"},
         {&Lines::valid,
          "constexpr bool deep(long n) { return n < 0 || deep(n - 1); } constexpr bool valid(Problem p, Config c) { return deep(p.n); }",
          "add.cu:4:47: error: an infinite recursion cannot be read here"},
         {&Lines::valid, "template <Config c> constexpr bool valid(Problem p) { return true; }",
          "add.cu:4:18: error: 'valid' takes the configuration as a parameter"},
         {&Lines::valid, "constexpr bool valid(Problem p, int c) { return true; }", "add.cu:4:37: error: 'valid' takes a 'int'"},
         {&Lines::launch, "constexpr long launch(Problem p, Config c) { return 3; }", "add.cu:5:16: error: 'launch' must return a Launch"},
         {&Lines::likely, "constexpr bool likely(Problem p, Config c) { return c.blok > 1; }",
          "add.cu:10:55: error: no member named 'blok' in 'Config'"},
         {&Lines::likely, "constexpr Cost likely(Problem p, Config c) { return {}; }", "add.cu:10:16: error: 'likely' must return bool"},
         {&Lines::likely, "constexpr bool likely(bool hint) { return hint; }", "add.cu:10:28: error: 'likely' takes a 'bool'"},
         {&Lines::likely, "constexpr bool likely(Problem p, Config c) { while (p.n < 0) {} return true; }",
          "add.cu:10:46: error: a loop cannot be read here: 'likely' may use arithmetic, comparisons"},
         {&Lines::likely, "constexpr bool likely(Problem p) { return true; } constexpr bool likely(Config c) { return true; }",
          "add.cu:10:66: error: a second 'likely'; a file has only one"},
         {&Lines::kernel, "KERNEL void add(IN(sqrtf(p.n)) const T* x, OUT(p.n) T* y, Problem p) {}",
          "add.cu:9:20: error: a call of 'sqrtf', whose body is not visible, cannot be read here: the extent of 'x' may use"}});
}

TEST_CASE("what would take for ever to read, or grow without bound, is an error at its place") {
  if (!reader_test::can_read()) {
    return;
  }
  const auto error_with = [](const std::string& functions, const std::string& body) {
    return with(&Lines::valid, functions + "constexpr bool valid(Problem p, Config c) { " + body + " }");
  };
  // Each function calls the one before it twice.
  std::string doubling = "constexpr long step0(long x) { return x + 1; } ";
  std::string locals = "const long a0 = p.n * c.block; ", sum = "c.block", ifs;
  for (int i = 1; i <= 40; ++i) {
    doubling += fmt::format("constexpr long step{0}(long x) {{ return step{1}(x) * step{1}(x + 1); }} ", i, i - 1);
    locals += fmt::format("const long a{0} = a{1} * a{1}; ", i, i - 1);
  }
  for (int i = 0; i < 3000; ++i) {
    sum += " + p.n";
    ifs += fmt::format("if (c.block == {}) return false; ", i);
  }
  CHECK(error_with(doubling, "return step40(p.n) > 1;").find("statements and operators, calls included, to read") != std::string::npos);
  CHECK(error_with("", locals + "return a40 > 1;").find("it has more than 1000 levels or 100000 operators") != std::string::npos);
  CHECK(error_with("", "return " + sum + " > 1;").find("more than 1000 levels of statements and operators to read") != std::string::npos);
  CHECK(error_with("", ifs + "return true;").find("more than 1000 levels of statements and operators to read") != std::string::npos);
}

TEST_CASE("rules of kernels and their arguments") {
  check({{&Lines::head, "template <class T>",
          "add.cu:9:13: error: kernel 'add' must be `template <class T, Config c>`, or `template <Config c>`"},
         {&Lines::kernel, "KERNEL void sum(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) {}",
          "add.cu:9:13: error: no kernel has the file's name, 'add'; the first one is called 'sum'"},
         {&Lines::kernel, "KERNEL void add(const T* x, OUT(p.n) T* y, Problem p) {}",
          "add.cu:9:26: error: pointer 'x' needs a mark: IN(N), OUT(N)"},
         {&Lines::kernel, "KERNEL void add(IN(p.n) const T* x, OUT(p.n) const T* y, Problem p) {}",
          "add.cu:9:55: error: argument 'y' is written, but points to const"},
         {&Lines::kernel, "KERNEL void add(IN(p.n) const T* x, OUT(p.n) T* y, Problem p, float a) {}",
          "add.cu:9:69: error: parameter 'a' is a number: it needs SCALAR(default)"},
         {&Lines::kernel, "KERNEL void add(IN(p.n) const T* x, OUT(p.n) T* y, Problem p, IN(3) float a) {}",
          "add.cu:9:75: error: parameter 'a' is a number: it needs SCALAR(default), but its mark is for pointers"},
         {&Lines::kernel, "KERNEL void add(IN(p.n) const T* x, OUT(c.block) T* y, Problem p) {}",
          "add.cu:9:41: error: the extent of 'y' uses c.block: only a WORKSPACE may"},
         {&Lines::kernel, "KERNEL void add(IN() const T* x, OUT(p.n) T* y, Problem p) {}",
          "add.cu:9:20: error: the mark of argument 'x' needs its number of elements"},
         {&Lines::kernel, "KERNEL void add(IN(p.n) const Problem* x, OUT(p.n) T* y, Problem p) {}",
          "add.cu:9:40: error: argument 'x' points to 'Problem'; an element is T, f32"},
         {&Lines::kernel, "KERNEL DTYPES(f32, f8) void add(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) {}", "add.cu:9:15: error: "},
         {&Lines::launch, "",
          "add.cu:9:13: error: kernel 'add' has no launch: expected `constexpr Launch launch_add(Problem p, Config c)`"}});
}

TEST_CASE("rules of the reference") {
  check({{&Lines::reference, "",
          "add.cu:1:1: error: no reference: expected `template <class T> REFERENCE(N) void add_reference(long i, ...)`"},
         {&Lines::reference, "template <class T> REFERENCE(p.n) void reference(long i, const T* x, double* y, Problem p) {}",
          "add.cu:7:40: error: the reference is called 'reference'; expected 'add_reference'"},
         {&Lines::reference, "template <class T> REFERENCE(p.n) void add_reference(const T* x, double* y, Problem p) {}",
          "add.cu:7:40: error: the first parameter of the reference must be `long`"},
         {&Lines::reference, "template <class T> REFERENCE(p.n) void add_reference(long i, const T* z, double* y, Problem p) {}",
          "add.cu:7:71: error: 'z' is not an argument of the kernel"},
         {&Lines::reference, "template <class T> REFERENCE(p.n) void add_reference(long i, const T* x, T* y, Problem p) {}",
          "add.cu:7:77: error: output 'y' of the reference must be `double* y`"},
         {&Lines::reference, "template <class T> REFERENCE() void add_reference(long i, const T* x, double* y, Problem p) {}",
          "add.cu:7:30: error: REFERENCE needs its number of indices"}});
}

TEST_CASE("rules of several references") {
  // On one line each, so that the places are those of the second one.
  const std::string first = Lines{}.reference + "\n";
  check({{&Lines::reference, first + "template <class T> REFERENCE(p.n) void add_reference_2(long i, double* y) {}", "(no error)"},
         {&Lines::reference, first + "template <class T> REFERENCE(p.n) void add_sums(long i, double* y) {}",
          "add.cu:8:40: error: the reference is called 'add_sums'; expected 'add_reference' or 'add_reference_...'"},
         {&Lines::reference, first + "template <class T> REFERENCE(p.n) void add_reference(long i, double* y) {}",
          "add.cu:8:40: error: a second reference called 'add_reference': several references need different names"},
         {&Lines::reference, first + "template <class T> REFERENCE(p.n) void add_reference_2(long i, float* y) {}",
          "add.cu:8:71: error: output 'y' of the reference must be `double* y`"},
         {&Lines::reference, first + "REFERENCE(p.n) void add_reference_2(long i, double* y) {}",
          "add.cu:8:21: error: the reference and the kernel must both be templates on T, or neither"},
         {&Lines::reference, "template <class T> REFERENCE(p.n) void add_reference_2(long i, double* y) {}",
          "add.cu:7:40: error: the reference is called 'add_reference_2'; expected 'add_reference'"}});
}

TEST_CASE("missing parts are named") {
  check({{&Lines::kernel, "void add(const T* x) {}",
          "add.cu:1:1: error: no kernel: expected `template <class T, Config c> KERNEL void add(...)`"}});
  if (reader_test::can_read()) {
    CHECK(error_of("#include <hone/kernel.h>\nstruct Config {};\n").starts_with("add.cu:1:1: error: no `struct Problem`"));
    CHECK(error_of("#include <hone/kernel.h>\nstruct Problem { long n = 1; };\n").starts_with("add.cu:1:1: error: no `struct Config`"));
  }
}

TEST_CASE("what clang cannot know is told first: misspelt marks, and the header") {
  check({{&Lines::config, "struct Config { TUEN(1, 2) int block = 2; };", "add.cu:3:17: error: unknown mark 'TUEN'; did you mean 'TUNE'?"},
         {&Lines::kernel, "KERNEL void add(INN(p.n) const T* x, OUT(p.n) T* y, Problem p) {}",
          "add.cu:9:17: error: unknown mark 'INN'; did you mean 'IN'?"},
         {&Lines::kernel, "KERNEL void add(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) { UNKNOWN }", "add.cu:9:65: error: "}});
  if (reader_test::can_read()) {
    CHECK(error_of("struct Problem { long n = 1; };\nstruct Config { TUNE(1) int block = 1; };\n")
              .starts_with("add.cu:1:1: error: the file does not include <hone/kernel.h>"));
  }
}

TEST_CASE("of many errors the first are told") {
  std::string body;
  for (int i = 0; i < 20; ++i) {
    body += "x" + std::to_string(i) + ";\n";
  }
  Lines lines;
  lines.kernel = "KERNEL void add(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) {\n" + body + "}";
  if (reader_test::can_read()) {
    const std::string error = error_of(lines.text());
    CHECK(error.find("'x7'") != std::string::npos);
    CHECK(error.find("'x8'") == std::string::npos);
    CHECK(error.ends_with("... and 12 more errors"));
  }
}

TEST_CASE("several broken rules are all told") {
  Lines lines;
  lines.problem = "struct Problem { long n; };";
  lines.config = "struct Config { TUNE(1) int block = 2; int vec = 1; };";
  if (reader_test::can_read()) {
    const std::string error = error_of(lines.text());
    CHECK(error.find("add.cu:2:23: error: field 'n'") != std::string::npos);
    CHECK(error.find("add.cu:3:44: error: parameter 'vec'") != std::string::npos);
    CHECK(error.find("add.cu:3:29: error: the initializer of parameter 'block'") != std::string::npos);
  }
}
