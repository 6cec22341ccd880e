#pragma once
// An operation or kernel of which only the extents are still missing: the lookup for loops that ask for another shape in each turn.
//
//   auto matmul = engine.bind("matmul", hone::DType::kBF16, {"m", "n", "k"}).value();
//   matmul(m, n, k)->launch(stream, a, b, added, bias, out, 1.0F, 0.0F);

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "hone/error.hpp"
#include "hone/export.h"
#include "hone/kernel_handle.hpp"

namespace hone {

/// The kernel that a lookup found, without a share in it: valid in the thread that asked until this thread asks the same BoundKernel again,
/// or until that is gone. A copy of the Kernel is valid for longer: `hone::Kernel kept = *found`.
class KernelView {
 public:
  explicit KernelView(const Kernel& kernel) : kernel_(&kernel) {}
  const Kernel& operator*() const { return *kernel_; }
  const Kernel* operator->() const { return kernel_; }
  /// Kernel::launch.
  template <class... Arguments>
  Result<void> launch(void* stream, Arguments... arguments) const {
    return kernel_->launch(stream, arguments...);
  }

 private:
  const Kernel* kernel_;
};

/// Made by Engine::bind; may outlive the engine. Thread-safe; copies share what they have found. A lookup of what the thread has asked for
/// before takes no lock, changes nothing that other threads read, and allocates nothing.
class HONE_API BoundKernel {
 public:
  static constexpr std::size_t kMostExtents = 16;

  /// Engine::kernel of these extents, in the order of their names at Engine::bind. The first call for a problem may load and compile, and
  /// blocks only this thread and others that ask for the same problem. Errors: as Engine::kernel.
  template <std::integral... Extents>
  [[nodiscard]] Result<KernelView> operator()(Extents... extents) const {
    static_assert(sizeof...(Extents) <= kMostExtents, "at most 16 extents");
    const std::array<std::int64_t, sizeof...(Extents)> values{static_cast<std::int64_t>(extents)...};
    return find(values);
  }
  /// The same of a number of extents that is known at run time.
  [[nodiscard]] Result<KernelView> find(std::span<const std::int64_t> extents) const;

  /// Never waits for code to be read, compiled or loaded: what is not loaded is loaded by a thread of the engine, and meanwhile the code of
  /// the nearest problem serves that is loaded and is legal here (Source::kNearest), or the default's. Errors: as Engine::kernel;
  /// kUnavailable: no code of this operation is loaded yet that may serve (an earlier call of operator() loads some).
  template <std::integral... Extents>
  [[nodiscard]] Result<KernelView> at_once(Extents... extents) const {
    static_assert(sizeof...(Extents) <= kMostExtents, "at most 16 extents");
    const std::array<std::int64_t, sizeof...(Extents)> values{static_cast<std::int64_t>(extents)...};
    return find_at_once(values);
  }
  [[nodiscard]] Result<KernelView> find_at_once(std::span<const std::int64_t> extents) const;

 private:
  friend class Engine;
  class Core;
  explicit BoundKernel(std::shared_ptr<const Core> core);
  std::shared_ptr<const Core> core_;
};

}  // namespace hone
