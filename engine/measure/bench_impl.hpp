#pragma once
// The state of a Bench, and the steps that validation and timing share.

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/measure/fill.hpp"
#include "engine/measure/guarded_arena.hpp"
#include "engine/measure/measure.hpp"
#include "engine/measure/sampling.hpp"

namespace hone {

struct Bench::Impl {
  /// The buffers of a run: those that timing also uses, or those of the second run, at other addresses.
  static constexpr std::size_t kFirst = 0, kSecond = 1, kPlaces = 2;

  /// One argument of the kernel on this problem.
  struct Slot {
    const Argument* argument = nullptr;
    DType element = DType::kF32;
    std::size_t count = 0;  ///< elements; of a workspace: for the current configuration
    Tolerance tolerance;
    std::byte* original = nullptr;            ///< kInOut: the copy that restores it
    double* expected = nullptr;               ///< kOut, kInOut: the reference's answer
    std::byte* exact = nullptr;               ///< the answer as 64-bit integers, if the reference writes them
    double rms = 0.0;                         ///< root mean square of the answer
    double slack = 1.0;                       ///< largest error of correct results, in units of the tolerance: it may be ill-conditioned
    std::optional<measure::FillPlan> fill{};  ///< of an input that its mark describes
    double fraction = 1.0;                    ///< of an output: the share that must be correct
    std::size_t group = 0;                    ///< of a set output: see Bound
    bool is_accepted = false, has_answer = false;  ///< of an output: judged by an ACCEPT function; has a reference answer
    std::vector<double> sensitivity;               ///< of each element of the answer (conditioning.cpp); on demand
    alignas(8) std::array<std::byte, 8> scalar{};
    std::array<void*, kPlaces> address{};  ///< the device pointers to pass
    void* reference_address = nullptr;     ///< the same for the reference

    [[nodiscard]] std::size_t bytes() const { return count * size_of(element); }
    [[nodiscard]] std::size_t answer_bytes() const { return count * sizeof(double); }
    [[nodiscard]] bool is(Direction direction) const { return argument->direction == direction; }
    /// Whether it is an input with elements; arguments without elements have no memory.
    [[nodiscard]] bool is_input() const { return count > 0 && (is(Direction::kIn) || is(Direction::kInOut)); }
    /// Whether each element has one correct value.
    [[nodiscard]] bool is_watched() const { return is_output() && !is_accepted && !argument->bound.set && fraction == 1.0; }
    [[nodiscard]] bool is_output() const { return count > 0 && (is(Direction::kOut) || is(Direction::kInOut)); }
    [[nodiscard]] bool has_fixed_memory() const { return count > 0 && !is(Direction::kScalar) && !is(Direction::kWorkspace); }
  };

  Impl(Device& device, const KernelSpec& spec, const Problem& problem, InputProfile profile, double max_error)
      : device_(device), spec_(spec), problem_(problem), profile_(profile), max_error_(max_error) {}

  // bench.cpp
  Result<void> create(const Compiled& reference);
  /// Sizes of the workspaces for a configuration, by argument; 0 for the others.
  Result<std::vector<std::size_t>> workspace_counts(const Configuration& configuration) const;
  Result<void> fit_workspaces(const std::vector<std::size_t>& counts);

  // reference.cpp
  Result<void> compute_answer(std::uint64_t seed);
  Result<bool> has_answer(std::uint64_t seed);

  // inputs.cpp
  Result<void> fill_inputs(std::uint64_t seed);
  Result<void> vary(std::uint64_t seed);

  // validation.cpp
  Result<Validation> validate(const LoadedKernel& kernel, const Configuration& configuration, std::uint64_t seed, Runs runs);

  // audit.cpp
  /// The owner of a payload.
  struct Owner {
    const Slot* slot = nullptr;
    bool own = false;  ///< owned by the bench: an original or an answer
  };
  /// Memory that no kernel may write, with its checksum: a guard band, an input, or memory that only the reference writes.
  struct Frozen {
    Region region;
    std::uint64_t checksum = 0;
    const Slot* slot = nullptr;                    ///< its argument
    bool own = false;                              ///< an original, an answer, or its band: not an argument of the kernel
    const measure::GuardedArena* arena = nullptr;  ///< of a band
    std::size_t band = 0;
  };
  static void add_bands(std::vector<Frozen>& watched, const measure::GuardedArena& arena, const std::vector<Owner>& owners);
  /// The guard bands of one place.
  [[nodiscard]] std::vector<Frozen> bands(std::size_t place) const;
  /// All bands, inputs, originals and answers.
  [[nodiscard]] std::vector<Frozen> frozen() const;
  /// Describes the write for the message of a kernel's failure.
  Result<std::optional<std::string>> damage(const std::vector<Frozen>& watched);
  Result<std::string> describe_damage(const Frozen& hit);
  /// After a failure, all memory is refilled: the next configuration must not be charged for damage.
  Result<void> repair();

