// Element types as a kernel file writes them: fixed ones, scalars, small vectors, several type parameters.
#include <algorithm>

#include "engine/kernel/instantiation.hpp"
#include "engine/kernel/kernel_problem.hpp"
#include "tests/kernel/reader_fixture.hpp"

using namespace hone;
using reader_test::can_read;
using reader_test::error_of;

namespace {

constexpr std::string_view kTypesHead =
    "#include <hone/kernel.h>\n#include <hone/kernel_narrow.h>\n"
    "struct Problem { long n = 64; };\nstruct Config { TUNE(32, 64) int block = 32; };\n"
    "enum class Layout { rows, columns = 5 };\nenum Small : unsigned char { kA, kB };\n"
    "constexpr Launch launch(Problem p, Config c) { return {.grid = {p.n}, .block = {c.block}}; }\n";

/// A kernel of these parameters and a reference that writes y.
std::string fixed(const std::string& parameters) {
  return std::string(kTypesHead) + "REFERENCE(p.n) void add_reference(long i, double* y, Problem p) { y[i] = 0; }\n" +
         "template <Config c> KERNEL void add(" + parameters + ", OUT(p.n) float* y, Problem p) {}\n";
}

/// With type parameters.
std::string templated(const std::string& types, const std::string& marks, const std::string& parameters) {
  return std::string(kTypesHead) + "template <" + types +
         "> REFERENCE(p.n) void add_reference(long i, double* y, Problem p) { y[i] = 0; }\n" + "template <" + types +
         ", Config c> KERNEL " + marks + " void add(" + parameters + ", Problem p) {}\n";
}

KernelSpec read_typed(const std::string& text) {
  const reader_test::Folder folder;
  auto spec = read_kernel_file(folder.write("add.cu", text));
  REQUIRE_MESSAGE(spec.ok(), (spec.ok() ? "" : spec.error().message));
  return *std::move(spec);
}

const Argument& argument(const KernelSpec& spec, std::string_view name) {
  const auto found = std::ranges::find(spec.arguments, name, &Argument::name);
  REQUIRE(found != spec.arguments.end());
  return *found;
}

}  // namespace

TEST_CASE("every C++ spelling of a type is the dtype that it is") {
  if (!can_read()) {
    return;
  }
  const KernelSpec spec = read_typed(fixed(
      "IN(p.n) const signed char* a, IN(p.n) const unsigned char* b, IN(p.n) const short* c_, IN(p.n) const uint16_t* d, "
      "IN(p.n) const unsigned* e, IN(p.n) const long* f, IN(p.n) const long long* g, IN(p.n) const size_t* h, IN(p.n) const bool* i_, "
      "IN(p.n) const e4m3* j, IN(p.n) const e5m2* k, IN(p.n) const i4x2* l, IN(p.n) const u4x2* m, IN(p.n) const int8_t* n, "
      "IN(p.n) const u64* o, IN(p.n) const int64_t* q, IN(p.n) const i32* r"));
  const std::vector<DType> expected{DType::kI8,   DType::kU8,  DType::kI16,  DType::kU16,  DType::kU32,  DType::kI64,
                                    DType::kI64,  DType::kU64, DType::kBool, DType::kE4M3, DType::kE5M2, DType::kI4x2,
                                    DType::kU4x2, DType::kI8,  DType::kU64,  DType::kI64,  DType::kI32,  DType::kF32};
  REQUIRE(spec.arguments.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(spec.arguments[i].name);
    CHECK(spec.arguments[i].dtype == expected[i]);
    CHECK_FALSE(spec.arguments[i].element_is_t);
  }
}

TEST_CASE("scalars are of any of them, and of enumerations, which are stored as what they are") {
  if (!can_read()) {
    return;
  }
  const KernelSpec spec = read_typed(fixed(
      "SCALAR(3) long a, SCALAR(true) bool b, SCALAR(Layout::columns) Layout d, SCALAR(kB) Small e, SCALAR(0.5) f16 f, SCALAR(7) u8 g"));
  CHECK(argument(spec, "a").dtype == DType::kI64);
  CHECK(argument(spec, "a").scalar_default.integer() == 3);
  CHECK(argument(spec, "b").dtype == DType::kBool);
  CHECK(argument(spec, "b").scalar_default.integer() == 1);
  CHECK(argument(spec, "d").dtype == DType::kI32);
  CHECK(argument(spec, "d").enumeration == "Layout");
  CHECK(argument(spec, "d").scalar_default.integer() == 5);
  CHECK(argument(spec, "e").dtype == DType::kU8);
  CHECK(argument(spec, "e").scalar_default.integer() == 1);
  CHECK(argument(spec, "f").scalar_default.real() == 0.5);
  CHECK(argument(spec, "g").dtype == DType::kU8);
}

