#pragma once
// Arrays that somebody gives, in files of NumPy's .npy format: instead of inputs that are drawn, and instead of the reference's answers.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/kernel/kernel_problem.hpp"
#include "engine/kernel/kernel_spec.hpp"

namespace hone {

/// What is given for one problem. Small problems, and inputs that provoke, are drawn as ever and held against the reference.
struct Given {
  std::map<std::string, std::string> inputs;   ///< by argument: a file, by its absolute path
  std::map<std::string, std::string> answers;  ///< by output
  std::string digest;                          ///< of what the files hold, and for which arguments; empty if nothing is given

  [[nodiscard]] bool empty() const { return inputs.empty() && answers.empty(); }
  friend bool operator==(const Given&, const Given&) = default;
};

/// Reads the files once: for their digest, and to see that they can be read. Each is for an input (an output) of the kernel.
/// Errors: kInvalidArgument, an argument that is none, a file that is no array of numbers; kNotFound, a file that is not there.
Result<Given> find_given(const KernelSpec& spec, const std::map<std::string, std::filesystem::path>& inputs,
                         const std::map<std::string, std::filesystem::path>& answers);

/// The fields of the Problem that the files' shapes tell: of an argument of p.rows * p.cols elements an array of 512 x 1024 says both, and
/// an array of one axis tells the one field that its number of elements is. Errors: files that contradict each other.
Result<std::map<std::string, std::int64_t>> given_fields(const KernelSpec& spec, const Given& given);

/// The dtypes of the kernel that the types of the files leave: of a `const T*` that an array of float16 is given for, f16. Never empty
/// where the kernel has some: an array of another float type is rounded.
std::vector<DTypes> given_dtypes(const KernelSpec& spec, const Given& given);

/// An input's elements as the device holds them. Floats are rounded to the element's type; an integer must fit it.
/// Errors: what find_given refuses, another number of elements than `count`, numbers that do not fit.
Result<std::vector<std::byte>> given_elements(const std::string& file, const std::string& argument, DType element, std::size_t count);
/// The same of an output's answer, in double.
Result<std::vector<double>> given_answer(const std::string& file, const std::string& argument, DType element, std::size_t count);

}  // namespace hone