  // timing.cpp
  Result<std::optional<Measurement>> look(const LoadedKernel& kernel, const Configuration& configuration, const MeasureSettings& settings,
                                          double limit_us);
  Result<Timing> time(const LoadedKernel& kernel, const Configuration& configuration, const MeasureSettings& settings,
                      const std::optional<Incumbent>& incumbent, Readings& readings);
  Result<Validation> repeat(const LoadedKernel& kernel, const Configuration& configuration, int launches, double seconds);
  Result<Counters> count(const LoadedKernel& kernel, const Configuration& configuration, const MeasureSettings& settings);

  // interleaved_timing.cpp
  Result<std::vector<Timing>> time_interleaved(std::span<const Finalist> finalists, const MeasureSettings& settings, std::uint64_t seed,
                                               Readings& readings);

  Device& device_;
  std::size_t bytes_ = 0;  ///< device memory except workspaces, the second place and the calls of graphs
  std::function<void(bool)> on_reference_;
  Given given_;     ///< files, read whenever needed: they are the same for every seed
  OnTurn on_turn_;  ///< of the current timing

 private:
  struct Subject;
  // bench.cpp
  Result<void> size_slots();
  std::vector<measure::GuardedArena::Payload> argument_payloads(std::size_t place, bool with_inputs);
  std::vector<measure::GuardedArena::Payload> own_payloads();
  Result<void> check_memory(std::size_t extra_bytes, const std::string& what) const;
  [[nodiscard]] std::optional<std::size_t> device_memory() const;
  Result<void> allocate();
  void try_second_place();
  Error out_of_memory(const Error& cause) const;

  // reference.cpp
  Result<void> load_reference(const Compiled& reference);
  /// The kernel whose reference, generators and ACCEPT functions are used.
  [[nodiscard]] const KernelSpec& judge() const { return spec_.judge ? *spec_.judge : spec_; }
  [[nodiscard]] std::optional<std::size_t> slot_of(std::size_t argument) const;
  Result<void> launch_reference();
  /// While one lives, what runs is no candidate's doing: new inputs and their answer. Of nested ones, who watches hears of the outermost.
  class Preparing {
   public:
    explicit Preparing(Impl& bench);
    ~Preparing();
    Preparing(const Preparing&) = delete;
    Preparing& operator=(const Preparing&) = delete;

   private:
    Impl& bench_;
  };
  Result<void> start_expected(Slot& slot);
  Result<void> start_exact(Slot& slot);
  Result<void> round_exact(Slot& slot);
  Result<void> take_given_answers();
  Result<void> check_expected(Slot& slot);
  Result<bool> round_overflow(Slot& slot);

  // answers.cpp: for a reference that takes the configuration
  /// An answer for the current inputs, computed for other configurations.
  struct KnownAnswer {
    std::vector<Value> fields;
    std::vector<std::unique_ptr<Buffer>> copies;  ///< of the reference's output, in the order of own_
    std::vector<Frozen> own;
    std::vector<double> rms, slack;  ///< by slot
    std::size_t bytes = 0;
  };
  void find_answer_fields();
  /// Makes the answer that of this configuration.
  void use(const Configuration& configuration);
  Result<void> face(const Subject& subject);
  Result<void> run_on_own_buffers(Subject& subject);  // interleaved_timing.cpp
  Result<bool> recall();
  Result<void> remember();
  [[nodiscard]] std::size_t most_known_bytes() const;

  // inputs.cpp
  [[nodiscard]] bool is_generated(const Slot& slot) const;
  [[nodiscard]] bool is_given(const Slot& slot) const;
  Result<void> take_given_inputs();
  [[nodiscard]] bool is_filled_by_device(const Slot& slot) const;
  Result<void> fill_by_device(std::uint64_t seed);
  Result<void> generate(std::uint64_t seed);
  Result<void> fill_input(Slot& slot, void* destination, std::uint64_t stream);
  Result<void> fill_variations(Slot& slot, void* destination, std::size_t argument);
  [[nodiscard]] std::string inputs_text() const;

