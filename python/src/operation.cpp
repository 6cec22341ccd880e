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
#include "python/src/numbers.hpp"

namespace hone::python {
namespace {

constexpr std::size_t kMost = Kernel::kMostArguments;

bool fail(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  return false;
}

bool fail(const Error& error) {
  set_error(error);
  return false;
}

bool invalid(const std::string& message) { return fail({ErrorCode::kInvalidArgument, message}); }

bool same_text(PyObject* a, PyObject* b) { return a == b || PyUnicode_Compare(a, b) == 0; }

struct Keys {
  PyObject* out = PyUnicode_InternFromString("out");
  PyObject* stream = PyUnicode_InternFromString("stream");
};
const Keys& keys() {
  static const Keys all;
  return all;
}

std::string text_of(PyObject* key) {
  const char* const text = PyUnicode_Check(key) != 0 ? PyUnicode_AsUTF8AndSize(key, nullptr) : nullptr;
  return text != nullptr ? text : "?";
}

/// A tensor whose elements have a type that its framework lacks: its bytes are taken for what the kernel has.
bool may_stand_for(const Tensor& tensor, DType dtype) {
  const bool foreign =
      dtype == DType::kBF16 || dtype == DType::kE4M3 || dtype == DType::kE5M2 || dtype == DType::kI4x2 || dtype == DType::kU4x2;
  const bool bytes = !tensor.dtype || *tensor.dtype == DType::kU16 || *tensor.dtype == DType::kU8 || *tensor.dtype == DType::kI16 ||
                     *tensor.dtype == DType::kI8;
  return foreign && bytes && tensor.element_bytes == size_of(dtype);
}

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

std::string device_text(const Tensor& tensor) { return tensor.device == kCpuDevice ? "cpu" : fmt::format("cuda:{}", tensor.device_index); }

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

/// What one call passes.
struct Operation::Call {
  std::array<PyObject*, kMost> given{};  ///< by rule; null: not passed
  std::array<Tensor, kMost> tensors;
  std::vector<PyObject*> made;  ///< outputs that the call allocated, in the order of the rules; owned
  std::array<std::int64_t, BoundKernel::kMostExtents> extents;
  std::array<DynamicArgument, kMost> values;
  PyObject* out = nullptr;        ///< as passed
  const Bound* bound = nullptr;   ///< by the arrays' dtypes
  const Tensor* first = nullptr;  ///< whose framework's stream is the launch's
  void* stream = nullptr;
  bool has_stream = false;
  TensorReader reader;

