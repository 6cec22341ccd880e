// Kernels that implement one operation: what a file says of it, and who agrees with whom.
#include "engine/kernel/operation.hpp"

#include <algorithm>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/kernel_problem.hpp"
#include "tests/kernel/reader_fixture.hpp"

using namespace hone;
using reader_test::can_read;
using reader_test::error_of;
using reader_test::Folder;

namespace {

const std::string kReference = "template <class T> REFERENCE(p.n) void add_reference(long i, const T* x, double* y) { y[i] = 0; }\n";

/// add.cu of the operation `operation`, with these fields and parameters.
std::string implementation_text(const std::string& operation, const std::string& problem = "long n = 100;",
                                const std::string& parameters = "IN(p.n) const T* x, OUT(p.n) T* y",
                                const std::string& reference = kReference, const std::string& name = "add") {
  return "#include <hone/kernel.h>\n" + operation + "\nstruct Problem { " + problem +
         " };\n"
         "struct Config { TUNE(32, 64) int block = 32; };\n"
         "constexpr Launch launch(Problem p, Config c) { return {.grid = {1}, .block = {c.block}}; }\n" +
         reference + "template <class T, Config c> KERNEL void " + name + "(" + parameters + ", Problem p) {}\n";
}

KernelSpec read_as(const std::string& name, const std::string& text) {
  const Folder folder;
  auto spec = read_kernel_file(folder.write(name + ".cu", text));
  REQUIRE_MESSAGE(spec.ok(), spec.error().message);
  auto again = parse_kernel_spec(spec->serialize());  // what crosses a process boundary is the same
  REQUIRE_MESSAGE(again.ok(), again.error().message);
  return std::move(again).value();
}

bool mentions(const std::string& error, const std::string& what) {
  CAPTURE(error);
  return error.find(what) != std::string::npos;
}

/// What is wrong with a second file of the operation `sum`, which add.cu defines.
std::string difference(const std::string& problem, const std::string& parameters) {
  const KernelSpec definition = read_as("add", implementation_text("OPERATION(sum);"));
  const KernelSpec other = read_as("other", implementation_text("OPERATION(sum);", problem, parameters, "", "other"));
  const std::vector<const KernelSpec*> known{&definition};
  const Result<KernelSpec> made = as_implementation(other, known);
  return made ? "(none)" : made.error().message;
}

}  // namespace

TEST_CASE("a file says which operation it implements") {
  if (!can_read()) {
    return;
  }
  CHECK(read_as("add", implementation_text("OPERATION(sum);")).operation == "sum");
  CHECK(read_as("add", implementation_text("OPERATION( sum );\nOPERATION(sum);")).operation == "sum");
  const KernelSpec plain = read_as("add", implementation_text(""));
  CHECK(plain.operation.empty());
  CHECK(operation_of(plain) == "add");
  CHECK(mentions(error_of(implementation_text("OPERATION(a, b);")), "takes the name of one operation"));
  CHECK(mentions(error_of(implementation_text("OPERATION();")), "takes the name of one operation"));
  CHECK(mentions(error_of(implementation_text("OPERATION(sum);\nOPERATION(product);")), "a second operation, 'product'"));
}

TEST_CASE("a file that names no operation needs a reference, and so does the first of an operation") {
  if (!can_read()) {
    return;
  }
  const std::string parameters = "IN(p.n) const T* x, OUT(p.n) T* y";
  CHECK(mentions(error_of(implementation_text("", "long n = 100;", parameters, "")), "no reference"));
  const KernelSpec first = read_as("add", implementation_text("OPERATION(sum);", "long n = 100;", parameters, ""));
  const Result<KernelSpec> alone = as_implementation(first);
  REQUIRE_FALSE(alone.ok());
  CHECK(mentions(alone.error().message, "no reference: it implements 'sum'"));
}

TEST_CASE("an implementation is held to the operation's answer") {
  if (!can_read()) {
    return;
  }
  const KernelSpec definition = read_as("add", implementation_text("OPERATION(sum);", "long n = 7;"));
  const KernelSpec other =
      read_as("other", implementation_text("OPERATION(sum);", "long n = 100;", "IN(p.n) const T* x, OUT(p.n) T* y", "", "other"));
  const std::vector<const KernelSpec*> known{&definition};
  const Result<KernelSpec> made = as_implementation(other, known);
  REQUIRE_MESSAGE(made.ok(), made.error().message);
  REQUIRE(made->judge != nullptr);
  CHECK(made->judge->name == "add");
  CHECK(made->problem.front().default_value == 7);
  CHECK(made->name == "other");
}