  // validation.cpp
  struct Verdict {
    Outcome outcome = Outcome::kOk;
    std::string detail;
    [[nodiscard]] bool ok() const { return outcome == Outcome::kOk; }
  };
  /// A run of a validation: its buffers, its poison, and the pass that a late writer precedes.
  struct Run {
    std::size_t place = kFirst;
    bool second = false;                       ///< uses the other poison
    std::optional<std::size_t> late_before{};  ///< this pass runs behind a kernel that is still writing
  };
  Result<Verdict> judge(const LoadedKernel& kernel, Runs runs, double& max_error);
  [[nodiscard]] std::vector<Frozen> written_by_none(bool inputs_alone) const;
  Result<Verdict> run(const LoadedKernel& kernel, const Run& which);
  Result<void> launch(const LoadedKernel& kernel, const Run& which);
  Result<Verdict> run_and_compare(const LoadedKernel& kernel, const Run& which, double& max_error);
  Result<Verdict> behind_late_writers(const LoadedKernel& kernel, double& max_error);
  Result<void> write_late(std::size_t place);
  Result<Verdict> compare_outputs(const Run& which, double& max_error);
  Result<Comparison> compare_slot(Slot& slot, const void* address);
  Result<Comparison> compare_exact(const Slot& slot, const void* address);
  Result<Verdict> compare_runs(const std::vector<std::uint64_t>& first, const Run& second, double& max_error);
  Result<Verdict> describe(const Slot& slot, const Comparison& comparison, const Run& which);
  Result<std::vector<std::uint64_t>> output_checksums(std::size_t place);
  Result<void> prepare(const Run& which);
  [[nodiscard]] bool sums_in_any_order() const;
  [[nodiscard]] static Verdict launch_failure(const Error& error);

  // judgement.cpp
  Result<void> size_judgement(Slot& slot, const Bindings& bound);
  Result<Comparison> compare_freely(const Slot& slot, const void* address, const Tolerance& allowed);
  static void forgive(const Slot& slot, Comparison& comparison);
  Result<Verdict> compare_unwatched(const std::vector<void*>& addresses);
  Result<Verdict> accept(const std::vector<void*>& addresses);

  // conditioning.cpp
  /// Compares an output with the answer, allowing for the conditioning of this answer.
  Result<Comparison> compare_conditioned(const Slot& slot, const void* address);
  Result<void> measure_sensitivity();
  Result<void> add_perturbed_answer(std::uint64_t draw, double step, const std::vector<std::vector<double>>& answers);
  [[nodiscard]] double perturbation_step() const;
  /// What an output may be off by where zero is due everywhere, whatever the inputs: there is no magnitude but theirs.
  [[nodiscard]] double where_zero_is_due(const Slot& slot) const;

  // timing.cpp
  /// One configuration, ready to be sampled: call by call, or as a graph of calls.
  struct Subject {
    const LoadedKernel* kernel = nullptr;
    const Configuration* configuration = nullptr;
    std::vector<std::size_t> workspaces;  ///< as of workspace_counts()
    std::vector<Preparation> preparations;
    std::vector<Watch> watches;
    double warmup_us = std::numeric_limits<double>::infinity();  ///< the fastest warm-up run
    std::unique_ptr<CallGraph> graph;
    std::uint64_t unmended = 0, runs = 0;  ///< so far: overwritten elements that its runs did not correct, and its runs
    std::optional<std::string> harm;       ///< damage by one of its turns in the final round
  };
  Result<void> ready_for_timing();
  [[nodiscard]] std::vector<Preparation> preparations(const std::vector<std::size_t>& workspaces,
                                                      const std::vector<void*>& addresses) const;
  [[nodiscard]] std::vector<Watch> watches(const std::vector<void*>& addresses) const;
  [[nodiscard]] std::vector<void*> addresses(std::size_t place) const;
  Subject subject(const LoadedKernel& kernel, const Configuration& configuration, std::vector<std::size_t> workspaces) const;
  Result<Subject> ready_subject(const LoadedKernel& kernel, const Configuration& configuration);
  Result<void> warm_up(Subject& subject, int runs, bool flush);
  TimeRequest time_request(const Subject& subject, int samples, bool flush);
  Result<std::vector<double>> sample(Subject& subject, int samples, bool flush);
  /// Reports that the `finalist` runs next, for about `us` microseconds.
  void report_turn(std::size_t finalist, double us) const;
  Result<Samples> accepted(Readings& readings, const std::function<Result<Samples>()>& take);
  /// Whether the timed runs were correct: overwritten elements, damage, and, unless it lost its race, all outputs of the last run.
  Result<Validation> check_timed(const Subject& subject, bool lost);

