#pragma once
// What an application links: look a kernel up for a problem, launch the tuned configuration.
//
//   auto engine = hone::Engine::open().value();
//   auto softmax = engine.kernel("softmax", hone::DType::kF16, {{"rows", 4096}, {"cols", 1024}}).value();
//   softmax.launch(stream, x, y);
// Of a kernel with several type parameters: engine.kernel("gemm", {{"In", hone::DType::kE4M3}, {"Out", hone::DType::kBF16}},
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

/// Tuning in the background of what is asked for and has no record: one problem at a time, in worker processes on the application's device.
/// Meanwhile the nearest record or the default runs. The next process that misses the problem resumes an unfinished session.
struct BackgroundTuning {
  Budget budget{.seconds = 30.0, .trials = std::nullopt};  ///< of each problem
  int compile_workers = 1;                                 ///< processes that compile beside the application; 0: one a core
};

/// What tuning in the background has come to.
struct BackgroundReport {
  std::size_t waiting = 0;            ///< problems still to be tuned, the one under way included
  std::size_t tuned = 0;              ///< problems that have a record now
  std::vector<std::string> failures;  ///< why a problem could not be tuned: its stand-in stays
};

struct EngineOptions {
  std::filesystem::path store = {};  ///< empty: $HONE_STORE, or hone/store.db of the data directory
  std::string device = {};           ///< "cuda:0", "cpu"; empty: the best present
  bool trust_store = false;          ///< launch the code in the store whoever made it: for a store that comes with the application
  double max_error = 0.0;            ///< take winners that were tuned under this accuracy bound (`--max-error`); 0: none
  std::string given = {};            ///< take winners that were tuned on given arrays: the digest that `hone tune --input` prints
  /// Needs hone-worker, nothing in `given`, and a store that can be written, which is made where there is none.
  std::optional<BackgroundTuning> background_tuning = {};
};

/// A kernel ready to launch for one problem. Cheap to copy. Copies share their workspaces: launch them on one stream at a time,
/// and ask the engine again for a handle to use on another stream. A handle shares what it needs (device, code, workspaces) with its engine
/// and may outlive it; what it runs on is closed when the last of them goes.
class HONE_API Kernel {
 public:
  [[nodiscard]] Source source() const;
  [[nodiscard]] const Configuration& configuration() const;
  [[nodiscard]] std::string configuration_text() const;
  [[nodiscard]] const Problem& problem() const;
  /// Why records that there are were passed over: their code came from elsewhere and the store is not trusted, the store cannot be read,
  /// they are of other products; empty if none was.
  [[nodiscard]] const std::string& why() const;
  /// The shape that was tuned: differs from problem() for kNearest; empty for kDefault.
  [[nodiscard]] const Shape& tuned_shape() const;
  /// What has changed since it was tuned (driver, compiler, ...): the record is still used.
  [[nodiscard]] const std::vector<Staleness>& stale() const;
  /// Whether the problem was tuned in the background since: the engine has something better when it is asked again. One atomic load.
  [[nodiscard]] bool superseded() const;

  /// Enqueues the kernel on `stream` (a CUstream or cudaStream_t; ignored by the cpu device, which runs it before it returns).
  /// One argument for each argument of the kernel file in its order, without workspaces and Problem: device pointers aligned to 16 bytes,
  /// or std::span of device memory, whose extent is then checked, and scalars of the declared type. Allocates nothing and takes no lock.
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
  /// The type of what is passed, as far as it can be held against a dtype.
  struct Passed {
    enum class Kind : std::uint8_t { kOther, kReal, kSigned, kUnsigned, kBoolean };
    bool pointer = false;
    bool span = false;         ///< a pointer of which the bytes behind it are known
    Kind kind = Kind::kOther;  ///< of what a pointer points to; classes and void are others
    std::uint16_t size = 0;
  };

  /// What a span becomes: begins as a pointer does.
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
  /// A scalar must be of the type; of pointers those are refused that can be no mistake: to numbers of another size or sort.
  static bool accepts(DType dtype, bool scalar, Passed passed);
  static std::string type_text(Passed passed);

  struct State;
  explicit Kernel(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

/// Thread-safe: what one thread looks up and compiles keeps only those waiting who ask for the same problem. Not for use in a process that
/// was forked from the one that opened it: there every call is an error that says so, and destruction leaves the device alone.
class HONE_API Engine {
 public:
  /// A store that does not exist is no error: every kernel then runs its default. Nor is one that cannot be read (it is locked, damaged, or
  /// no store of this Hone): what is in it is used as far as it can be had, the rest runs defaults, and warnings() says so. Errors: an
  /// unknown or missing device; with background_tuning, a store that cannot be written.
  static Result<Engine> open(const EngineOptions& options = {});
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  /// Makes a kernel file outside Hone known by its name; `options` as for `hone tune`, whose records are found with the same alone. Needs
  /// libclang.
  Result<void> add_kernel_file(const std::filesystem::path& file, const ReadOptions& options = {});
  /// The same of what `hone kernels FILE --spec` wrote, which needs no libclang.
  Result<void> add_kernel_spec(std::string_view json);

  /// Looks up, loads and prepares. The first call for a problem loads code and may compile; later ones are a map lookup, and memory for
  /// each handle of a kernel that has workspaces. Errors: an unknown kernel, dtype or shape name; no valid configuration; code that is in
  /// no store and no compiler to make it; a record that was changed (docs/trust.md); kUnavailable (in a process that was forked from the
  /// engine's).
  Result<Kernel> kernel(std::string_view kernel, const DTypes& dtypes, const Shape& shape);
  /// The same of a kernel that has one dtype.
  Result<Kernel> kernel(std::string_view kernel, const Shape& shape);
  /// What EngineOptions::background_tuning has come to so far.
  [[nodiscard]] BackgroundReport background_report() const;
  /// What went wrong and did not keep lookups from being answered, each once: a store that cannot be read, a winner that does not load.
  [[nodiscard]] std::vector<std::string> warnings() const;

  [[nodiscard]] const DeviceInfo& device_info() const;
  /// Of the engine's device, for applications that have no CUDA code of their own. Not thread-safe.
  [[nodiscard]] Memory& memory();

 private:
  struct Impl;
  explicit Engine(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;  ///< of this engine alone
};

}  // namespace hone
