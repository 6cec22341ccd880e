#include "python/src/operation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "engine/base/names.hpp"
#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/kernel_problem.hpp"
#include "engine/kernel/operation.hpp"
#include "python/src/errors.hpp"
#include "python/src/operation_call.hpp"

namespace hone::python {
namespace {

/// The defaults of all fields but one.
Shape other_fields(const KernelSpec& spec, const std::string& field) {
  Shape shape;
  for (const ProblemField& one : spec.problem) {
    if (one.name != field) {
      shape.emplace_back(one.name, one.default_value);
    }
  }
  return shape;
}

/// Whether shapes can tell a field: it is a factor of an array's extent. Other fields that are compiled in choose what is computed.
bool is_factor(const KernelSpec& spec, const std::string& field) {
  const ArgumentRules rules = make_rules(spec, {field}, bindings({.dtype = spec.dtypes.front(), .shape = other_fields(spec, field)}));
  return std::ranges::any_of(rules.rules, [](const ArgumentRule& rule) {
    return rule.factors && std::ranges::any_of(*rule.factors, [](const Factor& factor) { return factor.extent == 0; });
  });
}

}  // namespace

Result<const KernelSpec*> EngineHolder::definition(std::string_view name) const {
  std::vector<const KernelSpec*> known;
  std::ranges::transform(own, std::back_inserter(known), [](const auto& spec) { return spec.get(); });
  const auto named = std::ranges::find(known, name, &KernelSpec::name);
  const Result<hone::Operation> operation = find_operation(named != known.end() ? operation_of(**named) : std::string(name), known);
  if (!operation) {
    std::vector<std::string> names = builtin_operations();
    std::ranges::transform(builtin_kernels(), std::back_inserter(names), &KernelSpec::name);
    std::ranges::transform(known, std::back_inserter(names), &KernelSpec::name);
    return Error{ErrorCode::kNotFound, unknown_name("kernel", name, names)};
  }
  return operation->definition;
}

Result<std::unique_ptr<Operation>> Operation::make(std::shared_ptr<EngineHolder> engine, std::string name, std::string dtype,
                                                   std::string fixed) {
  std::unique_ptr<Operation> made(new Operation);
  HONE_ASSIGN(made->spec_, engine->definition(name));
  const KernelSpec& spec = *made->spec_;
  if (!dtype.empty() || spec.dtypes.size() == 1) {
    HONE_ASSIGN(made->given_types_, choose_dtypes(spec, dtype));
  }
  HONE_ASSIGN(const Shape given, parse_shape(spec, fixed));
  HONE_TRY(make_problem(spec, made->given_types_.value_or(spec.dtypes.front()), given));
  Bindings bindings;
  for (const ProblemField& field : spec.problem) {
    const auto at = std::ranges::find(given, field.name, &Shape::value_type::first);
    if (at == given.end() && field.kind == FieldKind::kExtent && (!field.is_static() || is_factor(spec, field.name))) {
      made->extent_names_.push_back(field.name);
      made->extent_keys_.push_back(PyUnicode_InternFromString(field.name.c_str()));
      continue;
    }
    made->fixed_shape_.emplace_back(field.name, at != given.end() ? at->second : field.default_value);
    bindings["p." + field.name] = Value(made->fixed_shape_.back().second);
  }
  if (made->extent_names_.size() > BoundKernel::kMostExtents) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} has {} extents; fix all but {} by keyword", name, made->extent_names_.size(), BoundKernel::kMostExtents)};
  }
  made->rules_ = make_rules(spec, made->extent_names_, bindings);
  const std::string& id = engine->engine.device_info().id;
  const bool is_cuda = id.starts_with("cuda");
  made->device_kind_ = is_cuda ? kCudaDevice : kCpuDevice;
  made->device_index_ = is_cuda && id.size() > 5 ? std::atoi(id.c_str() + 5) : 0;
  made->engine_ = std::move(engine);
  made->name_ = std::move(name);
  made->dtype_ = std::move(dtype);
  made->fixed_ = std::move(fixed);
  return made;
}

