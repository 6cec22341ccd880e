#pragma once
// A kernel that was looked up: what it is, and its launch.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "hone/configuration.hpp"
#include "hone/dtype.hpp"
#include "hone/export.h"
#include "hone/problem.hpp"
#include "hone/source.hpp"

namespace hone {

struct Prepared;

namespace detail {

/// The type of a passed argument, as far as it can be compared with a dtype.
struct Passed {
  /// kNamed: the type is known only when the program runs, and `size` holds the dtype.
  enum class Kind : std::uint8_t { kOther, kReal, kSigned, kUnsigned, kBoolean, kNamed };
  bool pointer = false;
  bool span = false;         ///< a pointer with a known number of bytes
  Kind kind = Kind::kOther;  ///< of the pointee; classes and void are kOther
  std::uint16_t size = 0;
};

/// The stored form of a span; begins like a pointer.
struct PassedSpan {
  const void* data = nullptr;
  std::size_t bytes = 0;
};

}  // namespace detail

/// An argument whose type is known only when the program runs: what bindings of other languages pass.
class HONE_API DynamicArgument {
 public:
  DynamicArgument() = default;  ///< a null pointer
  /// So many bytes of device memory, of any element type.
  DynamicArgument(const void* data, std::size_t bytes);
  /// A number: size_of(dtype) bytes at `number` are copied.
  static DynamicArgument number(DType dtype, const void* number);

 private:
  friend class Kernel;
  detail::Passed type_{.pointer = true};
  detail::PassedSpan value_{};  ///< or the bytes of a number
};

/// A kernel ready to launch for one problem. Cheap to copy, and every copy may be launched from any thread on any stream. A handle shares
/// device, code and workspaces with its engine and may outlive it; they are released with the last user.
///
/// Workspaces belong to streams: kernels that run on the same stream take turns with the same memory. It is allocated at the first launch
/// on a stream that needs it, and never under stream capture: a captured launch takes spare memory, which then belongs to the graph
/// (EngineOptions::graph_workspaces). Keep the handle as long as the graph; launch two instances of such a graph one after the other.
class HONE_API Kernel {
 public:
  [[nodiscard]] Source source() const;
  /// The name of the kernel: of an operation, the one that was chosen.
  [[nodiscard]] const std::string& implementation() const;
  [[nodiscard]] const Configuration& configuration() const;
  [[nodiscard]] std::string configuration_text() const;
  [[nodiscard]] const Problem& problem() const;
  /// Why existing records were skipped: their code came from elsewhere and the store is not trusted, the store cannot be read, or they
  /// belong to other products. Empty if none was skipped.
  [[nodiscard]] const std::string& why() const;
  /// Of kPredicted: what the portfolio's rule expects, and how sure it is.
  [[nodiscard]] const std::optional<Prediction>& prediction() const;
  /// The shape that was tuned: differs from problem() for kNearest; empty for kPredicted and kDefault.
  [[nodiscard]] const Shape& tuned_shape() const;
  /// What has changed since the record was tuned (driver, compiler, ...); it is used nevertheless.
  [[nodiscard]] const std::vector<Staleness>& stale() const;
  /// Whether the problem has been tuned in the background since, or a check found this configuration wrong (EngineOptions::check_one_in):
  /// Engine::kernel then returns the winner, or the default. One atomic load.
  [[nodiscard]] bool superseded() const;

