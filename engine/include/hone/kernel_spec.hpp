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

#include "hone/dtype.hpp"
#include "hone/expression.hpp"

namespace hone {

enum class ParameterKind { kInteger, kBoolean, kEnumeration, kReal };

/// A tunable parameter: one field of `struct Config`.
struct Parameter {
  std::string name;
  ParameterKind kind = ParameterKind::kInteger;
  std::vector<Value> values;          ///< in the order of the source; at least one
  std::vector<std::string> labels = {};    ///< kEnumeration: a label per value; otherwise empty
  std::string cpp_type = "int";       ///< the field's type in the source
  Value default_value;                ///< the initializer; the safe choice
  std::string compile_option = {};    ///< e.g. "--maxrregcount={}"; empty if the parameter is not a compile option
  std::string comment = {};           ///< the trailing or leading comment in the source
};

/// One field of `struct Problem`: an extent the caller fixes.
struct ProblemField {
  std::string name;
  std::int64_t default_value = 0;
  std::string comment;
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

struct Argument {
  std::string name;
  Direction direction = Direction::kIn;
  bool element_is_t = true;           ///< the element type is the kernel's T
  DType dtype = DType::kF32;          ///< otherwise: this
  Expression extent;                  ///< elements, over p.*, c.* (workspaces) and sizeof(T)
  bool zeroed = false;                ///< must be zero before each launch (OUT_ZEROED, WORKSPACE_ZEROED)
  Value scalar_default;               ///< kScalar

  [[nodiscard]] DType element(DType t) const { return element_is_t ? t : dtype; }
};

/// Parameters of a pass that are none of the spec's arguments.
inline constexpr int kProblemParameter = -1;    ///< the Problem, by value
inline constexpr int kTensorMapParameter = -2;  ///< the next of the pass's tensor maps, by value

/// How an argument looks to the tensor memory accelerator: TensorView of <hone/kernel.h>, axis by axis from x.
struct TensorMapping {
  static constexpr std::size_t kMostAxes = 5;
  using Axes = std::array<Expression, kMostAxes>;
  int argument = 0;         ///< index into KernelSpec::arguments
  Axes size, box, stride;   ///< in elements; a size of 0 ends the axes, a stride of 0 means packed
  Expression swizzle, l2;   ///< bytes
  Expression offset;        ///< elements of the argument before the array
};

/// One __global__ function and its launch geometry. A kernel of several passes runs them in order on one stream.
struct Pass {
  std::string function;
  std::vector<int> arguments;                 ///< indices into KernelSpec::arguments, kProblemParameter or kTensorMapParameter
  std::vector<TensorMapping> tensor_maps = {};  ///< one for each kTensorMapParameter, in order
  std::array<Expression, 3> grid, block, cluster;  ///< cluster (1, 1, 1): no cluster launch
  Expression shared_bytes;                    ///< dynamic shared memory
  Expression cooperative;                     ///< boolean
  Expression enabled = Expression::constant(true);  ///< boolean; false: this pass is skipped for the configuration
  Expression overlap = Expression::constant(false);  ///< boolean; it may begin while what was launched before it runs
};

struct Cost {
  Expression flops;        ///< floating-point operations of one run
  Expression bytes;        ///< fewest bytes that must cross device memory in one run
  Expression sum_length;   ///< length of the longest sum behind one output; 1 if there is none. Sets the tolerance
};

/// One function of the definition of the right answer: called for each index in [0, extent), writes doubles.
struct ReferencePass {
  std::string function;
  Expression extent;
  std::vector<int> arguments = {};  ///< indices into KernelSpec::arguments; kProblemParameter
};

struct KernelSpec {
  std::string name;                 ///< the file's stem and the first kernel's name
  std::string summary;              ///< the comment at the top of the file
  std::string file;                 ///< path as given, for diagnostics
  std::string source;               ///< the text of the file
  std::vector<std::pair<std::string, std::string>> includes;  ///< (name as included, text) of the file's own headers
  std::string source_hash;          ///< of the tokens of source, includes and Hone's own headers: 32 hex digits
  bool templated_on_type = true;    ///< template <class T, Config c>, else template <Config c>
  std::vector<DType> dtypes;        ///< those it can be tuned for
  std::vector<ProblemField> problem;
  std::vector<Parameter> parameters;
  std::vector<Constraint> constraints;
  std::vector<Constraint> expectations = {};  ///< which configurations the author thinks may win; they order a search and forbid nothing
  std::vector<Argument> arguments;  ///< in order of first appearance over the passes
  std::vector<Pass> passes;
  Cost cost;
  std::vector<ReferencePass> reference;  ///< at least one; they run in order, each on what the one before it left in the outputs
  std::shared_ptr<const KernelSpec> judge;  ///< the kernel whose reference it is held against, see held_against(); null: its own

  /// JSON text that parse_kernel_spec reads back; carries the source.
  [[nodiscard]] std::string serialize() const;
  [[nodiscard]] const Parameter* find_parameter(std::string_view parameter) const;
};

Result<KernelSpec> parse_kernel_spec(std::string_view json);

/// Reads a user's kernel file with libclang (opened at run time, version 17 or later).
/// Errors: kNotFound (no such file), kUnavailable (no libclang: says what to install), kBadKernel (clang's diagnostics
/// or a rule of the format broken; always file:line:column: error: text).
Result<KernelSpec> read_kernel_file(const std::filesystem::path& file, const std::vector<std::string>& include_dirs = {});

/// The libclang that read_kernel_file would use: path and version, or why there is none.
struct LibclangInfo {
  std::string path, version;
};
Result<LibclangInfo> find_libclang();

/// The kernels built into this binary, by name. They need no libclang.
const std::vector<KernelSpec>& builtin_kernels();
/// A built-in kernel by name; the error names the nearest ones.
Result<const KernelSpec*> find_builtin_kernel(std::string_view kernel);

}  // namespace hone
