#pragma once
// A worker's trials: load, validate, time. What it calls can crash, hang or scribble over memory.

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/device/trial.hpp"
#include "engine/measure/measure.hpp"
#include "engine/worker/device_lock.hpp"
#include "engine/worker/process_state.hpp"
#include "engine/worker/wire.hpp"
#include "engine/worker/worker_channel.hpp"

namespace hone {

struct TrialReply;

class MeasuringWorker {
 public:
  /// Opens the device, unless it is `open`. `setup` holds the kernel, the problem and the settings.
  static Result<std::unique_ptr<MeasuringWorker>> create(WorkerChannel& channel, const DevicePlugin& plugin, const DeviceInfo& info,
                                                         const wire::Message& setup, std::unique_ptr<Device> open = nullptr);

  /// Makes the buffers, once: `request` holds the compiled reference. Trials come after it.
  Result<void> make_bench(const wire::Message& request);
  /// One configuration, alone.
  wire::Message trial(const wire::Message& request);
  /// The counters of one configuration, which a trial found right. What counts may slow down later launches: the process's last request.
  wire::Message count(const wire::Message& request);
  /// The open device, for another. What still uses it ends with this worker, and the device must outlive that.
  std::unique_ptr<Device> release_device() && { return std::move(device_); }
  /// Device memory of the benches.
  [[nodiscard]] std::size_t bytes() const;
  /// Several, on fresh inputs and timed in turns.
  wire::Message finals(const wire::Message& request);
  /// Moves on to the problem of `request`, and times its candidates there as long as they have time. Needs no make_bench() before it.
  wire::Message survey(const wire::Message& request);
  /// Moves on to the problem of the survey that comes next.
  wire::Message prepare_survey(const wire::Message& request);

 private:
  MeasuringWorker(WorkerChannel& channel, const DeviceInfo& info) : channel_(channel), lock_(info) {}

  /// A small problem, with inputs of one kind.
  struct Small {
    Problem problem;
    InputProfile profile = InputProfile::kUsual;
    std::unique_ptr<Bench> bench = nullptr;  ///< made when it is first needed
    bool applies = true;                     ///< until the reference turns out to have no answer to it
    bool is_larger = false;                  ///< of inputs that provoke: tried beside the first problem that is
    bool is_large = false;                   ///< the problem itself, or parts of it: tried where no small one can be
  };

  /// Inputs that provoke, on the first small problem that a configuration can do, or on larger ones beside that.
  struct Provocation {
    InputProfile profile = InputProfile::kUsual;
    bool is_larger = false;
    friend auto operator<=>(const Provocation&, const Provocation&) = default;
  };
  static std::vector<Provocation> provocations();
  /// As it is called between processes.
  static std::string name_of(const Provocation& provocation);

  [[nodiscard]] Configuration configuration_from(const wire::Message& message) const;
  std::unique_ptr<LoadedKernel> load_for(const Problem& problem, const Compiled& compiled, const Configuration& configuration,
                                         TrialReply& reply);
  /// Loads for the problem itself and notes what the driver says of it.
  std::unique_ptr<LoadedKernel> prepare(const Compiled& compiled, const Configuration& configuration, TrialReply& reply);
  // measuring_gate.cpp
  Result<void> add_small_problems();
  bool check(Bench& bench, const Configuration& configuration, const LoadedKernel& kernel, std::uint64_t seed, const std::string& where,
             TrialReply& reply, Runs runs = Runs::kTwo);
  bool validate(const Compiled& compiled, const Configuration& configuration, const LoadedKernel& kernel, TrialReply& reply);
  bool validate_all(const Compiled& compiled, const Configuration& configuration, const LoadedKernel& kernel, TrialReply& reply);
  static bool note(const Result<Validation>& validation, const std::string& where, TrialReply& reply);
  [[nodiscard]] std::uint64_t seed_of(const Small& small) const;
  /// Nothing if the problem does not apply: the configuration is not valid for it, the device refuses it, the reference has no answer.
  std::optional<bool> check_small(Small& small, const Compiled& compiled, const Configuration& configuration, Runs runs, TrialReply& reply);
  /// Whether the device has room for its buffers until the next configuration, beside those that are kept.
  [[nodiscard]] bool has_room_for(const Small& large) const;
  /// Frees what is kept of such; false if nothing is.
  bool forget_large();
  /// The rest of the gate, for what could win: regular shapes, inputs that provoke.
  bool deepen(const Compiled& compiled, const Configuration& configuration, Runs runs, TrialReply& reply);
  bool provoke(const Provocation& provocation, const Compiled& compiled, const Configuration& configuration, TrialReply& reply);
  /// Nothing where it can do no such problem.
  std::optional<bool> check_provoked(const Provocation& provocation, const Compiled& compiled, const Configuration& configuration,
                                     TrialReply& reply);
  /// Whether the kernel's own default is wrong for such inputs, as the trial at hand is: finds out where its code is there, else asks for
  /// it.
  bool default_is_wrong(const Provocation& provocation, TrialReply& reply);
  /// Many launches, each looked at.
  bool repeat(const Configuration& configuration, const LoadedKernel& kernel, int launches, double seconds, TrialReply& reply);