TEST_CASE("a pointer to vectors counts vectors, and its extent is that of their elements") {
  if (!can_read()) {
    return;
  }
  const KernelSpec spec = read_typed(templated("class T", "DTYPES(f32, i8)",
                                               "IN(p.n) const float4* a, IN(p.n + 1) const Vector<T, 2>* b, IN(p.n) const uchar2* d, "
                                               "IN(p.n) const Vector<f32, 4>* e, OUT(p.n) T* y"));
  const Bindings bound = bindings(make_problem(spec, DType::kF32, {{"n", 10}}).value());
  CHECK(argument(spec, "a").dtype == DType::kF32);
  CHECK(argument(spec, "a").lanes == 4);
  CHECK(argument(spec, "a").extent.evaluate(bound).value().integer() == 40);
  CHECK(argument(spec, "b").element_is_t);
  CHECK(argument(spec, "b").lanes == 2);
  CHECK(argument(spec, "b").extent.evaluate(bound).value().integer() == 22);
  CHECK(argument(spec, "d").dtype == DType::kU8);
  CHECK(argument(spec, "e").lanes == 4);
  CHECK(element_name(spec, argument(spec, "e")) == "f32 x 4");
  CHECK(element_name(spec, argument(spec, "b")) == "T x 2");
}

TEST_CASE("what a pointer may not point to is refused with what it may") {
  if (!can_read()) {
    return;
  }
  CHECK(error_of(fixed("IN(p.n) const Layout* x")).find("argument 'x' points to 'Layout'; an element is f32") != std::string::npos);
  CHECK(error_of(templated("class T", "", "IN(p.n) const Vector<T, sizeof(T)>* x, OUT(p.n) T* y")).find("with a constant N") !=
        std::string::npos);
  CHECK(error_of(fixed("SCALAR(0) float4 x")).find("parameter 'x' is of type 'float4'") != std::string::npos);
  const std::string bare = std::string(kTypesHead).replace(kTypesHead.find("#include <hone/kernel_narrow.h>\n"), 32, "");
  CHECK(error_of(bare + "template <class T> REFERENCE(p.n) void add_reference(long i, double* y, Problem p) {}\n"
                        "template <class T, Config c> KERNEL DTYPES(e4m3) void add(OUT(p.n) T* y, Problem p) {}\n")
            .find("e4m3 comes with #include <hone/kernel_narrow.h>") != std::string::npos);
}

TEST_CASE("of several types each combination is one of the kernel's dtypes, by name") {
  if (!can_read()) {
    return;
  }
  const KernelSpec spec =
      read_typed(std::string(kTypesHead) +
                 "template <class In, class Out> constexpr bool valid(Problem p, Config c) { return sizeof(In) <= sizeof(Out); }\n"
                 "template <class Out> constexpr Cost cost(Problem p) { return {.bytes = 1.0 * p.n * sizeof(Out)}; }\n"
                 "template <class In, class Out> REFERENCE(p.n) void add_reference(long i, const In* x, double* y, Problem p) {}\n"
                 "template <class In, class Out, Config c> KERNEL DTYPES(In = f16 | bf16 | e4m3, Out = bf16 | f32)\n"
                 "void add(IN(p.n * sizeof(In)) const In* x, OUT(p.n) Out* y, SCALAR(2) Out by, Problem p) {}\n");
  CHECK(spec.type_names == std::vector<std::string>{"In", "Out"});
  REQUIRE(spec.dtypes.size() == 6);
  CHECK(name(spec.dtypes[0]) == "In=f16,Out=bf16");
  CHECK(name(spec.dtypes[5]) == "In=e4m3,Out=f32");
  const Problem problem = make_problem(spec, DTypes{{"In", DType::kE4M3}, {"Out", DType::kF32}}, {}).value();
  CHECK(name(make_problem(spec, DType::kBF16, {}).value().dtype) == "In=bf16,Out=bf16");
  CHECK_FALSE(make_problem(spec, DType::kE4M3, {}).ok());  // of which Out?
  CHECK_FALSE(make_problem(spec, DType::kI8, {}).ok());
  CHECK(argument(spec, "x").element(problem.dtype) == DType::kE4M3);
  CHECK(argument(spec, "y").element(problem.dtype) == DType::kF32);
  CHECK(argument(spec, "by").element(problem.dtype) == DType::kF32);
  CHECK(argument(spec, "x").extent.evaluate(bindings(problem)).value().integer() == 64);
  CHECK(spec.cost.bytes.evaluate(bindings(problem)).value().real() == 256.0);
  CHECK(spec.constraints.at(0).condition.text() == "sizeof(In) <= sizeof(Out)");
  CHECK(instantiation(spec, spec.passes.at(0), problem.dtype, {{Value(32)}}) == "add<e4m3, f32, Config{32}>");
  CHECK(reference_instantiation(spec, "add_reference", problem.dtype) == "add_reference<e4m3, f32>");

  const KernelSpec again = parse_kernel_spec(spec.serialize()).value();
  CHECK(again.dtypes == spec.dtypes);
  CHECK(again.type_names == spec.type_names);
  CHECK(argument(again, "y").type_parameter == 1);
  CHECK(again.serialize() == spec.serialize());
}