TEST_CASE("what differs from the operation is said, all of it") {
  if (!can_read()) {
    return;
  }
  const std::string usual = "IN(p.n) const T* x, OUT(p.n) T* y";
  CHECK(difference("long n = 5;", usual) == "(none)");
  CHECK(mentions(difference("long n = 5, m = 1;", usual), "its Problem has 'm', which the operation's lacks"));
  const std::string renamed = difference("long rows = 5;", "IN(p.rows) const T* x, OUT(p.rows) T* y");
  CHECK(mentions(renamed, "its Problem lacks 'n'"));
  CHECK(mentions(renamed, "its Problem has 'rows'"));
  CHECK(mentions(difference("bool n = true;", "IN(p.n ? 1 : 2) const T* x, OUT(1) T* y"), "'n' of its Problem is a bool"));
  CHECK(mentions(difference("long n = 5;", "OUT(p.n) T* y, IN(p.n) const T* x"), "its arguments are y, x; the operation's are x, y"));
  CHECK(
      mentions(difference("long n = 5;", "IN(p.n) const float* x, OUT(p.n) T* y"), "its argument 'x' is IN f32, and the operation's IN T"));
  CHECK(mentions(difference("long n = 5;", "INOUT(p.n) T* x, OUT(p.n) T* y"), "its argument 'x' is INOUT T"));
  CHECK(mentions(difference("long n = 5;", usual + ", WORKSPACE(p.n) float* partial"), "(none)"));
}

TEST_CASE("an operation lists the built-in kernels and the user's behind them") {
  const Operation matmul = find_operation("matmul").value();
  CHECK(matmul.definition->name == "gemm");
  CHECK(matmul.implementations.back()->name == "gemm");
  CHECK(implementations_text(matmul).find(" and gemm") != std::string::npos);
  KernelSpec own = *find_builtin_kernel("gemm").value();
  own.name = "mine";
  const std::vector<const KernelSpec*> known{&own};
  CHECK(find_operation("matmul", known)->implementations.back()->name == "mine");
  CHECK(find_operation("softmax")->implementations.size() == 1);
  CHECK(find_operation("softmax", known)->implementations.size() == 1);
  CHECK(mentions(find_operation("matmull").error().message, "matmul"));
  const std::vector<std::string> several = builtin_operations();
  CHECK(std::ranges::find(several, "matmul") != several.end());
  CHECK(std::ranges::find(several, "softmax") == several.end());
}

TEST_CASE("a kernel of one's own takes the place of an operation of its name, unless it implements that") {
  KernelSpec own = *find_builtin_kernel("softmax").value();
  own.name = "matmul";
  own.operation.clear();
  const std::vector<const KernelSpec*> known{&own};
  REQUIRE(find_operation("matmul", known)->implementations.size() == 1);
  CHECK(find_operation("matmul", known)->definition == &own);
}

TEST_CASE("the kernels of each built-in operation agree on its Problem, arguments and extents") {
  for (const std::string& name : builtin_operations()) {
    const Operation operation = find_operation(name).value();
    const KernelSpec& definition = *operation.definition;
    for (const KernelSpec* const spec : operation.implementations) {
      CAPTURE(spec->name);
      const Result<KernelSpec> made = as_implementation(*spec);
      CHECK_MESSAGE(made.ok(), made.error().message);
      for (const std::int64_t factor : {1, 3}) {
        Shape shape;
        for (const ProblemField& field : definition.problem) {
          const auto own = std::ranges::find(spec->problem, field.name, &ProblemField::name);
          REQUIRE(own != spec->problem.end());
          shape.emplace_back(field.name, own->most ? std::clamp(1 + factor, own->least, *own->most) : 5 * factor);
        }
        const Problem asked{definition.dtypes.front(), shape};
        const double own = spec->cost.flops.evaluate(bindings(problem_for(*spec, {spec->dtypes.front(), shape}).value())).value().real();
        CHECK(own == definition.cost.flops.evaluate(bindings(asked)).value().real());
        CHECK(largest_argument(*spec, {spec->dtypes.front(), shape}) == largest_argument(definition, asked));
      }
    }
  }
}
