#pragma once
// Search strategies that are classes in Python.

#include <nanobind/nanobind.h>

#include "engine/plugin/registry.hpp"

namespace hone::python {

/// Adds a subclass of hone.Strategy under its `name`. With the GIL. Raises ValueError where a strategy of that name is there.
void add_strategy(Registry& registry, const nanobind::object& type);

void bind_strategy(nanobind::module_& module);

}  // namespace hone::python
