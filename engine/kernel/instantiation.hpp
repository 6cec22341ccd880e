#pragma once
// What a compiler asks of a kernel file: its functions, instantiated for a configuration.

#include <string>
#include <string_view>
#include <vector>

#include "engine/kernel/configuration_text.hpp"
#include "engine/kernel/kernel_problem.hpp"

namespace hone {

/// False where the configuration alone says that the pass is skipped, whatever the problem and the device: it need not be compiled, and its
/// place among the compiled symbols holds an empty one.
bool can_run(const KernelSpec& spec, const Pass& pass, const Configuration& configuration);

/// "softmax<f32, Config{256, 4, true}>", "gemm<e4m3, bf16, Config{...}>", or what of it the pass is a template on
std::string instantiation(const KernelSpec& spec, const Pass& pass, const DTypes& dtypes, const Configuration& configuration);

/// "softmax_reference<f32>", or the name alone where it is no template.
std::string reference_instantiation(const KernelSpec& spec, std::string_view function, const DTypes& dtypes);

/// What a function of the answer's side is for.
enum class AnswerPart {
  kReference,
  kGenerator,
  kAcceptance,
  kOriginal,  ///< turns an in-place argument into the doubles that the reference goes on with
  kFill,      ///< fills an input as its mark says
};

/// The code that the right answer takes: one source, and its functions in the order of Compiled::symbols.
struct AnswerCode {
  std::string source;  ///< the kernel's, and functions that look like a reference for all that has none
  std::vector<ReferencePass> passes;
  std::vector<AnswerPart> parts;  ///< what each of them is
};
/// For a shape, whose STATIC fields are compiled in.
AnswerCode answer_code(const KernelSpec& spec, const Shape& shape);

/// Whether the usual elements of an input that its mark describes are drawn by the device: each by itself, from nothing but its index.
bool is_filled_by_device(const KernelSpec& spec, const Argument& argument);

/// Of code around the kernel file's own functions: "template <class In, class Out> " and "<In, Out>"; empty where it has no type parameter.
std::string template_head(const KernelSpec& spec);
std::string template_arguments(const KernelSpec& spec);

/// The file's flags, then the values of parameters marked OPTION, in the order of the parameters. 0 leaves an option out, but not a macro.
std::vector<std::string> compile_options(const KernelSpec& spec, const Configuration& configuration);

/// The option that a value of a parameter becomes, and whether it defines a macro.
std::string compile_option(const Parameter& parameter, const Value& value);
bool is_macro_option(std::string_view option);

/// What the reference is compiled with: macros alone (a fast way to divide would be no reference), those of parameters as in the default.
std::vector<std::string> reference_options(const KernelSpec& spec);

}  // namespace hone
