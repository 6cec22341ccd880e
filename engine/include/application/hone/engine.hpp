#pragma once
// What an application links: look a kernel up for a problem, launch the tuned configuration.
//
//   auto engine = hone::Engine::open().value();
//   auto softmax = engine.kernel("softmax", hone::DType::kF16, {{"rows", 4096}, {"cols", 1024}}).value();
//   softmax.launch(stream, x, y);
// Where extents change from call to call, the rest is bound once (hone/bound_kernel.hpp):
//   auto matmul = engine.bind("matmul", hone::DType::kBF16, {"m", "n", "k"}).value();
//   matmul(m, n, k)->launch(stream, ...);
// For a kernel with several type parameters: engine.kernel("gemm", {{"In", hone::DType::kE4M3}, {"Out", hone::DType::kBF16}},
// {{"m", 1024}}).

#include <cstddef>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hone/bound_kernel.hpp"
#include "hone/budget.hpp"
#include "hone/device_info.hpp"
#include "hone/export.h"
#include "hone/kernel_handle.hpp"
#include "hone/launch_check.hpp"
#include "hone/memory.hpp"
#include "hone/problem.hpp"
#include "hone/read_options.hpp"

namespace hone {

class EngineCore;

/// Tunes requested problems without a record in the background: one at a time, in worker processes on the application's device or on one of
/// their own.
/// Meanwhile the nearest record or the default runs. The next process that misses the problem resumes an unfinished session.
struct BackgroundTuning {
  Budget budget{.seconds = 30.0, .trials = std::nullopt};  ///< for each problem
  int compile_workers = 1;                                 ///< compile processes beside the application; 0: one per core
  /// Tunes there instead of on the application's device: "cuda:1", of the same product, so that its records serve; one device.
  std::string device = {};
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
  /// Use winners tuned for this objective (`--objective`): "time", a percentile of it ("p99"), "energy" or "edp". What was tuned for
  /// another one alone does not serve.
  std::string objective = "time";
  /// Looks records up as they were served in this generation of the store (Engine::generation, `hone records --log`), so that every process
  /// and every rank gets the same answers, whatever is tuned meanwhile. None: as they are.
  std::optional<std::int64_t> generation = {};
  bool approved_only = false;  ///< use only records that were approved or pinned (`hone records --set`)
  /// Kernels and operations that run their default, whatever the store holds; "all" means every one. $HONE_FORCE_DEFAULT adds to them
  /// (names separated by commas).
  std::vector<std::string> force_default = {};
  /// Needs hone-worker, an empty `given`, and a writable store, which is created if there is none.
  std::optional<BackgroundTuning> background_tuning = {};
  /// Problems that stay loaded. The least recently requested one is unloaded first, and loaded again on request. Handles keep their code.
  std::size_t most_problems = 4096;
  /// Spare workspaces for captured launches; each stream of a graph takes one. A lookup replaces those that were taken, and a destroyed
  /// graph returns its own. Large ones are fewer: 256 MiB in all, but one at least; reserve_graph_workspaces() allocates more.
  std::size_t graph_workspaces = 4;
  /// Checks one of so many launches of each problem that a tuned configuration serves (docs/checking.md): inputs and outputs are copied on
  /// its stream, and a thread of the engine compares them with the default's results. A configuration that is wrong no longer serves, and
  /// warnings() says so. Captured launches, and launches during a check, are not checked. Needs hone::engine. 0: never.
  std::size_t check_one_in = 0;
  /// Called after every check, in that thread. It must not destroy the engine. An exception from it becomes one of the warnings().
  std::function<void(const LaunchCheck&)> on_check = {};
  /// Counts the launches of each problem and adds them to this file, for `hone tune --workload` (docs/workloads.md); empty: counts nothing.
  /// Written when the engine closes and by Engine::write_workload(). If the file cannot be written, only the counts are lost, and
  /// warnings() says so. Launches under capture count once, however often the graph is launched.
  std::filesystem::path record_workload = {};
};

/// Thread-safe: lookup and compilation block only threads that request the same problem. It cannot be used in a process that
/// was forked from the one that opened it: there every call returns an error, and destruction does not touch the device.
class HONE_API Engine {
 public:
  /// A missing store is not an error: every kernel then runs its default. Nor is a store that cannot be read (locked, damaged, or written
  /// by a newer Hone): readable records are used, other problems run defaults, and warnings() reports it. Errors: an
  /// unknown or missing device; with background_tuning, a store that cannot be written, or a device of another product; with check_one_in,
  /// a device that cannot; a generation that the store does not have.
  static Result<Engine> open(const EngineOptions& options = {});
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  /// Adds a kernel file under its name, and as an implementation of the operation that it names. Its records are found only with the
  /// `options` that `hone tune` had. Needs libclang.
  Result<void> add_kernel_file(const std::filesystem::path& file, const ReadOptions& options = {});
  /// The same from the output of `hone kernels FILE --spec`; needs no libclang.
  Result<void> add_kernel_spec(std::string_view json);

  /// Looks up, loads and prepares a kernel. For an operation ("matmul"), it is the kernel that serves the problem, possibly an added one;
  /// `hone kernels` lists both. The first call for a problem loads code and may compile; later ones are a map lookup under a lock. If that
  /// is too slow, use bind(). Errors: an unknown kernel, dtype or shape name; no valid configuration; code that is in no store and no
  /// compiler to make it; a record that was changed (docs/trust.md); kUnavailable (in a process that was forked from
  /// the engine's).
  Result<Kernel> kernel(std::string_view kernel, const DTypes& dtypes, const Shape& shape);
  /// The same for a kernel with only one dtype.
  Result<Kernel> kernel(std::string_view kernel, const Shape& shape);
  /// Fixes everything except the extents named in `extents`, which lookups pass in this order. The others are those of `fixed`, or the
  /// kernel's defaults. Kernels that are added later do not change what `kernel` means here. Reads the portfolios that
  /// came with Hone, some milliseconds, so that the first lookup need not. Errors: an unknown kernel, dtype or shape name; more than 16
  /// extents.
  Result<BoundKernel> bind(std::string_view kernel, const DTypes& dtypes, std::vector<std::string> extents, const Shape& fixed = {});
  /// Allocates spare workspaces for `count` captured launches (EngineOptions::graph_workspaces) of any kernel looked up so far. Not under
  /// capture.
  Result<void> reserve_graph_workspaces(std::size_t count);
  /// Adds the launches since the last call to the file EngineOptions::record_workload, if there is one. Errors: kIo, the file cannot be
  /// written; kInvalidArgument, it is no workload. The counts are then kept for the next call.
  Result<void> write_workload();
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
  friend class Access;
  explicit Engine(std::shared_ptr<EngineCore> core);
  std::shared_ptr<EngineCore> core_;
};

}  // namespace hone
