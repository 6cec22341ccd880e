#pragma once
// The text of a CUDA file without Hone's marks: its kernels as far as a call of them needs it, and what stands around an #include of it.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone::kernel {

struct PlainParameter {
  std::string type;  ///< without const, *, & and __restrict__
  std::string name;
  bool pointer = false, constant = false;
};

struct PlainFunction {
  std::string name;
  std::vector<PlainParameter> parameters;
  std::map<std::string, std::size_t, std::less<>> type_parameters;  ///< of its template, each with its place among all parameters of that
};

/// Of "name<float, 256>": "float" and "256"; none where nothing is given.
std::vector<std::string> template_arguments(std::string_view call);

/// The text with comments blanked out; lines stay where they are.
std::string without_comments(std::string_view text);

/// The __global__ functions that are defined or declared, each name once.
std::vector<PlainFunction> find_plain_kernels(std::string_view text);

/// What `#include` names, between quotes ('"') or angle brackets ('<').
std::vector<std::string> included_headers(std::string_view text, char bracket);

/// Those of `wanted` that CUDA files include out of habit, as this side of a compiler needs them.
std::vector<std::pair<std::string, std::string>> habitual_headers(const std::set<std::string>& wanted);

/// The file included in namespace hone_plain with __global__ made __device__, so that a kernel of ours can call it. `headers` come before
/// it, in the global namespace. Nothing of it is there when the file is read (HONE_READ).
std::string plain_surroundings(const std::string& included, const std::set<std::string>& headers, std::string_view text);

}  // namespace hone::kernel
