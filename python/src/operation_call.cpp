// From what Python passes to what a launch takes.
#include "python/src/operation_call.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "python/src/errors.hpp"
#include "python/src/numbers.hpp"

namespace hone::python {
namespace {

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

std::string device_text(const Tensor& tensor) { return tensor.device == kCpuDevice ? "cpu" : fmt::format("cuda:{}", tensor.device_index); }

}  // namespace

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
  const auto extents_named = call.extents;
  const std::span<const std::int64_t> named(extents_named.data(), extents.size());
  const auto unknown = [&] { return std::ranges::find(extents, kUnknown); };
  const auto misfit = [&](std::size_t i) {
    const ArgumentRule& rule = rules_.rules[i];
    return invalid(
        fmt::format("{}: {} has the shape {}; the kernel takes {} there ({} elements); pass it in this shape, or name all extents", name_,
                    rule.argument.name, call.tensors[i].shape_text(), rule.wanted(extents, extent_names_), rule.argument.extent.text()));
  };
  const std::size_t arrays = rules_.inputs + rules_.outputs;
  for (std::size_t i = 0; i < arrays && unknown() != extents.end(); ++i) {
    // What was named may be laid out in another way, and has nothing to tell.
    if (call.given[i] != nullptr && !rules_.rules[i].infer_axes(call.tensors[i], extents) && !rules_.rules[i].is_told(named)) {
      return misfit(i);
    }
  }
  for (std::size_t i = 0; i < arrays && unknown() != extents.end(); ++i) {
    if (call.given[i] != nullptr) {
      rules_.rules[i].infer_count(call.tensors[i], extents);
    }
  }
  if (const auto missing = unknown(); missing != extents.end()) {
    const std::string& extent = extent_names_[static_cast<std::size_t>(missing - extents.begin())];
    return invalid(fmt::format("{}: the shapes do not tell the extent {}; pass it: {}=...", name_, extent, extent));
  }
  for (std::size_t i = 0; i < arrays; ++i) {
    if (call.given[i] != nullptr && !rules_.rules[i].fits(call.tensors[i], extents, named)) {
      return misfit(i);
    }
  }
  return true;
}

/// Memory that a framework allocates belongs to its current stream: it may pass it on when work there is done, whatever runs elsewhere.
bool Operation::may_allocate(const Call& call) const {
  void* current = call.stream;
  if (call.has_stream && device_kind_ != kCpuDevice && !call.reader.current_stream(*call.first, current)) {
    return false;
  }
  return current == call.stream ||
         invalid(fmt::format("{}: with stream=, pass out=, or make it the framework's current stream: memory for outputs belongs to that",
                             name_));
}

bool Operation::make_outputs(Call& call) const {
  for (std::size_t i = rules_.inputs; i < rules_.inputs + rules_.outputs; ++i) {
    const ArgumentRule& rule = rules_.rules[i];
    if (call.given[i] != nullptr) {
      continue;
    }
    if (!may_allocate(call)) {
      return false;
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

}  // namespace hone::python