  // energy.cpp
  /// The windows of one subject so far.
  struct EnergyWindows {
    std::vector<double> joules;
    double resolution = 0.0;
    [[nodiscard]] std::optional<Figure> estimate() const;
    [[nodiscard]] bool enough(const MeasureSettings& settings) const;
  };
  Result<void> run_back_to_back(const Subject& subject, std::uint64_t runs);
  /// Up to `count` windows, one after the other, while `goes_on` says so.
  Result<void> add_energy_windows(Subject& subject, double seconds, std::size_t count, EnergyWindows& windows,
                                  const std::function<bool()>& goes_on = nullptr);
  /// Adds the energy to a measurement. False: it lost its race by it.
  Result<bool> measure_energy(Subject& subject, const MeasureSettings& settings, const std::optional<Incumbent>& incumbent,
                              Measurement& measurement);
  /// Of each finalist that was right so far, windows in turns.
  Result<void> measure_energies(std::vector<Subject>& subjects, const MeasureSettings& settings, std::vector<Timing>& timed);

  // interleaved_timing.cpp
  Result<std::vector<Subject>> warm_up_finalists(std::span<const Finalist> finalists, const MeasureSettings& settings);
  /// One sample of a finalist, and whether it did damage.
  Result<double> sample_finalist(Subject& finalist, const MeasureSettings& settings);
  Result<void> take_rounds(std::vector<Subject>& subjects, Samples& samples, const MeasureSettings& settings, std::uint64_t seed,
                           Readings& readings);

  // graph_timing.cpp
  /// A second set of the problem's buffers, for a call of a graph.
  struct CallSet {
    std::vector<void*> addresses;  ///< by argument; none for scalars
    std::vector<void*> arguments;  ///< of a call: pointers into `addresses`, and to the scalars of the slots
  };
  /// Gives the subject a graph if its time, or the rival's (`rival_us`), is short.
  Result<void> select_timing_method(Subject& subject, const MeasureSettings& settings, double rival_us);
  Result<std::unique_ptr<CallGraph>> make_graph(const Subject& subject);
  Result<void> make_call_sets();
  Result<void> fill_call_sets();
  Result<void> fit_call_workspaces();
  Result<Verdict> check_calls();

  KernelSpec spec_;
  Problem problem_;
  InputProfile profile_;
  int preparing_ = 0;        ///< Preparing that live
  double max_error_;         ///< see MeasureSettings
  std::vector<Slot> slots_;  ///< never resized after size_slots(): arguments_ points into it
  std::array<std::vector<void*>, kPlaces> arguments_;
  std::vector<void*> reference_arguments_, generator_arguments_;  ///< in the judge's order, and additional ones of generators
  std::uint64_t generator_seed_ = 0;
  std::unique_ptr<LoadedKernel> reference_, generators_, acceptances_;  ///< null if the file has none
  std::unique_ptr<LoadedKernel> originals_;                             ///< converts in-place arguments to doubles; null if there are none
  std::vector<void*> original_arguments_;
  std::unique_ptr<LoadedKernel> fills_;               ///< fills inputs described by marks; null if there are none
  std::vector<int> answer_fields_;                    ///< parameters that the reference reads
  std::vector<Value> fields_, answer_of_;             ///< their values: current, and those of the present answer
  std::vector<std::array<std::byte, 8>> configured_;  ///< by parameter, as the reference takes it
  std::vector<KnownAnswer> known_;                    ///< the oldest first
  /// The arguments of each place. Originals and answers are in separate memory, not adjacent to a kernel's arguments.
  std::array<measure::GuardedArena, kPlaces> arenas_, workspaces_;
  std::array<std::vector<Owner>, kPlaces> arena_owners_, workspace_owners_;  ///< by payload
  measure::GuardedArena own_arena_;
  std::vector<Owner> own_owners_;
  bool has_second_place_ = false, has_second_inputs_ = false;
  std::uint64_t draws_ = 0;                          ///< of inputs
  std::array<std::vector<Frozen>, kPlaces> inputs_;  ///< of each place, as filled
  std::vector<Frozen> own_;                          ///< originals and answers
  std::optional<std::uint64_t> inputs_seed_, answer_seed_;
  /// The inputs of the last of these seeds are those of another seed, except for a part of each that each of them says.
  struct Variation {
    std::uint64_t base = 0;
    std::vector<std::uint64_t> seeds;
  };
  std::optional<Variation> variation_;
  double largest_input_rms_ = 0.0;  ///< measured with the answers' sensitivity
  std::uint64_t timings_ = 0;       ///< so far: each overwrites other elements
  std::vector<CallSet> call_sets_;  ///< created for the first graph
  measure::GuardedArena call_arena_, call_workspaces_;
  std::vector<Owner> call_owners_, call_workspace_owners_;  ///< by payload of the arenas
  std::optional<std::uint64_t> calls_seed_;                 ///< of the inputs that the call sets hold
  bool has_graphs_ = true;                                  ///< until the device reports otherwise
};

}  // namespace hone