  // measuring_worker.cpp
  void say(const std::string& stage, std::optional<double> within = std::nullopt);
  bool look(const Configuration& configuration, const LoadedKernel& kernel, const Incumbent& incumbent, TrialReply& reply);
  bool time(const Configuration& configuration, const LoadedKernel& kernel, const std::optional<Incumbent>& incumbent, TrialReply& reply);
  /// What a trial left damaged is charged to it, and mended.
  void audit(TrialReply& reply);
  void run_trial(const wire::Message& request, TrialReply& reply);
  void learn_default(const wire::Message& request);
  void next_seed();
  /// Draws the inputs of all benches and computes the reference's answers, before there is a candidate to be charged with it.
  Result<void> draw();
  /// The reference is a stage of its own, whenever it runs.
  void watch_reference(Bench& bench, const Problem& problem);
  /// Fresh inputs need the reference's answer anew, which can cost more than many trials: they are drawn as often as that stays a small
  /// share.
  Result<void> refresh_inputs();

  // measuring_finals.cpp
  struct Contender;
  Result<std::size_t> load_contenders(std::vector<Contender>& contenders);
  Result<std::size_t> validate_contenders(std::vector<Contender>& contenders, double repeat_seconds);
  Result<std::size_t> each_contender(std::vector<Contender>& contenders, const std::function<bool(Contender&)>& check);
  // measuring_survey.cpp
  struct Moved {
    Problem problem;
    bool full_gate = false;
    friend bool operator==(const Moved&, const Moved&) = default;
  };
  Result<void> move_to(const wire::Message& request, bool full_gate);
  void survey_one(const wire::Message& candidate, const std::optional<Incumbent>& incumbent, bool full_gate, TrialReply& reply);

  // measuring_finals.cpp
  /// False if the round broke off: one of the trials then says at whom.
  bool time_finals(const std::vector<Bench::Finalist>& finalists, const std::vector<std::size_t>& places, double seconds_each, bool graphs,
                   std::vector<Trial>& trials, bool& fatal);

  WorkerChannel& channel_;
  DeviceLock lock_;
  KernelSpec spec_;
  Problem problem_;
  MeasureSettings settings_;
  Compiled reference_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Bench> bench_;
  std::vector<Small> ragged_;            ///< what every configuration is held against
  std::vector<Small> regular_;           ///< what only those are that could win
  std::vector<Small> provoking_;         ///< of each kind of inputs the problems to try it on
  std::set<Provocation> dropped_;        ///< what this kernel's own default is wrong for,
  std::set<Provocation> held_;           ///< and what it is right for
  std::optional<Compiled> default_;      ///< its code, once a request had it
  std::optional<ProcessState> process_;  ///< before any candidate
  std::optional<Moved> moved_;           ///< by prepare_survey(), and no survey since
  bool watches_threads_ = false;
  bool is_default_ = false;  ///< the trial at hand is the default's
  std::uint64_t seed_ = 0, input_seed_ = 0, seeds_used_ = 0;
  std::string stage_;      ///< what is going on, for the tuner
  bool standby_ = false;   ///< another process measures on the device: what runs on it does so under the lock
  bool can_wait_ = false;  ///< its buffers can wait: it takes a turn with others that prepare
  double spent_ = 0.0, reseed_cost_ = 0.0;
};

}  // namespace hone
