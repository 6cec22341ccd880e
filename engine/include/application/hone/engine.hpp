#pragma once
// What an application links: look a kernel up for a problem, launch the tuned configuration.
//
//   auto engine = hone::Engine::open().value();
//   auto softmax = engine.kernel("softmax", hone::DType::kF16, {{"rows", 4096}, {"cols", 1024}}).value();
//   softmax.launch(stream, x, y);
// For a kernel with several type parameters: engine.kernel("gemm", {{"In", hone::DType::kE4M3}, {"Out", hone::DType::kBF16}},
// {{"m", 1024}}).

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "hone/budget.hpp"
#include "hone/configuration.hpp"
#include "hone/device_info.hpp"
#include "hone/export.h"
#include "hone/memory.hpp"
#include "hone/problem.hpp"
#include "hone/read_options.hpp"
#include "hone/source.hpp"

namespace hone {

/// Tunes requested problems without a record in the background: one at a time, in worker processes on the application's device.
/// Meanwhile the nearest record or the default runs. The next process that misses the problem resumes an unfinished session.
struct BackgroundTuning {
  Budget budget{.seconds = 30.0, .trials = std::nullopt};  ///< for each problem
  int compile_workers = 1;                                 ///< compile processes beside the application; 0: one per core
};

/// The results of background tuning.
struct BackgroundReport {
  std::size_t waiting = 0;            ///< problems still to be tuned, including the current one
  std::size_t tuned = 0;              ///< problems that have a record now
  std::vector<std::string> failures;  ///< why a problem could not be tuned; it keeps its substitute
};

struct EngineOptions {
  std::filesystem::path store = {};  ///< empty: $HONE_STORE, or hone/store.db of the data directory
  std::string device = {};           ///< "cuda:0", "cpu"; empty: the best present
  bool trust_store = false;          ///< launch the code in the store regardless of who made it: for a store shipped with the application
  double max_error = 0.0;            ///< use winners tuned under this accuracy bound (`--max-error`); 0: none
  std::string given = {};            ///< use winners tuned on given arrays: the digest that `hone tune --input` prints
  /// Looks records up as they were served in this generation of the store (Engine::generation, `hone records --log`), so that every process
  /// and every rank gets the same answers, whatever is tuned meanwhile. 0: as they are.
  std::int64_t generation = 0;
  bool approved_only = false;  ///< use only records that were approved or pinned (`hone records --set`)
  /// Kernels and operations that run their default, whatever the store holds; "all" means every one. $HONE_FORCE_DEFAULT adds to them
  /// (names separated by commas).
  std::vector<std::string> force_default = {};
  /// Needs hone-worker, an empty `given`, and a writable store, which is created if there is none.
  std::optional<BackgroundTuning> background_tuning = {};
};

/// A kernel ready to launch for one problem. Cheap to copy. Copies share their workspaces: launch them on one stream at a time,
/// and request another handle from the engine for another stream. A handle shares device, code and workspaces with its engine
/// and may outlive it; they are released with the last user.
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
  /// Whether the problem has been tuned in the background since: Engine::kernel then returns the winner. One atomic load.
  [[nodiscard]] bool superseded() const;

  /// Enqueues the kernel on `stream` (a CUstream or cudaStream_t; the cpu device ignores it and runs the kernel before it returns).
  /// Arguments in the order of the kernel file, without workspaces and Problem: device pointers aligned to 16 bytes, std::span of device
  /// memory (its extent is checked), and scalars of the declared type. Allocates nothing and takes no lock.
  /// Errors: kInvalidArgument (number, type, alignment, a span that is too short, a null pointer where the kernel has elements), kLaunch,
  /// kUnavailable (in a process that was forked from the engine's).
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
    return launch_passed(stream, addresses.data(), kKinds.data(), sizeof...(Arguments));
  }

  static constexpr std::size_t kMostArguments = 32;

 private:
  friend class Engine;
  /// The type of a passed argument, as far as it can be compared with a dtype.
  struct Passed {
    enum class Kind : std::uint8_t { kOther, kReal, kSigned, kUnsigned, kBoolean };
    bool pointer = false;
    bool span = false;         ///< a pointer with a known number of bytes
    Kind kind = Kind::kOther;  ///< of the pointee; classes and void are kOther
    std::uint16_t size = 0;
  };

  /// The stored form of a span; begins like a pointer.
  struct Extent {
    const void* data = nullptr;
    std::size_t bytes = 0;
  };

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

  Result<void> launch_passed(void* stream, void* const* addresses, const Passed* kinds, std::size_t count) const;
  /// A scalar must have the type. A pointer is refused if it points to numbers of another size or kind.
  static bool accepts(DType dtype, bool scalar, Passed passed);
  static std::string type_text(Passed passed);

  struct State;
  explicit Kernel(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

/// Thread-safe: lookup and compilation block only threads that request the same problem. It cannot be used in a process that
/// was forked from the one that opened it: there every call returns an error, and destruction does not touch the device.
class HONE_API Engine {
 public:
  /// A missing store is not an error: every kernel then runs its default. Nor is a store that cannot be read (locked, damaged, or written
  /// by a newer Hone): readable records are used, other problems run defaults, and warnings() reports it. Errors: an
  /// unknown or missing device; with background_tuning, a store that cannot be written; a generation that the store does not have.
  static Result<Engine> open(const EngineOptions& options = {});
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  /// Makes a kernel file outside Hone known by its name, and as an implementation of the operation that it names; `options` as for `hone
  /// tune`, whose records are found with the same alone. Needs libclang.
  Result<void> add_kernel_file(const std::filesystem::path& file, const ReadOptions& options = {});
  /// The same of what `hone kernels FILE --spec` wrote, which needs no libclang.
  Result<void> add_kernel_spec(std::string_view json);

  /// Looks up, loads and prepares a kernel, or the one of an operation's kernels that serves the problem ("matmul"; `hone kernels` lists
  /// both, and what was added may implement an operation, too). The first call for a problem loads code and may compile; later ones are a
  /// map lookup, and memory for each handle of a kernel that has workspaces. Errors: an unknown kernel, dtype or shape name; no valid
  /// configuration; code that is in no store and no compiler to make it; a record that was changed (docs/trust.md); kUnavailable (in a
  /// process that was forked from the engine's).
  Result<Kernel> kernel(std::string_view kernel, const DTypes& dtypes, const Shape& shape);
  /// The same for a kernel with only one dtype.
  Result<Kernel> kernel(std::string_view kernel, const Shape& shape);
  /// The results of EngineOptions::background_tuning so far.
  [[nodiscard]] BackgroundReport background_report() const;
  /// Problems that did not prevent lookups, each once: a store that cannot be read, a winner that cannot be loaded.
  [[nodiscard]] std::vector<std::string> warnings() const;

  /// The generation whose records are looked up: that of EngineOptions, else the newest in the store; 0 without a store.
  [[nodiscard]] Result<std::int64_t> generation() const;

  [[nodiscard]] const DeviceInfo& device_info() const;
  /// Memory of the engine's device, for applications without CUDA code of their own. Not thread-safe.
  [[nodiscard]] Memory& memory();

 private:
  struct Impl;
  explicit Engine(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;  ///< of this engine alone
};

}  // namespace hone
