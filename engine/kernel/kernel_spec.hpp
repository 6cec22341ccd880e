#pragma once
// What a kernel file says about itself, read once by libclang: parameters, constraints, launch geometry, arguments, cost, reference.

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/kernel/expression.hpp"
#include "hone/dtypes.hpp"
#include "hone/read_options.hpp"

namespace hone {

enum class ParameterKind { kInteger, kBoolean, kEnumeration, kReal };

/// A tunable parameter: one field of `struct Config`.
struct Parameter {
  std::string name;
  ParameterKind kind = ParameterKind::kInteger;
  std::vector<Value> values;             ///< in the order of the source; at least one
  std::vector<std::string> labels = {};  ///< kEnumeration: a label per value; otherwise empty
  std::string cpp_type = "int";          ///< the field's type in the source
  Value default_value;                   ///< the initializer; the safe choice
  std::string compile_option = {};       ///< e.g. "--maxrregcount={}", "-DTILE={}"; empty if the parameter is not a compile option
  std::string comment = {};              ///< the trailing or leading comment in the source
};

enum class FieldKind { kExtent, kFlag, kEnumeration };

/// Where the initializer of a STATIC field stands in KernelSpec::source: line and column from 1 (in bytes), and its text.
struct Initializer {
  int line = 0, column = 0;
  std::string text;
};

/// One field of `struct Problem`: an extent that the caller fixes, or a flag or an enumerator that chooses what is computed.
struct ProblemField {
  std::string name;
  std::int64_t default_value = 0;
  std::string comment;
  FieldKind kind = FieldKind::kExtent;
  std::int64_t least = 1;                                         ///< what it may be at least
  std::optional<std::int64_t> most = {};                          ///< and at most; none: any number
  std::vector<std::pair<std::string, std::int64_t>> labels = {};  ///< kEnumeration: the enumerators
  int offset = -1, width = 8;  ///< bytes, in the struct as kernels take it; an offset below 0: the fields are longs in their order
  std::optional<Initializer> initializer =
      {};  ///< of a STATIC field, which is compiled in: no part of that struct. engine/kernel/static_fields.hpp

  [[nodiscard]] bool is_static() const { return initializer.has_value(); }
};

/// One conjunct of `valid`, or of `likely`: then it is an expectation.
struct Constraint {
  Expression condition;
  std::string text;  ///< as written in the source; what the reader has turned around or taken apart, in its new form where that is short
  int line = 0;
  std::string comment = {};  ///< beside it in the source
};

/// How a kernel uses an argument. Inputs are random, outputs poisoned before a run, in-place arguments restored before each.
enum class Direction { kIn, kOut, kInOut, kWorkspace, kScalar };

/// What the elements of an input are, as its mark says. Without any of it they are drawn as docs/checking.md has it, whatever they mean.
struct Fill {
  std::optional<Expression> low = {}, below = {};  ///< elements lie in [low, below), over p.*; uniform there
  std::optional<Expression> zeros = {};            ///< so large a share of them is zero
  bool sorted = false;                             ///< they rise, or stay as they are, from one to the next
  bool distinct = false;                           ///< no two are equal
  bool permutation = false;                        ///< of 0 to N - 1
  bool normal = false;                             ///< of mean 0 and deviation 1, instead of uniform

  [[nodiscard]] bool given() const { return low || below || zeros || sorted || distinct || permutation || normal; }
};

/// How far an output may be from the reference, where its author says so; otherwise tolerance() of engine/measure/measure.hpp does.
struct Bound {
  std::optional<Expression> absolute = {}, relative = {}, ulps = {};  ///< over p.*; an element may be off by their sum
  std::optional<Expression> fraction = {};                            ///< so large a share of the elements must be right; 1 without it
  bool set = false;                                                   ///< the order of the elements is free,
  std::optional<Expression> group = {};                               ///< among so many of them that follow each other; all without it

