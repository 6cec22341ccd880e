#pragma once
// User-provided arrays in NumPy's .npy format, which replace random inputs and the reference's answers.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/kernel/kernel_problem.hpp"
#include "engine/kernel/kernel_spec.hpp"

namespace hone {

/// The arrays given for one problem. Small problems and stress inputs are not affected: they use random inputs and the reference.
struct Given {
  std::map<std::string, std::string> inputs;   ///< by argument: a file, by its absolute path
  std::map<std::string, std::string> answers;  ///< by output
  std::string digest;                          ///< of the files' contents and their arguments; empty if nothing is given

  [[nodiscard]] bool empty() const { return inputs.empty() && answers.empty(); }
  friend bool operator==(const Given&, const Given&) = default;
};

/// Reads the files once, for their digest and to check them. Each is for an input (or an output) of the kernel.
/// Errors: kInvalidArgument (an unknown argument, a file that is not an array of numbers), kNotFound (a missing file).
Result<Given> find_given(const KernelSpec& spec, const std::map<std::string, std::filesystem::path>& inputs,
                         const std::map<std::string, std::filesystem::path>& answers);

/// The fields of the Problem that follow from the files' shapes: for an argument of p.rows * p.cols elements, a 512 x 1024 array determines
/// both; a one-dimensional array determines a field that equals its number of elements. Errors: files that contradict each other.
Result<std::map<std::string, std::int64_t>> given_fields(const KernelSpec& spec, const Given& given);

/// The dtypes of the kernel that fit the files' types: f16 if a float16 array is given for a `const T*`. Never empty if the kernel has
/// dtypes, because arrays of other float types are rounded.
std::vector<DTypes> given_dtypes(const KernelSpec& spec, const Given& given);

/// An input's elements in the device's format. Floats are rounded to the element's type; an integer must fit it.
/// Errors: those of find_given, a number of elements other than `count`, numbers that do not fit.
Result<std::vector<std::byte>> given_elements(const std::string& file, const std::string& argument, DType element, std::size_t count);
/// The same for an output's answer, in double.
Result<std::vector<double>> given_answer(const std::string& file, const std::string& argument, DType element, std::size_t count);

}  // namespace hone
