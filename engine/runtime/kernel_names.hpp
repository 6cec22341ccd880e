#pragma once
// What a name means to an engine: a kernel of the application's own, an operation, or a built-in kernel.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/kernel/operation.hpp"
#include "engine/runtime/prepared.hpp"

namespace hone {

/// Loaded code, and the configuration that it was compiled for. It may stand in for a problem that is not loaded.
struct LoadedCode {
  const KernelSpec* spec = nullptr;
  Shape shape;  ///< of the problem that it was loaded for
  Configuration configuration;
  Source source = Source::kDefault;
  Compiled code;
  std::weak_ptr<const Prepared> user;  ///< the device keeps the code while this exists
};

/// The operation behind a name, of one kernel or of several.
struct NamedOperation {
  Operation operation;
  Operation tuned;       ///< without the kernels whose default is forced: none at all if the operation's is
  std::string hashes;    ///< of the kernels' sources
  std::string recorded;  ///< its name in a recorded workload
  mutable std::mutex mutex;
  mutable std::vector<LoadedCode> codes;  ///< the latest last
};

/// Thread-safe.
class KernelNames {
 public:
  /// The default serves for the kernels and operations in `forced_defaults` ("all": for every one) and in HONE_FORCE_DEFAULT.
  void force_defaults(std::vector<std::string> forced_defaults);
  [[nodiscard]] bool is_default_forced(std::string_view name) const;

  /// What the name means now. Errors: nothing has that name.
  Result<std::shared_ptr<const NamedOperation>> find(std::string_view name) const;
  /// Errors: a kernel of that name was added before; it does not fit its operation.
  Result<void> add(KernelSpec read);

 private:
  Result<Operation> meaning_of(std::string_view name) const;
  [[nodiscard]] std::string recorded_name(const Operation& operation) const;

  std::vector<std::string> force_default_;
  mutable std::mutex mutex_;  ///< of what follows; elements keep their addresses
  std::map<std::string, KernelSpec, std::less<>> own_kernels_;
  std::vector<const KernelSpec*> own_in_order_;
  mutable std::map<std::string, std::shared_ptr<const NamedOperation>, std::less<>> names_;  ///< looked up so far
};

}  // namespace hone
