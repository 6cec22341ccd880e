#pragma once
// The interface of a device: it compiles, allocates, launches, times and describes itself. Implementations live in plugins/.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/tensor_map.hpp"
#include "engine/device/trial.hpp"
#include "engine/kernel/kernel_problem.hpp"
#include "engine/kernel/kernel_spec.hpp"
#include "hone/device_info.hpp"
#include "hone/memory.hpp"

namespace hone {

/// d.NAME, for expressions.
Bindings bindings(const DeviceInfo& info);

/// Names for d.*; a kernel file may use no other.
std::span<const std::string_view> device_property_names();

/// Compiled code: opaque bytes (a cubin, a shared object) and the symbols in it.
struct Artifact {
  std::string digest;  ///< 32 hex digits over `bytes`
  std::vector<std::byte> bytes;
};

/// One configuration's part of an artifact.
struct Compiled {
  std::shared_ptr<const Artifact> artifact;
  std::vector<std::string> symbols;  ///< one per pass, of the kernel or of the reference
  Resources resources;
};

struct CompileRequest {
  const KernelSpec* spec = nullptr;
  DTypes dtype;
  std::vector<Configuration> configurations;  ///< empty with `reference`
  bool reference = false;                     ///< compile the reference instead
  Shape shape = {};                           ///< of the problem: its STATIC fields are compiled in; those it lacks with their defaults
};

/// Compiles for one device without touching it: may run in any process. Not thread-safe; one per thread.
class Compiler {
 public:
  virtual ~Compiler() = default;
  /// One entry per configuration (one in all for a reference). A configuration that fails does not spoil the others of its batch.
  virtual std::vector<Result<Compiled>> compile(const CompileRequest& request) = 0;
};

/// An argument that is copied to constant memory, on the stream of the launch.
struct ConstantCopy {
  int argument = 0;    ///< of the spec: the address to copy from
  std::string symbol;  ///< the variable's name in the source
  std::int64_t bytes = 0;
};

/// The geometry of one pass with all expressions evaluated.
struct PassLaunch {
  std::array<std::int64_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  std::int64_t shared_bytes = 0;
  bool cooperative = false;
  bool overlap = false;        ///< begin while what was launched before it runs; never on devices without dependent launches
  std::vector<int> arguments;  ///< as in Pass; of one that repeats, those of this run
  std::vector<std::array<int, 2>> exchanged = {};  ///< what differs from Pass::arguments: the argument there, and that of this run
  std::int32_t run_index = 0;                      ///< which run of its pass it is: the value of kRunIndexParameter
  std::vector<TensorMap> tensor_maps;              ///< as in Pass
  std::size_t symbol = 0;                          ///< index into Compiled::symbols
  std::vector<std::int64_t> problem;               ///< the Problem by value; empty: its fields are longs in their order
  std::vector<std::int64_t> fields;                ///< what it was made of: the values of all fields that are not STATIC
  std::vector<ConstantCopy> constants;             ///< copied before the pass: all of a launch before its first
  std::int64_t extent = 0;  ///< of a reference's pass: it is called for [0, extent), in a geometry of the device's own
};

/// How often a pass can run: each run is a launch of its own, and a number beyond is a mistake.
inline constexpr std::int64_t kMostRepeats = 4096;

/// Evaluates a kernel's launch expressions and tensor maps; disabled passes are left out, and so are those without a block (a grid of 0);
/// one that repeats is there as often. All that a launch needs besides code and addresses. Errors: an expression that fails, a dimension or
/// number of runs below 1 (of the grid below 0, of runs above kMostRepeats), a tensor map that the hardware does not have.
Result<std::vector<PassLaunch>> plan_launch(const KernelSpec& spec, const Problem& problem, const Configuration& configuration,
                                            const DeviceInfo& info);

/// What an AnswerCode launches, in its order.
struct AnswerPlan {
  std::vector<PassLaunch> reference, generators, acceptances;
  std::vector<PassLaunch> originals;  ///< of in-place arguments: into what the reference goes on with
  std::vector<PassLaunch> fills;      ///< of inputs that their marks describe
};
/// What has an extent of 0 is left out. Errors: an extent that fails, or is below 0.
Result<AnswerPlan> plan_answer(const KernelSpec& spec, const Problem& problem);
/// The reference's part of it. Errors: an extent that fails, or is below 0.
Result<std::vector<PassLaunch>> plan_reference(const KernelSpec& spec, const Problem& problem);

/// Whether the device can launch this at all: the static gate. Returns the reason, empty if it can.
std::string static_reject(const std::vector<PassLaunch>& plan, const Resources& resources, const DeviceInfo& info);

/// A loaded configuration, ready to launch. Thread-safe to launch.
class LoadedKernel {
 public:
  virtual ~LoadedKernel() = default;
  /// Enqueues all passes on `stream` (a CUstream; ignored by cpu, which runs and returns). `arguments` holds, for each argument of the
  /// spec, the address of the argument's value (a pointer to the device pointer, or to the scalar). Takes no lock and allocates nothing.
  virtual Result<void> launch(void* stream, std::span<void* const> arguments) const = 0;
  [[nodiscard]] virtual Resources resources() const = 0;  ///< as the driver sees it, with occupancy
  /// How many passes a launch makes.
  [[nodiscard]] virtual std::size_t passes() const { return 1; }
  /// The pass may begin while what was launched before it still runs (Launch::overlap).
  [[nodiscard]] virtual bool overlaps(std::size_t /*pass*/) const { return false; }
  /// Enqueues `count` passes from `first` on alone, as launch() does with all. Only of kernels of which a pass behind the first overlaps.
  virtual Result<void> launch_passes(void* stream, std::span<void* const> arguments, std::size_t first, std::size_t count) const;
};

/// How far an output may be from the reference: |out - ref| <= relative * |ref| + absolute_rms * rms(ref) + absolute.
struct Tolerance {
  double relative = 0.0;
  double absolute_rms = 0.0;
  double absolute = 0.0;  ///< half the step between subnormal numbers: what rounding a tiny result costs in f16
};

struct Comparison {
  std::uint64_t elements = 0, mismatches = 0, not_finite = 0;  ///< not_finite: NaN or infinity where the reference has none
  std::uint64_t first_mismatch = 0;
  double first_actual = 0.0, first_expected = 0.0;
  double max_error = 0.0;  ///< largest |out - ref| / allowed
};

/// Done before each run, outside the timed region.
struct Preparation {
  /// kScramble: every byte becomes one value that changes from run to run.
  enum class Kind { kZero, kCopy, kScramble } kind = Kind::kZero;
  void* destination = nullptr;
  const void* source = nullptr;
  std::size_t bytes = 0;
};

/// An output whose right answer is known: element x is right if |x - e| <= relative * |e| + absolute, or if it equals e.
struct Watch {
  void* address = nullptr;
  DType element = DType::kF32;
  const double* expected = nullptr;  ///< in device memory
  std::size_t count = 0;
  double relative = 0.0, absolute = 0.0;
  bool spoiled = true;  ///< else a preparation fills it before each run (in-place and zeroed arguments): it is only looked at
};

/// Which elements of watches spoil() overwrites and unmended() looks at.
struct Spots {
  std::uint64_t seed = 0;
  std::size_t most = 0;  ///< of each watch; one with no more elements is taken whole
};
/// Those of the `run`-th run of a request or of a graph.
Spots spots_of_run(std::uint64_t seed, std::uint64_t run);
/// What a preparation that is no copy fills with, before a run with spots of this seed.
std::uint8_t fill_pattern(Preparation::Kind kind, std::uint64_t seed);

/// A piece of device memory.
struct Region {
  void* address = nullptr;
  std::size_t bytes = 0;
};

struct TimeRequest {
  const LoadedKernel* kernel = nullptr;
  std::span<void* const> arguments = {};
  std::span<const Preparation> preparations = {};
  /// Outputs that hold a plausible wrong answer before each run: a sample of their elements is spoiled, and looked at again after the run.
  /// A kernel that leaves the work of an earlier run where it is leaves the spoiled elements, too.
  std::span<const Watch> watches = {};
  std::uint64_t seed = 0;  ///< of the spoiled elements, which are others in each run
  int samples = 1;
  bool flush_cache = true;
};

/// What was measured.
struct TimedRuns {
  std::vector<double> us;      ///< microseconds of each run; of a graph, of one call in the mean
  std::uint64_t unmended = 0;  ///< spoiled elements that were wrong after their run, over all runs
};

/// One call of a graph: its arguments, as LoadedKernel::launch takes them, and what is done to them before the graph runs.
struct GraphCall {
  std::span<void* const> arguments;
  std::vector<Preparation> preparations;
  std::vector<Watch> watches;
};

/// Calls of one kernel, one behind the other, that the device makes without the host. Must not outlive the device, the kernel, or the
/// memory its arguments point to.
class CallGraph {
 public:
  virtual ~CallGraph() = default;
  /// Microseconds of one call: the mean over the graph's, of each of `samples` runs. When a run begins no cache holds anything of the
  /// arguments. The watches of all calls are spoiled before each run, by `seed`, and looked at after it.
  virtual Result<TimedRuns> time(int samples, std::uint64_t seed) = 0;
};

/// A tool that watches trials and sees what a validation cannot: reads out of bounds, undefined behaviour, races. A worker runs under it,
/// several times as slow.
struct Sanitizer {
  std::string name;                                ///< "address,undefined", "memcheck"
  DeviceInfo device;                               ///< to compile for and to open: watched code may be other code
  std::vector<std::string> command;                ///< put before the worker's own command line
  std::map<std::string, std::string> environment;  ///< added to the worker's
};

/// One open device; used by one thread. Every call may fail with kDevice; after that the process must be replaced.
class Device : public Memory {
 public:
  [[nodiscard]] virtual const DeviceInfo& info() const = 0;
  /// Element i becomes random_element(seed, i), of i32 random_integer(seed, i): the same numbers on every device (hone/random.h).
  virtual Result<void> randomize(void* destination, DType dtype, std::size_t count, std::uint64_t seed) = 0;
  /// Compares `count` elements of `dtype` with doubles on the device.
  virtual Result<Comparison> compare(const void* actual, DType dtype, const double* expected, std::size_t count, Tolerance tolerance) = 0;
  /// A 64-bit digest of bytes on the device: for guard bands and for repeats.
  virtual Result<std::uint64_t> checksum(const void* source, std::size_t bytes) = 0;
  /// checksum() of each region, all at once where the device can.
  virtual Result<std::vector<std::uint64_t>> checksums(std::span<const Region> regions);
  /// Root of the mean square of the finite ones among doubles in device memory.
  virtual Result<double> root_mean_square(const double* values, std::size_t count) = 0;
  /// Overwrites the spots of each spoiled watch (spot() of hone/random.h) with decoy(): wrong values that look right.
  virtual Result<void> spoil(std::span<const Watch> watches, const Spots& spots) = 0;
  /// How many of the spots are wrong.
  virtual Result<std::uint64_t> unmended(std::span<const Watch> watches, const Spots& spots) = 0;
  /// Fills the memory that blocks share with `pattern`, so that the next launch finds nothing there that it could mistake for its own. Does
  /// nothing unless it is overridden.
  virtual Result<void> paint_shared(std::uint8_t pattern);
  virtual Result<std::unique_ptr<LoadedKernel>> load(const Compiled& compiled, const std::vector<PassLaunch>& plan,
                                                     const Problem& problem) = 0;
  /// Loads a compiled reference: `plan` is a part of plan_answer.
  virtual Result<std::unique_ptr<LoadedKernel>> load_reference(const Compiled& compiled, const std::vector<PassLaunch>& plan,
                                                               const Problem& problem) = 0;
  /// Fills on `stream`, without waiting for it.
  virtual Result<void> fill_on(void* stream, void* destination, std::size_t bytes, std::uint8_t pattern) = 0;
  /// Enqueues on the null stream a kernel that inverts all bits of the regions, 32 at most. With `late` it lets what is launched next begin
  /// first and takes its time: that kernel's way to the regions is one that needs waiting. For devices whose kernels overlap.
  virtual Result<void> invert(std::span<const Region> regions, bool late);
  /// Times runs one by one. Errors: kLaunch, a run failed.
  virtual Result<TimedRuns> time(const TimeRequest& request) = 0;
  /// Errors: kUnavailable, the device has no graphs (what this does unless it is overridden) or cannot make one of these calls.
  virtual Result<std::unique_ptr<CallGraph>> graph(const LoadedKernel& kernel, std::span<const GraphCall> calls);
  virtual Readings readings() = 0;
  /// Every access that leaves an allocation is found, one by one byte, for a sanitizer watches this process: buffers are then allocated as
  /// long as they are, since guard bands would be memory that may be read.
  [[nodiscard]] virtual bool sees_bounds() const { return false; }
};

/// A family of devices. Stateless; enumerating must not leave a driver context behind.
class DevicePlugin {
 public:
  virtual ~DevicePlugin() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// The devices of this machine, or kUnavailable with what is missing and what to do.
  virtual Result<std::vector<DeviceInfo>> enumerate() const = 0;
  /// A device that stands for an architecture ("sm_90a") and need not be here: for compiling ahead. Errors: kNotFound, not
  /// an architecture of this family; kUnavailable, the family has none.
  virtual Result<DeviceInfo> typical(std::string_view architecture) const;
  /// The compiler that compiler() would use, for people ("NVRTC 13.0 (/usr/lib/...)"), or why there is none.
  virtual Result<std::string> compiler_version() const = 0;
  virtual Result<std::unique_ptr<Device>> open(const DeviceInfo& info) const = 0;
  /// Begins with what measuring on the device will need beside an open one, from a thread beside open(). Who only launches does not call
  /// it. What goes wrong here goes wrong again where it is needed, and is reported there.
  virtual void prepare_to_measure(const DeviceInfo& info) const;
  virtual Result<std::unique_ptr<Compiler>> compiler(const DeviceInfo& info) const = 0;
  /// Names of the sanitizers that this family may have here, the one to begin with first.
  [[nodiscard]] virtual std::vector<std::string> sanitizers() const { return {}; }
  /// One of them, which writes what it finds to files that begin with `log`. Errors: kUnavailable, what is missing and what to do.
  virtual Result<Sanitizer> sanitizer(const DeviceInfo& info, std::string_view name, const std::filesystem::path& log) const;
  /// What such a file says in one line: the kind, and where in the source. Empty if it says nothing.
  [[nodiscard]] virtual std::string finding(std::string_view log) const { return std::string(log.substr(0, log.find('\n'))); }
  /// The shared object it came from, which other processes load to have it too; empty if it is built in.
  [[nodiscard]] virtual std::filesystem::path file() const { return {}; }
};

}  // namespace hone