  [[nodiscard]] bool gives_distance() const { return absolute || relative || ulps; }
};

struct Argument {
  std::string name;
  Direction direction = Direction::kIn;
  bool element_is_t = true;        ///< the element type is a type parameter of the kernel,
  std::size_t type_parameter = 0;  ///< this one of them
  DType dtype = DType::kF32;       ///< otherwise: this
  int lanes = 1;                   ///< of a pointer to vectors: 4 of float4 and of Vector<T, 4>
  Expression extent;               ///< elements (of a vector: each of its lanes), over p.*, c.* (workspaces) and sizeof(T)
  bool exact = false;              ///< of 64-bit integers: the reference writes them as what they are, not as doubles
  bool zeroed = false;             ///< must be zero before each launch (OUT_ZEROED, WORKSPACE_ZEROED)
  Value scalar_default;            ///< kScalar
  Fill fill = {};                  ///< kIn, kInOut
  Bound bound = {};                ///< kOut, kInOut
  std::string enumeration = {};    ///< kScalar: the enumeration it is of, in the source; its dtype is what that is stored as
  std::optional<Expression> capacity =
      {};  ///< kIn, of a CONSTANT: what its array in the source holds, as `extent`. No pass has it as a parameter

  [[nodiscard]] DType element(const DTypes& types) const { return element_is_t ? types[type_parameter] : dtype; }
};

/// Parameters of a pass that are none of the spec's arguments.
inline constexpr int kProblemParameter = -1;    ///< the Problem, by value
inline constexpr int kTensorMapParameter = -2;  ///< the next of the pass's tensor maps, by value
inline constexpr int kRunIndexParameter = -3;   ///< which run of a repeated pass it is, an int from 0 on

/// How an argument looks to the tensor memory accelerator: TensorView of <hone/kernel.h>, axis by axis from x.
struct TensorMapping {
  static constexpr std::size_t kMostAxes = 5;
  using Axes = std::array<Expression, kMostAxes>;
  int argument = 0;        ///< index into KernelSpec::arguments
  Axes size, box, stride;  ///< in elements; a size of 0 ends the axes, a stride of 0 means packed
  Expression swizzle, l2;  ///< bytes
  Expression offset;       ///< elements of the argument before the array
};

/// Of a pass that repeats: its first run reads `first`, each later one what the run before it wrote as `result`. Only the last run writes
/// `result` itself; those before it alternate between it and `spare`, so that no run reads what it writes.
struct Alternation {
  int first = 0, result = 0, spare = 0;  ///< indices into KernelSpec::arguments
};

/// One __global__ function and its launch geometry. A kernel of several passes runs them in order on one stream.
struct Pass {
  std::string function;
  std::vector<int> arguments;                        ///< indices into KernelSpec::arguments, or one of the parameters above
  std::vector<TensorMapping> tensor_maps = {};       ///< one for each kTensorMapParameter, in order
  std::array<Expression, 3> grid, block, cluster;    ///< cluster (1, 1, 1): no cluster launch
  Expression shared_bytes;                           ///< dynamic shared memory
  Expression cooperative;                            ///< boolean
  Expression enabled = Expression::constant(true);   ///< boolean; false: this pass is skipped for the configuration
  Expression overlap = Expression::constant(false);  ///< boolean; it may begin while what was launched before it runs
  Expression repeat = Expression::constant(1);       ///< how many times in a row it runs
  std::vector<Alternation> alternations = {};
  bool takes_config = true;  ///< a template on the Config; else its code knows the configuration by macros alone
};

struct Cost {
  Expression flops;       ///< floating-point operations of one run
  Expression bytes;       ///< fewest bytes that must cross device memory in one run
  Expression sum_length;  ///< length of the longest sum behind one output; 1 if there is none. Sets the tolerance
};

/// One function of the definition of the right answer: called for each index in [0, extent), writes doubles.
struct ReferencePass {
  std::string function;
  Expression extent;
  std::vector<int> arguments = {};  ///< indices into KernelSpec::arguments; kProblemParameter, kConfigParameter
  std::vector<int> fields =
      {};  ///< with kConfigParameter: the fields of the configuration that it reads, indices into KernelSpec::parameters
};
inline constexpr int kConfigParameter = -5;  ///< the Config, by value: where the configuration defines the result

/// One function that fills inputs, called for each index in [0, extent).
struct Generator {
  int target = 0;  ///< index into KernelSpec::arguments: the input that it is for
  std::string function;
  std::optional<Expression> extent;  ///< none: the input's own
  bool returns_element = true;       ///< element i of the target; else it writes by itself
  std::vector<int> arguments = {};   ///< behind the index, in the function's order: inputs, kProblemParameter, kRandomParameter
};
inline constexpr int kRandomParameter = -4;

/// A function that says whether the result at an index in [0, extent) is right: of outputs that several answers are right for.
struct Acceptance {
  std::string function;
  Expression extent;
  std::vector<int> arguments = {};  ///< behind the index: arguments of the kernel as it has them, kProblemParameter, expected()
};

struct KernelSpec {
  std::string name;                                           ///< the file's stem and the first kernel's name
  std::string summary;                                        ///< the comment at the top of the file
  std::string file;                                           ///< path as given, for diagnostics
  std::string source;                                         ///< the text of the file
  std::vector<std::pair<std::string, std::string>> includes;  ///< (name as included, text) of the file's own headers
  std::string source_hash;                                    ///< of the tokens of source, includes and Hone's own headers: 32 hex digits
  bool templated_on_type = true;                              ///< template <class T, Config c>, else template <Config c>
  std::vector<std::string> type_names = {};  ///< template <class In, class Out, Config c>: "In", "Out". Empty with one type, or none
  std::vector<DTypes> dtypes;                ///< those it can be tuned for; of several types each combination
  std::vector<ProblemField> problem;
  std::vector<Parameter> parameters;
  std::vector<Constraint> constraints;
  std::vector<Constraint> expectations = {};  ///< which configurations the author thinks may win; they order a search and forbid nothing
  std::vector<Argument> arguments;            ///< in order of first appearance over the passes, then those in constant memory
  std::vector<Pass> passes;
  Cost cost;
  std::vector<ReferencePass>
      reference;  ///< they run in order, each on what the one before it left in the outputs; none where all outputs are accepted
  std::vector<Generator> generators = {};    ///< in the order of the file; an input may have several, which run one after the other
  std::vector<Acceptance> acceptances = {};  ///< outputs that one of them takes are judged by it alone
  std::vector<std::vector<std::pair<std::string, std::int64_t>>> shapes = {};  ///< of SHAPES(...): every field of the Problem, in its order
  std::string operation = {};                  ///< of OPERATION(...): what it implements; empty: an operation of its own
  std::string library = {};                    ///< "cublaslt 13.1.0": a library's function, called and not compiled; or empty
  std::vector<std::string> listed = {};        ///< the only configurations that there are, where constraints do not say which
  std::vector<std::string> warnings = {};      ///< deprecated names in the file: file:line:column: warning: text
  std::vector<std::string> flags = {};         ///< of the file's FLAGS and of whoever read it: "-DNAME=1", "--use_fast_math"; never -I
  std::vector<std::string> cuda_headers = {};  ///< that it includes and only CUDA's compiler can read: it runs on cuda devices alone
  std::shared_ptr<const KernelSpec> judge;     ///< the kernel whose reference it is held against, see held_against(); null: its own