  /// Enqueues the kernel on `stream` (a CUstream or cudaStream_t; the cpu device ignores it and runs the kernel before it returns).
  /// Arguments in the order of the kernel file, without workspaces and Problem: device pointers aligned to 16 bytes, std::span of device
  /// memory (its extent is checked), and scalars of the declared type. Allocates nothing and takes no lock, but for a kernel with
  /// workspaces at its first launch on a stream and in a capture. Errors: kInvalidArgument (number, type, alignment, a span that is too
  /// short, a null pointer where the kernel has elements), kLaunch, kUnavailable (in a process that was forked from the engine's; no memory
  /// for a workspace).
  template <class... Arguments>
  Result<void> launch(void* stream, Arguments... arguments) const {
    static_assert(sizeof...(Arguments) <= kMostArguments, "a kernel has at most 32 arguments");
    const std::tuple<decltype(stored(arguments))...> values{stored(arguments)...};
    static constexpr std::array<Passed, sizeof...(Arguments)> kKinds{passed<Arguments>()...};
    const auto addresses = std::apply(
        [](const auto&... value) {
          return std::array<void*, sizeof...(Arguments)>{const_cast<void*>(static_cast<const void*>(&value))...};
        },
        values);
    static constexpr std::uint64_t kSignature = signature(kKinds);
    return launch_passed(stream, addresses.data(), {kKinds, kSignature});
  }

  /// launch() of arguments whose number and types are known only when the program runs.
  Result<void> launch_dynamic(void* stream, std::span<const DynamicArgument> arguments) const;

  static constexpr std::size_t kMostArguments = 32;

 private:
  friend class Access;
  friend class EngineCore;
  friend class BoundKernel;
  using Passed = detail::Passed;
  using Extent = detail::PassedSpan;

  template <class T>
  struct IsSpan : std::false_type {};
  template <class T, std::size_t N>
  struct IsSpan<std::span<T, N>> : std::true_type {};

  template <class T>
  static auto stored(const T& argument) {
    if constexpr (IsSpan<T>::value) {
      return Extent{argument.data(), argument.size_bytes()};
    } else if constexpr (std::is_null_pointer_v<T>) {
      return static_cast<const void*>(nullptr);
    } else {
      return argument;
    }
  }

  template <class T>
  static constexpr Passed passed() {
    if constexpr (IsSpan<T>::value) {
      Passed element = passed<std::remove_cv_t<typename T::element_type>>();
      element.pointer = element.span = true;
      return element;
    } else if constexpr (std::is_null_pointer_v<T>) {
      return passed<const void*>();
    } else if constexpr (std::is_pointer_v<T>) {
      Passed pointee = passed<std::remove_cv_t<std::remove_pointer_t<T>>>();
      pointee.pointer = true;
      return pointee;
    } else if constexpr (std::is_enum_v<T> && !std::is_same_v<T, std::byte>) {
      return passed<std::underlying_type_t<T>>();
    } else if constexpr (std::is_void_v<T> || std::is_function_v<T>) {
      return {};
    } else {
      constexpr auto kKind = std::is_same_v<T, bool>       ? Passed::Kind::kBoolean
                             : std::is_floating_point_v<T> ? Passed::Kind::kReal
                             : !std::is_integral_v<T>      ? Passed::Kind::kOther
                             : std::is_signed_v<T>         ? Passed::Kind::kSigned
                                                           : Passed::Kind::kUnsigned;
      return {false, false, kKind, static_cast<std::uint16_t>(sizeof(T))};
    }
  }

  /// Differs between lists of types: what was checked once need not be checked again (FNV-1a).
  static constexpr std::uint64_t signature(std::span<const Passed> kinds) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (const Passed& kind : kinds) {
      const auto bits = static_cast<std::uint64_t>(kind.size) << 8 | static_cast<std::uint64_t>(kind.kind) << 2 |
                        static_cast<std::uint64_t>(kind.pointer) << 1 | static_cast<std::uint64_t>(kind.span);
      hash = (hash ^ (bits + 1)) * 1099511628211ULL;
    }
    return hash | 1;  // 0: nothing was checked yet
  }

  struct Types {
    std::span<const Passed> kinds;
    std::uint64_t signature;
  };
  Result<void> launch_passed(void* stream, void* const* addresses, const Types& types) const;

  explicit Kernel(std::shared_ptr<const Prepared> prepared) : prepared_(std::move(prepared)) {}
  std::shared_ptr<const Prepared> prepared_;
};

}  // namespace hone
