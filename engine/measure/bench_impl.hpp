#pragma once
// What a Bench holds, and the steps that validation and timing share.

#include <array>
#include <cstdint>
#include <limits>
#include <map>
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
    bool may_be_cancellation = false;  ///< of few results: they may be near zero where the terms of their sums are not
  };
  Result<Verdict> judge_drawn(const LoadedKernel& kernel, std::uint64_t seed, double& max_error);
  enum class Run { kFirst, kSecond, kBehindWriter };
  Result<Verdict> run(const LoadedKernel& kernel, Run which);
  Result<Verdict> run_and_compare(const LoadedKernel& kernel, Run which, double& max_error);
  Result<void> write_late();
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
  /// One configuration, ready to be sampled: call by call, or by a graph of calls where there is one.
  struct Subject {
    const LoadedKernel* kernel = nullptr;
    std::vector<std::size_t> workspaces;  ///< as of workspace_counts()
    std::vector<Preparation> preparations;
    double warmup_us = std::numeric_limits<double>::infinity();  ///< the fastest warm-up run
    std::unique_ptr<CallGraph> graph;
  };
  Result<void> ready_for_timing();
  [[nodiscard]] std::vector<Preparation> preparations(const std::vector<std::size_t>& workspaces,
                                                      const std::vector<void*>& addresses) const;
  Result<Subject> warm_up(const LoadedKernel& kernel, std::vector<std::size_t> workspaces, int runs, bool flush);
  Result<std::vector<double>> sample(const Subject& subject, int samples, bool flush);
  Result<std::vector<Subject>> warm_up_finalists(std::span<const Finalist> finalists, const MeasureSettings& settings);
  template <class Take>
  Result<std::vector<std::vector<double>>> accepted(Readings& readings, const Take& take);

  // graph_timing.cpp
  /// The problem's buffers once more.
  struct CallSet {
    std::vector<std::unique_ptr<Buffer>> buffers;  ///< by argument; none for scalars
    std::vector<void*> addresses;                  ///< of the buffers
    std::vector<void*> arguments;                  ///< of a call: they point into `addresses`, and to the scalars of the slots
  };
  /// Gives the subject a graph if it, or the `rival_us` that it races against, is short.
  Result<void> choose_way(Subject& subject, const MeasureSettings& settings, double rival_us);
  Result<std::unique_ptr<CallGraph>> make_graph(const Subject& subject);
  Result<void> make_call_sets();
  Result<void> fit_workspaces(CallSet& set);  ///< to those of the slots

  Device& device_;
  KernelSpec spec_;
  Problem problem_;
  Tolerance tolerance_;
  std::vector<Slot> slots_;  ///< never resized after size_slots(): addresses_ points into it
  std::vector<void*> arguments_, reference_arguments_;
  std::unique_ptr<LoadedKernel> reference_;
  std::size_t bytes_ = 0;  ///< device memory of all but the workspaces
  std::optional<std::uint64_t> inputs_seed_, answer_seed_;
  std::map<std::uint64_t, std::uint64_t> redrawn_;  ///< seeds whose few results cancel, and what is drawn instead
  std::vector<CallSet> call_sets_;  ///< made for the first graph
  bool has_graphs_ = true;          ///< until the device says otherwise
};

}  // namespace hone
