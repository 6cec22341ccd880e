#pragma once
// The command's verbs in this process: what `hone VERB --json` prints, with progress, Ctrl-C and strategies in Python.

#include <nanobind/nanobind.h>

namespace hone::python {

void bind_verbs(nanobind::module_& module);

}  // namespace hone::python
