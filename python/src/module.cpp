// The extension module hone._core: the engine, the verbs of the command, and calls of kernels. What people use is in python/hone.
#include <nanobind/nanobind.h>

#include "hone/version.h"
#include "python/src/engine.hpp"
#include "python/src/space.hpp"
#include "python/src/strategy.hpp"
#include "python/src/verbs.hpp"

NB_MODULE(_core, module) {
  nanobind::set_leak_warnings(false);  // engines that a program keeps to its end are no mistake
  module.attr("__version__") = HONE_VERSION;
  hone::python::bind_space(module);
  hone::python::bind_strategy(module);
  hone::python::bind_verbs(module);
  hone::python::bind_engine(module);
}
