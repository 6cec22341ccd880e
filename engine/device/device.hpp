#pragma once
// The interface of a device on which configurations are validated and timed. Implementations live in plugins/.

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

#include "engine/device/counters.hpp"
#include "engine/device/launch_device.hpp"
#include "engine/device/trial.hpp"

namespace hone {

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

/// What a device's energy counter says.
struct EnergyReading {
  double joules = 0.0;             ///< since some moment that stays the same while the device is open
  double seconds = 0.0;            ///< when it was read, by a clock that starts at any moment
  double resolution_joules = 0.0;  ///< the step in which the counter counts
};

/// A tool that watches trials and sees what a validation cannot: reads out of bounds, undefined behaviour, races. A worker runs under it,
/// several times as slow.
struct Sanitizer {
  std::string name;                                ///< "address,undefined", "memcheck"
  DeviceInfo device;                               ///< to compile for and to open: watched code may be other code
  std::vector<std::string> command;                ///< put before the worker's own command line
  std::map<std::string, std::string> environment;  ///< added to the worker's
};

/// An open device that measures, too. Every call may fail with kDevice; after that the process must be replaced.
class Device : public LaunchDevice {
 public:
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
  /// Loads a compiled reference: `plan` is a part of plan_answer.
  virtual Result<std::unique_ptr<LoadedKernel>> load_reference(const Compiled& compiled, const std::vector<PassLaunch>& plan,
                                                               const Problem& problem) = 0;
  /// Enqueues on the null stream a kernel that inverts all bits of the regions, 32 at most. With `late` it lets what is launched next begin
  /// first and takes its time: that kernel's way to the regions is one that needs waiting. For devices whose kernels overlap.
  virtual Result<void> invert(std::span<const Region> regions, bool late);
  /// Times runs one by one. Errors: kLaunch, a run failed.
  virtual Result<TimedRuns> time(const TimeRequest& request) = 0;
  /// Errors: kUnavailable, the device has no graphs (what this does unless it is overridden) or cannot make one of these calls.
  virtual Result<std::unique_ptr<CallGraph>> graph(const LoadedKernel& kernel, std::span<const GraphCall> calls);
  /// What the device's counters say of one run of `request`, which runs as often as that takes, with its preparations before each. Its
  /// samples and seed mean nothing. Errors: kUnavailable, there are none (what this does unless it is overridden) or they cannot be read
  /// here (what refused them, and what to do); kLaunch, a run failed.
  virtual Result<Counters> count(const TimeRequest& request);
  virtual Readings readings() = 0;
  /// Reads the energy counter. A counter may be brought up to date seldom, every tenth of a second, say: who measures with it waits for its
  /// steps. Errors: kUnavailable, there is none (as there is unless it is overridden), or it cannot be read here.
  virtual Result<EnergyReading> energy();
  /// Every access that leaves an allocation is found, one by one byte, for a sanitizer watches this process: buffers are then allocated as
  /// long as they are, since guard bands would be memory that may be read.
  [[nodiscard]] virtual bool sees_bounds() const { return false; }
};

/// A family of devices that are tuned for.
class DevicePlugin : public LaunchPlugin {
 public:
  /// A device that stands for an architecture ("sm_90a") and need not be here: for compiling ahead. Errors: kNotFound, not
  /// an architecture of this family; kUnavailable, the family has none.
  virtual Result<DeviceInfo> typical(std::string_view architecture) const;
  /// The compiler that compiler() would use, for people ("NVRTC 13.0 (/usr/lib/...)"), or why there is none.
  virtual Result<std::string> compiler_version() const = 0;
  virtual Result<std::unique_ptr<Device>> open(const DeviceInfo& info) const = 0;
  Result<std::unique_ptr<LaunchDevice>> open_to_launch(const DeviceInfo& info) const override;
  /// Begins with what measuring on the device will need beside an open one, from a thread beside open(). Who only launches does not call
  /// it. What goes wrong here goes wrong again where it is needed, and is reported there.
  virtual void prepare_to_measure(const DeviceInfo& info) const;
  /// Whether Device::energy will answer, before the device is opened. Errors: kUnavailable, it will not, why, and what to do.
  virtual Result<void> check_energy_counter(const DeviceInfo& info) const;
  /// The host's cores that are near the device, by their numbers; empty: all are, or it is not known.
  [[nodiscard]] virtual std::vector<int> cores_near(const DeviceInfo& info) const;
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
