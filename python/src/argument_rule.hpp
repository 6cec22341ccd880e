#pragma once
// What a kernel file says of an argument, in the form that a call from Python needs: its element, and how its shape gives the extents.

#include <Python.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/kernel/kernel_spec.hpp"
#include "python/src/tensor.hpp"

namespace hone::python {

/// Extents by their place in the order of an operation; kUnknown until something tells them.
using Extents = std::vector<std::int64_t>;
inline constexpr std::int64_t kUnknown = -1;

/// A factor of an argument's extent: an extent of the problem, or a number.
struct Factor {
  int extent = -1;  ///< below 0: it is `number`
  std::int64_t number = 1;
  friend bool operator==(const Factor&, const Factor&) = default;
};

struct ArgumentRule {
  Argument argument;
  PyObject* name = nullptr;                         ///< interned; lives as long as the process
  bool scalar = false, output = false;              ///< an input else
  bool optional = false;                            ///< the fields of the problem say that the kernel does not read it
  std::optional<std::vector<Factor>> factors = {};  ///< p.rows * p.cols; nothing where the extent is another expression

  /// What the shape says of extents that are unknown. Leading axes are folded: (batch, rows, cols) is (batch * rows, cols). False: it
  /// contradicts what is known, and nothing was changed.
  bool infer_axes(const Tensor& tensor, std::span<std::int64_t> extents) const;
  /// What the number of elements says, where one extent is unknown.
  void infer_count(const Tensor& tensor, std::span<std::int64_t> extents) const;
  /// Whether all extents of the argument are known.
  [[nodiscard]] bool is_told(std::span<const std::int64_t> extents) const;
  /// Whether the array is what the kernel takes: axis by axis, leading axes folded. The number of elements decides alone for an array with
  /// fewer axes, and where the caller named all of the argument's extents (`named`, else kUnknown). True also where it cannot be told here.
  [[nodiscard]] bool fits(const Tensor& tensor, std::span<const std::int64_t> extents, std::span<const std::int64_t> named) const;
  /// The shape that the kernel takes, with the names of what is unknown: "(24, n)".
  [[nodiscard]] std::string wanted(std::span<const std::int64_t> extents, const std::vector<std::string>& names) const;
};

/// The rules of what a caller passes: inputs, then outputs, then scalars. `places[i]`: the position of rule i in a launch.
struct ArgumentRules {
  std::vector<ArgumentRule> rules;
  std::vector<std::size_t> places;
  std::size_t inputs = 0, outputs = 0;  ///< as many of each
};

/// `names`: the extents in their order. `fixed`: the other fields of the problem ("p.layout").
ArgumentRules make_rules(const KernelSpec& spec, const std::vector<std::string>& names, const Bindings& fixed);

}  // namespace hone::python