/// What was bound for a call whose arrays had the same dtypes.
const Operation::Bound* Operation::find_bound(const Call& call) const {
  for (const auto& one : bound_) {
    std::size_t i = 0;
    while (i < one->seen.size() && (call.given[i] == nullptr || call.tensors[i].dtype == one->seen[i])) {
      ++i;
    }
    if (i == one->seen.size()) {
      return one.get();
    }
  }
  return nullptr;
}

bool Operation::bind(Call& call) {
  call.bound = find_bound(call);
  if (call.bound != nullptr) {
    return true;
  }
  DTypes dtypes;
  if (!choose_types(call, dtypes)) {
    return false;
  }
  Result<BoundKernel> made = engine_->engine.bind(name_, dtypes, extent_names_, fixed_shape_);
  if (!made) {
    set_error(made.error());
    return false;
  }
  std::vector<std::optional<DType>> seen;
  for (std::size_t i = 0; i < rules_.inputs + rules_.outputs; ++i) {
    seen.push_back(call.given[i] != nullptr ? call.tensors[i].dtype : rules_.rules[i].argument.element(dtypes));
  }
  bound_.push_back(std::make_unique<Bound>(Bound{std::move(dtypes), *std::move(made), std::move(seen)}));
  call.bound = bound_.back().get();
  return true;
}

bool Operation::prepare(PyObject* arguments, PyObject* keywords, bool launches, Call& call) {
  if (!collect(arguments, keywords, call) || !read(call)) {
    return false;
  }
  if (call.first == nullptr) {
    PyErr_SetString(PyExc_TypeError, (name_ + ": no array was passed").c_str());
    return false;
  }
  return bind(call) && infer_extents(call) && (!launches || (make_outputs(call) && fill(call)));
}

Result<void> Operation::launch(const Call& call) const {
  HONE_ASSIGN(const KernelView view, call.bound->kernel.find({call.extents.data(), extent_names_.size()}));
  return view->launch_dynamic(call.stream, {call.values.data(), rules_.rules.size()});
}

std::optional<double> Operation::time_launches(std::size_t count, PyObject* arguments, PyObject* keywords) {
  Call call;
  if (!prepare(arguments, keywords, true, call)) {
    return {};
  }
  PyThreadState* const state = PyEval_SaveThread();
  const auto begin = std::chrono::steady_clock::now();
  Result<void> launched;
  for (std::size_t i = 0; i < count && launched; ++i) {
    launched = launch(call);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  PyEval_RestoreThread(state);
  if (!launched) {
    set_error(launched.error());
    return {};
  }
  return seconds / static_cast<double>(std::max<std::size_t>(count, 1));
}

PyObject* Operation::call(PyObject* arguments, PyObject* keywords) {
  Call call;
  if (!prepare(arguments, keywords, true, call)) {
    return nullptr;
  }
  PyThreadState* const state = PyEval_SaveThread();
  const Result<void> launched = launch(call);
  PyEval_RestoreThread(state);
  if (!launched) {
    set_error(launched.error());
    return nullptr;
  }
  if (call.out != nullptr) {
    Py_INCREF(call.out);
    return call.out;
  }
  if (rules_.outputs == 0) {
    Py_RETURN_NONE;
  }
  PyObject* const* const first = &call.given[rules_.inputs];
  if (rules_.outputs == 1) {
    Py_INCREF(*first);
    return *first;
  }
  PyObject* const all = PyTuple_New(static_cast<Py_ssize_t>(rules_.outputs));
  for (std::size_t i = 0; all != nullptr && i < rules_.outputs; ++i) {
    Py_INCREF(first[i]);
    PyTuple_SetItem(all, static_cast<Py_ssize_t>(i), first[i]);
  }
  return all;
}

std::optional<Kernel> Operation::find(PyObject* arguments, PyObject* keywords) {
  Call call;
  if (!prepare(arguments, keywords, false, call)) {
    return {};
  }
  PyThreadState* const state = PyEval_SaveThread();
  const Result<Kernel> found = [&]() -> Result<Kernel> {
    HONE_ASSIGN(const KernelView view, call.bound->kernel.find({call.extents.data(), extent_names_.size()}));
    return *view;  // a copy, which outlives the next lookup
  }();
  PyEval_RestoreThread(state);
  if (!found) {
    set_error(found.error());
    return {};
  }
  return found.value();
}

}  // namespace hone::python