  /// JSON text that parse_kernel_spec reads back; carries the source.
  [[nodiscard]] std::string serialize() const;
  [[nodiscard]] const Parameter* find_parameter(std::string_view parameter) const;
  /// Indices behind the spec's arguments, of what generators and acceptances get beside those: the seed of the inputs, the count of what
  /// was rejected and the first index of it (two 64-bit numbers), the reference's answer for an output, a field of the configuration (a
  /// long or a double).
  [[nodiscard]] int seed() const { return static_cast<int>(arguments.size()); }
  [[nodiscard]] int rejected() const { return seed() + 1; }
  [[nodiscard]] int expected(int argument) const { return seed() + 2 + argument; }
  [[nodiscard]] int configured(int parameter) const { return expected(seed()) + parameter; }
  /// Whether acceptances alone judge the output: one that has a tolerance as well is held to both.
  [[nodiscard]] bool is_accepted(int argument) const;
};

/// What fills an input, in words: its mark, or its generators. Empty where it gets the usual random numbers.
std::string fill_text(const KernelSpec& spec, int argument);
/// How an output is judged, in words. Empty where it is held against the reference with the usual tolerance.
std::string bound_text(const KernelSpec& spec, int argument);
/// The element of an argument as a kernel file has it: "T", "In", "f32", "f32 x 4".
std::string element_name(const KernelSpec& spec, const Argument& argument);

Result<KernelSpec> parse_kernel_spec(std::string_view json);

/// Reads a user's kernel file with libclang (opened at run time, version 17 or later).
/// Errors: kNotFound (no such file), kUnavailable (no libclang: says what to install), kBadKernel (clang's diagnostics
/// or a rule of the format broken; always file:line:column: error: text).
Result<KernelSpec> read_kernel_file(const std::filesystem::path& file, const ReadOptions& options = {});

/// The libclang that read_kernel_file would use: path and version, or why there is none.
struct LibclangInfo {
  std::string path, version;
};
Result<LibclangInfo> find_libclang();

}  // namespace hone
