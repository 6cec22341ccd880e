#pragma once
// Search spaces for Python: of a strategy, a kernel, or a description.

#include <nanobind/nanobind.h>

#include <memory>

#include "engine/space/likely_space.hpp"
#include "engine/space/search_space.hpp"

namespace hone::python {

struct Space {
  std::shared_ptr<const SearchSpace> legal;
  std::shared_ptr<const LikelySpace> likely = nullptr;  ///< null: its kernel has no expectations, or nobody asked for them
  std::string name = {};
};

/// Positions and counts are up to 128 bits wide.
nanobind::int_ to_python(Count count);
/// Raises OverflowError for what is no position.
Count to_count(const nanobind::handle& number);
/// A configuration as {parameter: value}: enumerations by their labels.
nanobind::dict to_python(const std::vector<Parameter>& parameters, const Configuration& configuration);

void bind_space(nanobind::module_& module);

}  // namespace hone::python