  Call() { extents.fill(kUnknown); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    for (PyObject* const object : made) {
      Py_DECREF(object);
    }
  }
};

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

bool Operation::place_outputs(PyObject* out, Call& call) const {
  call.out = out;
  if (rules_.outputs == 1 && PyTuple_Check(out) == 0) {
    call.given[rules_.inputs] = out;
    return true;
  }
  if (PyTuple_Check(out) == 0 || PyTuple_Size(out) != static_cast<Py_ssize_t>(rules_.outputs)) {
    return fail(PyExc_TypeError, fmt::format("{}: out takes {}", name_,
                                             rules_.outputs == 1 ? "an array" : fmt::format("a tuple of {} arrays", rules_.outputs)));
  }
  for (std::size_t i = 0; i < rules_.outputs; ++i) {
    call.given[rules_.inputs + i] = PyTuple_GetItem(out, static_cast<Py_ssize_t>(i));
  }
  return true;
}

bool Operation::collect(PyObject* arguments, PyObject* keywords, Call& call) const {
  const auto count = static_cast<std::size_t>(PyTuple_Size(arguments));
  if (count > rules_.rules.size()) {
    return fail(PyExc_TypeError, fmt::format("{} takes at most {} arguments; {} were passed", name_, rules_.rules.size(), count));
  }
  for (std::size_t i = 0; i < count; ++i) {
    PyObject* const given = PyTuple_GetItem(arguments, static_cast<Py_ssize_t>(i));
    call.given[i] = given == Py_None ? nullptr : given;
  }
  Py_ssize_t at = 0;
  PyObject *key = nullptr, *value = nullptr;
  while (keywords != nullptr && PyDict_Next(keywords, &at, &key, &value) != 0) {
    if (same_text(key, keys().out) && value != Py_None) {
      if (!place_outputs(value, call)) {
        return false;
      }
      continue;
    }
    if (same_text(key, keys().stream)) {
      call.stream = value == Py_None ? nullptr : PyLong_AsVoidPtr(value);
      call.has_stream = value != Py_None;
      if (PyErr_Occurred() != nullptr) {
        return false;
      }
      continue;
    }
    const auto rule = std::ranges::find_if(rules_.rules, [&](const ArgumentRule& one) { return same_text(key, one.name); });
    if (rule != rules_.rules.end()) {
      call.given[static_cast<std::size_t>(rule - rules_.rules.begin())] = value == Py_None ? nullptr : value;
      continue;
    }
    const auto extent = std::ranges::find_if(extent_keys_, [&](PyObject* one) { return same_text(key, one); });
    if (extent == extent_keys_.end()) {
      if (same_text(key, keys().out)) {
        continue;
      }
      return fail(PyExc_TypeError, fmt::format("{} has no argument or extent '{}' (arguments: {}; extents: {})", name_, text_of(key),
                                               fmt::join(argument_names(rules_), ", "), fmt::join(extent_names_, ", ")));
    }
    call.extents[static_cast<std::size_t>(extent - extent_keys_.begin())] = PyLong_AsLongLong(value);
    if (PyErr_Occurred() != nullptr) {
      return false;
    }
  }
  return true;
}

bool Operation::check_place(const Call& call, std::size_t i) const {
  const Tensor& tensor = call.tensors[i];
  const ArgumentRule& rule = rules_.rules[i];
  const bool here = device_kind_ == kCpuDevice
                        ? tensor.device == kCpuDevice || tensor.device == kCudaHostDevice
                        : (tensor.device == kCudaDevice && tensor.device_index == device_index_) || tensor.device == kCudaManagedDevice;
  if (!here) {
    return invalid(
        fmt::format("{}: {} lies on {}, and this kernel was made for {}", name_, rule.argument.name, device_text(tensor), device()));
  }
  if (!tensor.contiguous) {
    return invalid(
        fmt::format("{}: {} of shape {} is not contiguous; pass a contiguous copy of it", name_, rule.argument.name, tensor.shape_text()));
  }
  if (tensor.readonly && (rule.output || rule.argument.direction == Direction::kInOut)) {
    return invalid(fmt::format("{}: {} is read-only, and the kernel writes it", name_, rule.argument.name));
  }
  return true;
}

bool Operation::read_array(Call& call, std::size_t i) const {
  if (!call.reader.read(call.given[i], call.tensors[i]) || !check_place(call, i)) {
    return false;
  }
  if (call.first == nullptr) {
    call.first = &call.tensors[i];
    return call.has_stream || device_kind_ == kCpuDevice || call.reader.current_stream(call.tensors[i], call.stream);
  }
  return true;
}

bool Operation::read(Call& call) const {
  for (std::size_t i = 0; i < rules_.inputs + rules_.outputs; ++i) {
    const ArgumentRule& rule = rules_.rules[i];
    if (call.given[i] == nullptr) {
      if (!rule.optional && !rule.output) {
        return fail(PyExc_TypeError, fmt::format("{}: the argument {} is missing", name_, rule.argument.name));
      }
      continue;
    }
    if (!read_array(call, i)) {
      return false;
    }
  }
  return true;
}

bool Operation::choose_types(const Call& call, DTypes& dtypes) const {
  if (given_types_) {
    dtypes = *given_types_;
  } else {
    const auto named = spec_->dtypes.front().all();
    std::vector<NamedDType> types(named.begin(), named.end());
    for (std::size_t p = 0; p < types.size(); ++p) {
      const auto tells = [&](std::size_t i) {
        const Argument& argument = rules_.rules[i].argument;
        return call.given[i] != nullptr && argument.element_is_t && argument.type_parameter == p && call.tensors[i].dtype;
      };
      for (std::size_t i = 0; i < rules_.inputs + rules_.outputs; ++i) {
        if (tells(i)) {
          types[p].dtype = *call.tensors[i].dtype;
          break;
        }
      }
    }
    dtypes = DTypes(std::move(types));
  }
  for (std::size_t i = 0; i < rules_.inputs + rules_.outputs; ++i) {
    const ArgumentRule& rule = rules_.rules[i];
    const DType wanted = rule.argument.element(dtypes);
    const Tensor& tensor = call.tensors[i];
    if (call.given[i] != nullptr && tensor.dtype != wanted && !may_stand_for(tensor, wanted)) {
      return invalid(fmt::format("{}: {} has elements of {}; the kernel takes {} there", name_, rule.argument.name,
                                 tensor.dtype ? hone::name(*tensor.dtype) : "a type that Hone does not have", hone::name(wanted)));
    }
  }
  return true;
}

bool Operation::infer_extents(Call& call) const {
  const std::span<std::int64_t> extents(call.extents.data(), extent_names_.size());
  const auto unknown = [&] { return std::ranges::find(extents, kUnknown); };
  for (std::size_t i = 0; i < rules_.inputs + rules_.outputs && unknown() != extents.end(); ++i) {
    if (call.given[i] != nullptr) {
      rules_.rules[i].infer_axes(call.tensors[i], extents);
    }
  }
  for (std::size_t i = 0; i < rules_.inputs + rules_.outputs && unknown() != extents.end(); ++i) {
    if (call.given[i] != nullptr) {
      rules_.rules[i].infer_count(call.tensors[i], extents);
    }
  }
  if (const auto missing = unknown(); missing != extents.end()) {
    const std::string& extent = extent_names_[static_cast<std::size_t>(missing - extents.begin())];
    return invalid(fmt::format("{}: the shapes do not tell the extent {}; pass it: {}=...", name_, extent, extent));
  }
  for (std::size_t i = 0; i < rules_.inputs + rules_.outputs; ++i) {
    const ArgumentRule& rule = rules_.rules[i];
    if (call.given[i] != nullptr && !rule.has_count(call.tensors[i], extents)) {
      return invalid(fmt::format("{}: {} has the shape {}; the kernel takes {} elements there, with {}", name_, rule.argument.name,
                                 call.tensors[i].shape_text(), rule.argument.extent.text(), extents_text(extent_names_, extents)));
    }
  }
  return true;
}

bool Operation::make_outputs(Call& call) const {
  for (std::size_t i = rules_.inputs; i < rules_.inputs + rules_.outputs; ++i) {
    const ArgumentRule& rule = rules_.rules[i];
    if (call.given[i] != nullptr) {
      continue;
    }
    if (!rule.factors) {
      return fail(PyExc_TypeError,
                  fmt::format("{}: pass {}= for an output of {} elements", name_, rule.argument.name, rule.argument.extent.text()));
    }
    // As an input of the same extents, with all of its axes; else one axis for each factor.
    std::size_t like = 0;
    while (like < rules_.inputs && (call.given[like] == nullptr || rules_.rules[like].factors != rule.factors)) {
      ++like;
    }
    std::vector<std::int64_t> shape;
    for (const Factor& factor : *rule.factors) {
      shape.push_back(factor.extent < 0 ? factor.number : call.extents[factor.extent]);
    }
    if (like < rules_.inputs) {
      const Tensor& tensor = call.tensors[like];
      shape.assign(tensor.shape.begin(), tensor.shape.begin() + tensor.axes);
    }
    std::size_t source = 0;
    while (call.given[source] == nullptr) {
      ++source;
    }
    PyObject* const made =
        allocate_like(call.given[like < rules_.inputs ? like : source], shape, rule.argument.element(call.bound->dtypes));
    if (made == nullptr) {
      return false;
    }
    call.made.push_back(made);
    call.given[i] = made;
    if (!read_array(call, i)) {
      return false;
    }
  }
  return true;
}

bool Operation::fill(Call& call) const {
  const Tensor& anything = *call.first;
  for (std::size_t i = 0; i < rules_.rules.size(); ++i) {
    const ArgumentRule& rule = rules_.rules[i];
    DynamicArgument& value = call.values[rules_.places[i]];
    if (rule.scalar) {
      if (!to_number(rule.argument.element(call.bound->dtypes), call.given[i], rule.argument.scalar_default, value)) {
        return false;
      }
      continue;
    }
    const Tensor& tensor = call.given[i] != nullptr ? call.tensors[i] : anything;  // what is optional is not read
    value = DynamicArgument(tensor.data, static_cast<std::size_t>(tensor.elements()) * tensor.element_bytes);
  }
  return true;
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
    return fail(made.error());
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
    return fail(PyExc_TypeError, fmt::format("{}: no array was passed", name_));
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
    fail(launched.error());
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
    fail(launched.error());
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
    fail(found.error());
    return {};
  }
  return found.value();
}

}  // namespace hone::python
