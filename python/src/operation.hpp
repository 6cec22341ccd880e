#pragma once
// A kernel or operation that Python calls with arrays: takes dtypes and extents from them, looks up, launches.

#include <Python.h>

#include <memory>
#include <string>
#include <vector>

#include "hone/engine.hpp"
#include "python/src/argument_rule.hpp"
#include "python/src/tensor.hpp"

namespace hone::python {

/// An engine, and the kernel files that Python added to it.
struct EngineHolder {
  Engine engine;
  std::vector<std::unique_ptr<KernelSpec>> own = {};

  /// The definition of an operation: its Problem and arguments.
  [[nodiscard]] Result<const KernelSpec*> definition(std::string_view name) const;
};

class Operation {
 public:
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  ~Operation() = default;
  /// `fixed`: fields of the problem that arrays do not tell, as `hone tune --shape` takes them; `dtype`: as `--dtype`, or empty: from the
  /// arrays. Errors: an unknown operation, field or dtype; too many extents.
  static Result<std::unique_ptr<Operation>> make(std::shared_ptr<EngineHolder> engine, std::string name, std::string dtype,
                                                 std::string fixed);

  /// operation(x, out=y): launches; returns the outputs as they were passed or made. Null, with a Python exception.
  PyObject* call(PyObject* arguments, PyObject* keywords);
  /// The kernel that a call with these arguments would launch; nothing, with a Python exception.
  std::optional<Kernel> find(PyObject* arguments, PyObject* keywords);
  /// Seconds that the host spends on each of `count` launches of a call with these arguments, as C++ makes them: the lookup and the launch.
  /// Nothing, with a Python exception.
  std::optional<double> time_launches(std::size_t count, PyObject* arguments, PyObject* keywords);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& dtype() const { return dtype_; }
  [[nodiscard]] const std::string& fixed() const { return fixed_; }
  [[nodiscard]] const ArgumentRules& rules() const { return rules_; }
  [[nodiscard]] const std::shared_ptr<EngineHolder>& engine() const { return engine_; }
  [[nodiscard]] const std::string& device() const { return engine_->engine.device_info().id; }

 private:
  /// For arrays of these dtypes.
  struct Bound {
    DTypes dtypes;
    BoundKernel kernel;
    std::vector<std::optional<DType>> seen;  ///< of the arrays of the first such call, by rule
  };
  struct Call;

  Operation() = default;
  bool collect(PyObject* arguments, PyObject* keywords, Call& call) const;
  bool place_outputs(PyObject* out, Call& call) const;
  bool read(Call& call) const;
  bool read_array(Call& call, std::size_t i) const;
  bool check_place(const Call& call, std::size_t i) const;
  bool choose_types(const Call& call, DTypes& dtypes) const;
  bool infer_extents(Call& call) const;
  bool may_allocate(const Call& call) const;
  bool make_outputs(Call& call) const;
  const Bound* find_bound(const Call& call) const;
  bool bind(Call& call);
  bool prepare(PyObject* arguments, PyObject* keywords, bool launches, Call& call);
  bool fill(Call& call) const;
  Result<void> launch(const Call& call) const;

  std::shared_ptr<EngineHolder> engine_;
  std::string name_, dtype_, fixed_;
  const KernelSpec* spec_ = nullptr;
  std::optional<DTypes> given_types_;
  Shape fixed_shape_;
  std::vector<std::string> extent_names_;
  std::vector<PyObject*> extent_keys_;  ///< interned
  ArgumentRules rules_;
  std::int32_t device_kind_ = kCpuDevice, device_index_ = 0;
  std::vector<std::unique_ptr<Bound>> bound_;  ///< the GIL guards it
};

}  // namespace hone::python
