#pragma once
// What a Bench holds, and the steps that validation and timing share.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/measure/guarded_buffer.hpp"
#include "hone/measure.hpp"

namespace hone {

struct Bench::Impl {
  /// One argument of the kernel on this problem.
  struct Slot {
    const Argument* argument = nullptr;
    DType element = DType::kF32;
    std::size_t count = 0;             ///< elements; of a workspace: for the configuration at hand
    measure::GuardedBuffer buffer;     ///< what the kernel gets
    std::unique_ptr<Buffer> original;  ///< kInOut: what it is restored from
    measure::GuardedBuffer expected;   ///< kOut, kInOut: the reference's answer, in double
    std::uint64_t input_checksum = 0;  ///< kIn: of the payload as filled
    std::uint64_t expected_checksum = 0;
    alignas(8) std::array<std::byte, 8> scalar{};
    void* address = nullptr;            ///< the value that is passed: a device pointer
    void* reference_address = nullptr;  ///< the same for the reference

    [[nodiscard]] std::size_t bytes() const { return count * size_of(element); }
    [[nodiscard]] bool is(Direction direction) const { return argument->direction == direction; }
    [[nodiscard]] bool is_output() const { return is(Direction::kOut) || is(Direction::kInOut); }
  };

  Impl(Device& device, const KernelSpec& spec, const Problem& problem) : device_(device), spec_(spec), problem_(problem) {}

  // bench.cpp
  Result<void> create(const Compiled& reference);
  Result<void> fill_inputs(std::uint64_t seed);
  Result<void> compute_answer(std::uint64_t seed);
  /// Sizes of the workspaces for a configuration, by argument; 0 for the others.
  Result<std::vector<std::size_t>> workspace_counts(const Configuration& configuration) const;
  Result<void> fit_workspaces(const std::vector<std::size_t>& counts);

  // validation.cpp
  Result<Validation> validate(const LoadedKernel& kernel, const Configuration& configuration, std::uint64_t seed);

  // timing.cpp
  Result<Measurement> time(const LoadedKernel& kernel, const Configuration& configuration, const MeasureSettings& settings,
                           std::optional<double> incumbent_us, Readings& readings);
  Result<std::vector<Measurement>> time_interleaved(std::span<const Finalist> finalists, const MeasureSettings& settings,
                                                    std::uint64_t seed, Readings& readings);

 private:
  // bench.cpp
  Result<void> size_slots();
  Result<void> check_memory(std::size_t extra_bytes, const std::string& what) const;
  Result<void> allocate();
  Error out_of_memory(const Error& cause) const;
  Result<void> start_expected(Slot& slot);
  Result<void> convert_original(Slot& slot);
  Result<void> check_expected(Slot& slot);

  // validation.cpp
  struct Verdict {
    Outcome outcome = Outcome::kOk;
    std::string detail;
  };
  Result<Verdict> run(const LoadedKernel& kernel, bool second);
  Result<Verdict> find_damage();
  Result<Verdict> compare_outputs(bool second, double& max_error);
  Result<Verdict> compare_runs(const std::vector<std::uint64_t>& first, double& max_error);
  Result<Verdict> describe(const Slot& slot, const Comparison& comparison, bool second);
  Result<std::vector<std::uint64_t>> output_checksums();
  Result<Verdict> judge(const LoadedKernel& kernel, double& max_error);
  Result<void> prepare(bool second);
  Result<void> repair();
  [[nodiscard]] bool sums_in_any_order() const;

  // timing.cpp
  Result<void> ready_for_timing();
  [[nodiscard]] std::vector<Preparation> preparations(const std::vector<std::size_t>& workspaces) const;
  Result<std::vector<double>> sample(const LoadedKernel& kernel, const std::vector<Preparation>& prepared, int samples, bool flush);
  Result<std::vector<std::vector<Preparation>>> prepare_finalists(std::span<const Finalist> finalists, const MeasureSettings& settings);
  template <class Take>
  Result<std::vector<std::vector<double>>> accepted(Readings& readings, const Take& take);

  Device& device_;
  KernelSpec spec_;
  Problem problem_;
  Tolerance tolerance_;
  std::vector<Slot> slots_;  ///< never resized after size_slots(): addresses_ points into it
  std::vector<void*> arguments_, reference_arguments_;
  std::unique_ptr<LoadedKernel> reference_;
  std::size_t bytes_ = 0;  ///< device memory of all but the workspaces
  std::optional<std::uint64_t> inputs_seed_, answer_seed_;
};

}  // namespace hone