TEST_CASE("dtypes are chosen by as much as says which") {
  if (!can_read()) {
    return;
  }
  const KernelSpec spec = read_typed(
      templated("class In, class Out", "DTYPES(In = f16 | bf16 | e4m3, Out = bf16 | f32)", "IN(p.n) const In* x, OUT(p.n) Out* y"));
  const auto chosen = [&](std::string_view text) {
    const auto dtypes = choose_dtypes(spec, text);
    return dtypes ? name(*dtypes) : dtypes.error().message;
  };
  CHECK(chosen("In=e4m3,Out=bf16") == "In=e4m3,Out=bf16");
  CHECK(chosen("Out=f32,In=f16") == "In=f16,Out=f32");
  CHECK(chosen("bf16") == "In=bf16,Out=bf16");
  CHECK(chosen("e4m3").find("'e4m3' matches several dtypes; give --dtype In=e4m3,Out=bf16 or In=e4m3,Out=f32") != std::string::npos);
  CHECK(chosen("").find("which dtype?") != std::string::npos);
  CHECK(chosen("In=i8,Out=f32").find("unknown dtype of In 'i8'") != std::string::npos);
  CHECK(chosen("A=f16").find("unknown type parameter 'A'") != std::string::npos);
  CHECK(chosen("f64").find("unknown dtype 'f64'") != std::string::npos);

  const KernelSpec alone = read_typed(fixed("IN(p.n) const u8* x"));
  CHECK(name(choose_dtypes(alone, "").value()) == "u8");
  CHECK(choose_dtypes(alone, "T=u8").error().message.find("has one dtype, without a name: --dtype u8") != std::string::npos);
}

TEST_CASE("several types must be told apart, everywhere alike") {
  if (!can_read()) {
    return;
  }
  CHECK(error_of(templated("class In, class Out", "", "IN(p.n) const In* x, OUT(p.n) Out* y"))
            .find("has several types: it needs DTYPES(In = f16 | bf16, Out = f16 | f32)") != std::string::npos);
  CHECK(error_of(templated("class In, class Out", "DTYPES(In = f16)", "IN(p.n) const In* x, OUT(p.n) Out* y"))
            .find("DTYPES does not say what Out may be") != std::string::npos);
  CHECK(error_of(templated("class In, class Out", "DTYPES(f16, f32)", "IN(p.n) const In* x, OUT(p.n) Out* y")).find("is not of the form") !=
        std::string::npos);
  const std::string other = std::string(kTypesHead) +
                            "template <class A, class Out> REFERENCE(p.n) void add_reference(long i, double* y, Problem p) {}\n" +
                            "template <class In, class Out, Config c> KERNEL DTYPES(In = f16, Out = f32) void add(IN(p.n) const In* x, "
                            "OUT(p.n) Out* y, Problem p) {}\n";
  CHECK(error_of(other).find("must be templates on the same types in the same order: <class In, class Out>") != std::string::npos);
}

TEST_CASE("the reference sees vectors as they are or as their elements") {
  if (!can_read()) {
    return;
  }
  const auto with = [](const std::string& seen) {
    return std::string(kTypesHead) + "REFERENCE(p.n) void add_reference(long i, " + seen + ", double* y, Problem p) {}\n" +
           "template <Config c> KERNEL void add(IN(p.n) const float4* x, OUT(p.n) float4* y, Problem p) {}\n";
  };
  CHECK(error_of(with("const float4* x")) == "(no error)");
  CHECK(error_of(with("const float* x")) == "(no error)");
  CHECK(error_of(with("const float2* x")).find("input 'x' must point to the type it points to in the kernel") != std::string::npos);
}

TEST_CASE("outputs of 64-bit integers may be exact in the reference, and no others") {
  if (!can_read()) {
    return;
  }
  const auto with = [](const std::string& kernel, const std::string& reference) {
    return std::string(kTypesHead) + "REFERENCE(p.n) void add_reference(long i, " + reference + " y, Problem p) {}\n" +
           "template <Config c> KERNEL void add(OUT(p.n) " + kernel + " y, Problem p) {}\n";
  };
  CHECK(read_typed(with("i64*", "i64*")).arguments.at(0).exact);
  CHECK(read_typed(with("size_t*", "unsigned long long*")).arguments.at(0).exact);
  CHECK_FALSE(read_typed(with("i64*", "double*")).arguments.at(0).exact);
  CHECK(parse_kernel_spec(read_typed(with("i64*", "i64*")).serialize()).value().arguments.at(0).exact);
  CHECK(error_of(with("i64*", "u64*")).find("output 'y' of the reference must be `double* y`, or `i64* y`") != std::string::npos);
  CHECK(error_of(with("i32*", "i32*")).find("output 'y' of the reference must be `double* y`") != std::string::npos);
}
