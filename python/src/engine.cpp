#include "python/src/engine.hpp"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "python/src/errors.hpp"
#include "python/src/operation.hpp"

namespace nb = nanobind;

namespace hone::python {
namespace {

/// Runs without the GIL; the value, or the exception.
template <class Body>
auto unlocked(Body body) {
  auto result = [&] {
    const nb::gil_scoped_release released;
    return body();
  }();
  return result;
}

EngineOptions to_options(const nb::dict& given) {
  EngineOptions options;
  const auto take = [&](const char* name, auto set) {
    if (given.contains(name) && !given[name].is_none()) {
      set(nb::object(given[name]));
    }
  };
  take("store", [&](const nb::object& value) { options.store = nb::cast<std::string>(value); });
  take("device", [&](const nb::object& value) { options.device = nb::cast<std::string>(value); });
  take("trust_store", [&](const nb::object& value) { options.trust_store = nb::cast<bool>(value); });
  take("max_error", [&](const nb::object& value) { options.max_error = nb::cast<double>(value); });
  take("objective", [&](const nb::object& value) { options.objective = nb::cast<std::string>(value); });
  take("generation", [&](const nb::object& value) { options.generation = nb::cast<std::int64_t>(value); });
  take("approved_only", [&](const nb::object& value) { options.approved_only = nb::cast<bool>(value); });
  take("force_default", [&](const nb::object& value) { options.force_default = nb::cast<std::vector<std::string>>(value); });
  take("record_workload", [&](const nb::object& value) { options.record_workload = nb::cast<std::string>(value); });
  take("check_one_in", [&](const nb::object& value) { options.check_one_in = nb::cast<std::size_t>(value); });
  take("graph_workspaces", [&](const nb::object& value) { options.graph_workspaces = nb::cast<std::size_t>(value); });
  take("background_budget", [&](const nb::object& value) {
    options.background_tuning.emplace();
    options.background_tuning->budget = value_or_raise(parse_budget(nb::cast<std::string>(value)));
  });
  take("background_device", [&](const nb::object& value) {
    if (!options.background_tuning) {
      raise(Error{ErrorCode::kInvalidArgument, "background_device needs background_budget: nothing is tuned in the background"});
    }
    options.background_tuning->device = nb::cast<std::string>(value);
  });
  return options;
}

/// Engine.__init__: the options that are given, by name.
void open(EngineHolder* holder, const nb::dict& given) {
  const EngineOptions options = to_options(given);
  Result<Engine> opened = unlocked([&] { return Engine::open(options); });
  new (holder) EngineHolder{value_or_raise(std::move(opened))};
}

/// Adds a kernel file; returns the kernel's name.
std::string add_kernel_file(EngineHolder& holder, const std::string& file, const std::vector<std::string>& flags) {
  Result<KernelSpec> read = unlocked([&] { return read_kernel_file(file, {.flags = flags}); });
  auto spec = std::make_unique<KernelSpec>(value_or_raise(std::move(read)));
  check(holder.engine.add_kernel_spec(spec->serialize()));
  holder.own.push_back(std::move(spec));
  return holder.own.back()->name;
}

nb::dict to_dict(const Shape& shape) {
  nb::dict all;
  for (const auto& [name, extent] : shape) {
    all[name.c_str()] = extent;
  }
  return all;
}

/// What is known of the kernel that a call would launch.
nb::dict describe(const Kernel& kernel) {
  nb::dict all;
  all["kernel"] = kernel.implementation();
  all["dtype"] = name(kernel.problem().dtype);
  all["shape"] = to_dict(kernel.problem().shape);
  all["source"] = std::string(name(kernel.source()));
  all["configuration"] = kernel.configuration_text();
  all["tuned_shape"] = to_dict(kernel.tuned_shape());
  all["why"] = kernel.why();
  nb::list stale;
  for (const Staleness& one : kernel.stale()) {
    stale.append(fmt::format("{}: {} then, {} now", one.what, one.then, one.now));
  }
  all["stale"] = stale;
  all["expected_slowdown"] = kernel.prediction() ? nb::cast(kernel.prediction()->slowdown) : nb::none();
  all["made_for"] = kernel.prediction() ? kernel.prediction()->made_for : std::string();
  return all;
}

nb::list arguments_of(const Operation& operation) {
  nb::list all;
  constexpr std::array<const char*, 5> kDirections{"in", "out", "inout", "workspace", "scalar"};
  for (const ArgumentRule& rule : operation.rules().rules) {
    nb::dict one;
    one["name"] = rule.argument.name;
    one["direction"] = kDirections.at(static_cast<std::size_t>(rule.argument.direction));
    one["extent"] = rule.argument.extent.text();
    one["optional"] = rule.optional || rule.scalar || rule.output;
    all.append(one);
  }
  return all;
}

/// Operation.__call__, without what nanobind's functions add.
PyObject* call_operation(PyObject* self, PyObject* arguments, PyObject* keywords) {
  try {
    return nb::inst_ptr<Operation>(self)->call(arguments, keywords);
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

constexpr const char* kKernelDoc =
    "A kernel or operation, ready to launch on arrays of one device: k(x, out=y).\n\n"
    "Arguments are those of the kernel file, in the order inputs, outputs, scalars, or by name; `out` is the output, or the tuple of all.\n"
    "Outputs that are not passed are allocated by the framework of the inputs. The launch is on the current stream of that framework\n"
    "(`stream=` takes another, as a number, and needs `out`) and returns at once on a GPU; on the cpu device it returns when the kernel\n"
    "has run. Extents come from the shapes; leading axes are folded into the first extent. An extent that no shape tells is passed by its\n"
    "name. Returns the outputs. Thread-safe; the GIL is released during lookup and launch.\n\n"
    "Raises hone.InvalidArgument for wrong shapes, dtypes, devices or strides, hone.Error where the launch fails, TypeError for a missing\n"
    "argument, and hone.Unavailable in a process that was forked from the engine's.";
constexpr const char* kPrepareDoc =
    "Looks up, and where needed compiles and loads, what a call with these arguments would launch, and describes it: a dict of kernel,\n"
    "dtype, shape, source, configuration, tuned_shape, why, stale, expected_slowdown.";

const PyType_Slot kCallable[] = {{Py_tp_call, reinterpret_cast<void*>(call_operation)}, {0, nullptr}};

/// Looks up and loads what a call with these arguments would launch.
nb::dict prepare(Operation& operation, const nb::args& arguments, const nb::kwargs& keywords) {
  const std::optional<Kernel> kernel = operation.find(arguments.ptr(), keywords.ptr());
  if (!kernel) {
    throw nb::python_error();
  }
  return describe(*kernel);
}

double time_launches(Operation& operation, std::size_t count, const nb::args& arguments, const nb::kwargs& keywords) {
  const std::optional<double> seconds = operation.time_launches(count, arguments.ptr(), keywords.ptr());
  if (!seconds) {
    throw nb::python_error();
  }
  return *seconds;
}

/// "cpu" or "cuda:0": where an array lies.
std::string device_of_array(const nb::handle& array) {
  TensorReader reader;
  Tensor tensor;
  if (!reader.read(array.ptr(), tensor)) {
    throw nb::python_error();
  }
  return tensor.device == kCpuDevice || tensor.device == kCudaHostDevice ? "cpu" : fmt::format("cuda:{}", tensor.device_index);
}

/// What reading an array through its interfaces gives: for tests and error messages.
nb::tuple describe_array(const nb::handle& array) {
  TensorReader reader;
  Tensor tensor;
  if (!reader.read(array.ptr(), tensor)) {
    throw nb::python_error();
  }
  nb::list shape;
  for (int i = 0; i < tensor.axes; ++i) {
    shape.append(tensor.shape[i]);
  }
  return nb::make_tuple(nb::tuple(shape), tensor.dtype ? nb::cast(std::string(name(*tensor.dtype))) : nb::none(), tensor.contiguous,
                        tensor.readonly);
}

/// A function of hone._engine, for what is simpler in Python.
nb::object in_python(const char* function, const nb::handle& argument) {
  return nb::module_::import_("hone._engine").attr(function)(argument);
}

std::unique_ptr<Operation> make_operation(const std::shared_ptr<EngineHolder>& holder, const std::string& name, const std::string& dtype,
                                          const std::string& fixed) {
  return value_or_raise(Operation::make(holder, name, dtype, fixed));
}

nb::dict device_of(const EngineHolder& holder) {
  const DeviceInfo& info = holder.engine.device_info();
  nb::dict all, properties;
  for (const auto& [name, value] : info.properties) {
    properties[name.c_str()] = value;
  }
  all["id"] = info.id;
  all["product"] = info.product;
  all["architecture"] = info.architecture;
  all["properties"] = properties;
  return all;
}

}  // namespace

void bind_engine(nb::module_& module) {
  nb::class_<EngineHolder>(module, "Engine", nb::is_weak_referenceable())
      .def("__init__", open, nb::arg("options"))
      .def("add_kernel_file", add_kernel_file, nb::arg("file"), nb::arg("flags") = std::vector<std::string>())
      .def("make_kernel", make_operation, nb::arg("name"), nb::arg("dtype") = "", nb::arg("fixed") = "")
      .def("warnings", [](const EngineHolder& holder) { return holder.engine.warnings(); })
      .def("generation", [](const EngineHolder& holder) { return value_or_raise(holder.engine.generation()); })
      .def("write_workload", [](EngineHolder& holder) { check(unlocked([&] { return holder.engine.write_workload(); })); })
      .def("reserve_graph_workspaces",
           [](EngineHolder& holder, std::size_t count) { check(holder.engine.reserve_graph_workspaces(count)); })
      .def("background_report",
           [](const EngineHolder& holder) {
             const BackgroundReport report = holder.engine.background_report();
             return nb::make_tuple(report.waiting, report.tuned, report.failures);
           })
      .def_prop_ro("device", device_of);
  nb::class_<Operation>(module, "Kernel", nb::type_slots(kCallable), nb::is_weak_referenceable(), nb::dynamic_attr(), kKernelDoc)
      .def("prepare", prepare, kPrepareDoc)
      .def(
          "time_launches", time_launches,
          "time_launches(count, *arguments): seconds that the host spends on each of `count` launches as C++ makes them. What a call costs "
          "beyond that is Python's.")
      .def_prop_ro("engine", &Operation::engine)
      .def("__repr__", [](const nb::handle& self) { return in_python("kernel_text", self); })
      .def("_repr_html_", [](const nb::handle& self) { return in_python("kernel_html", self); })
      .def("__reduce__", [](const nb::handle& self) { return in_python("reduce_kernel", self); })
      .def_prop_ro("name", &Operation::name)
      .def_prop_ro("dtype", &Operation::dtype)
      .def_prop_ro("fixed", &Operation::fixed)
      .def_prop_ro("device", &Operation::device)
      .def_prop_ro("arguments", arguments_of);
  module.def("device_of", device_of_array, nb::arg("array"));
  module.def("describe_array", describe_array, nb::arg("array"));
}

}  // namespace hone::python
