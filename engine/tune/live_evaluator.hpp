#pragma once
// Trials on real devices: a pool of compiling processes ahead of the processes that measure, one for each device.

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <deque>
#include <filesystem>
#include <limits>
#include <stop_token>

#include "engine/tune/attached_workers.hpp"
#include "engine/tune/controls.hpp"
#include "engine/tune/device_lane.hpp"
#include "engine/tune/evaluator.hpp"
#include "engine/tune/final_round.hpp"
#include "engine/tune/stage_limits.hpp"
#include "engine/worker/compile_pool.hpp"
#include "engine/worker/device_workers.hpp"

namespace hone {

class LiveEvaluator final : public Evaluator {
 public:
  LiveEvaluator(const TuneRequest& request, Store* store, const std::filesystem::path& executable, wire::Message setup,
                const Beside& beside);
  /// Begins to open the devices and, where the store has it not, to compile the reference. Neither is waited for.
  Result<void> prepare();
  [[nodiscard]] std::size_t wanted() const override;
  [[nodiscard]] std::size_t in_flight() const override {
    return pool_.pending() + ready_.size() + for_default_.size() + busy() + finished_.size();
  }
  [[nodiscard]] Pipeline pipeline() const override { return {.compiling = pool_.pending(), .ready = ready_.size(), .measuring = busy()}; }
  void submit(std::vector<Proposal> proposals) override;
  [[nodiscard]] double elapsed() const override { return Seconds(Clock::now() - start_).count(); }
  Result<std::vector<Trial>> wait(double until) override;
  void meanwhile(const std::function<void()>& work) override;
  Result<std::vector<Trial>> drain() override;
  void set_incumbent(const Incumbent& incumbent) override { incumbent_ = incumbent; }
  void set_end(double seconds) override { end_ = seconds; }
  void set_serving(Count position) override { serving_ = position; }
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }
  void resume(const Trial& standard) override;
  [[nodiscard]] std::vector<Configuration> leftovers() const override;
  [[nodiscard]] const DeviceInfo* device(const std::string& id) const override;
  std::vector<Control> take_controls() override;
  Result<std::vector<Trial>> finals(const std::vector<Candidate>& candidates, std::size_t most, double share) override;
  void poll() override;
  void hold(bool held) override;
  void set_compilers(std::size_t most) override { pool_.set_most(most); }
  [[nodiscard]] bool is_on_device() const override { return busy() > 0; }
  [[nodiscard]] bool can_measure() const override;
  Result<std::vector<Trial>> time_again(const std::vector<Trial>& trials, double seconds_each, bool graphs) override;
  Result<Counters> count(const Trial& trial) override;
  [[nodiscard]] double busy_seconds() const override { return busy_seconds_ + control_seconds_; }
  [[nodiscard]] double device_idle() const override;

 private:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  [[nodiscard]] CompiledKey key_of(std::string configuration) const;
  Result<std::optional<Compiled>> find_cached(const CompiledKey& key) const;
  Result<void> keep(const CompiledKey& key, const Compiled& compiled) const;
  /// Configurations in the pipeline: by Little's law, as many as finish compiling while one is measured and while the strategy thinks, and
  /// a few to spare.
  [[nodiscard]] std::size_t depth() const;
  [[nodiscard]] Clock::time_point clock_of(double seconds) const;
  [[nodiscard]] double left() const { return std::max(0.0, end_ - elapsed()); }
  /// For opening the device and for filling its buffers.
  [[nodiscard]] RequestLimits preparing(std::size_t place);
  /// For a trial, and for a final round whose finalists take turns; a worker that is elsewhere keeps to what the message says of it.
  [[nodiscard]] RequestLimits trying(DeviceLane& lane, double total, double within, wire::Message& message);
  /// Compiling does not disturb what is timed: also where that is elsewhere.
  [[nodiscard]] bool compile_overlaps() const { return !request_.own_devices || request_.device.info.compile_overlaps; }
  void compiled(CompilePool::Done done);
  /// The default's code is on its way, or here, or cannot be had; in that case once and for all.
  void ask_for_default();
  [[nodiscard]] bool waits_for_default() const { return default_is_asked_ && !default_code_ && !default_failed_; }
  /// The trial waits until the default's code is there, and is run again with it.
  void await_default(ReadyTrial trial);
  void default_is_known();
  [[nodiscard]] std::string default_text() const;
  void is_ready(ReadyTrial trial);
  /// The next that the device may measure. The first proposal goes first, whatever else is compiled by then.
  [[nodiscard]] std::deque<ReadyTrial>::iterator next_ready(const DeviceLane& lane);
  void feed_devices();
  void feed(DeviceLane& lane);
  [[nodiscard]] wire::Message trial_message(const ReadyTrial& trial) const;
  void run_trial(DeviceLane& lane, std::deque<ReadyTrial>::iterator next);
  void measured(DeviceLane& lane, Result<wire::TrialResult> reply);

  // live_devices.cpp
  [[nodiscard]] DeviceWorkers::Events events_of(std::size_t place);
  void add_lane(const DeviceInfo& info, const WorkerCommand& command, wire::Message setup);
  [[nodiscard]] bool several() const { return lanes_.size() > 1 || request_.workers; }
  [[nodiscard]] std::size_t taking_part() const;
  [[nodiscard]] std::size_t busy() const;
  /// The first that takes part: it measures the first proposal, and has the final round.
  [[nodiscard]] DeviceLane& front() const;
  Result<void> has_reference(const Compiled& reference);
  /// Whether its next is the control: the first time as soon as that is compiled, later only before a trial.
  [[nodiscard]] bool wants_control(const DeviceLane& lane, bool has_trial) const;
  void run_control(DeviceLane& lane);
  void controlled(DeviceLane& lane, Result<wire::TrialResult> reply);
  /// The default's trial is what all devices are compared by.
  void note_reference(const DeviceLane& lane, const Trial& trial, double seconds);
  void bring_together(const DeviceLane& lane, Trial& trial) const;
  /// A device whose times are not known to fit has to run the control before anything else; the only one of its host has none to fit.
  [[nodiscard]] bool needs_control() const { return taking_part() > 1 || request_.workers.has_value(); }
  /// Its processes cannot be had: the session goes on without it, unless it is the last.
  void lost(std::size_t place, const Error& why);
  /// Its trial waits for another one.
  void take_back(DeviceLane& lane);
  /// `of_all`: for the evaluators beside this one, too; else it may be this kernel's doing.
  void leave(DeviceLane& lane, const std::string& why, bool of_all);
  /// Ends the lanes whose devices left, here or beside another evaluator.
  void follow_departures();
  [[nodiscard]] bool takes_part(const DeviceLane& lane) const { return !lane.left && !left_->contains(lane.info.id); }
  [[nodiscard]] bool has_news() const { return reference_us_ && !news_.empty(); }

  Result<std::vector<Trial>> collect();

  // live_attached.cpp
  /// Takes in who is attached; where the session has no device of its own, waits for somebody.
  Result<void> attach();
  Result<void> await_worker();
  Result<void> prepare_reference(const std::optional<Compiled>& reference);
  void compile_elsewhere(std::size_t compilers);
  void came(const AttachedWorker& worker, const DeviceInfo& info);
  /// `with_work`: it ended with what it was at.
  void worker_left(std::int64_t worker, const Error& why, bool with_work);
  /// What ended two workers is charged for it.
  [[nodiscard]] bool ends_workers(const Configuration& configuration) const;
  void charge(ReadyTrial trial);
  /// Answers from what an earlier run of the session left, where it did.
  bool answer_from_leftovers(const Proposal& proposal);
  void check_vacancy();

  // live_finals.cpp
  [[nodiscard]] Result<wire::Message> candidate_message(const Trial& trial);
  Result<wire::Message> finals_message(const FinalRound& round, const std::vector<std::size_t>& places, double share);
  /// What one finalist of a round is expected to take.
  [[nodiscard]] double finalist_seconds() const;
  /// A kernel so slow that its default alone takes much of the budget gets its final round all the same: else nothing would win.
  [[nodiscard]] double finals_limit(double until, std::size_t finalists) const;
  /// One request to the device's worker, waited for. Everything else that is under way goes on meanwhile.
  template <class T>
  Result<T> ask(const wire::Message& message, RequestLimits limits, Result<T> (*read)(const wire::Message&));
  /// One final round.
  Result<wire::FinalsResult> converse(const wire::Message& message, double total, const std::vector<std::size_t>& places);
  /// A finalist that brought the worker down is out; the worker's last stage names it. False if it names none.
  bool blame(const Error& error, FinalRound& round, const std::vector<std::size_t>& places) const;
  Result<void> await_bench();
  Result<Compiled> compiled_of(const Trial& trial);

  const TuneRequest& request_;
  Store* store_;
  boost::asio::io_context context_;
  CompilePool pool_;
  StageLimits limits_;
  std::shared_ptr<std::set<std::string>> left_;  ///< Beside::left
  wire::Message setup_;
  std::int64_t session_;
  std::unique_ptr<AttachedWorkers> attached_;
  std::unique_ptr<ReferenceCompiler> reference_compiler_;      ///< where no device of its own has one compiled
  std::map<std::string, wire::Message> leftovers_;             ///< by the configuration's text
  std::map<std::string, std::vector<std::string>> lost_with_;  ///< names of workers, by the configuration's text
  std::optional<Clock::time_point> vacant_since_;
  std::vector<std::unique_ptr<DeviceLane>> lanes_;
  Controls controls_;
  std::optional<Count> control_position_;  ///< of the default
  std::optional<ReadyTrial> control_;      ///< once it is compiled
  std::optional<double> reference_us_;     ///< of the default's trial
  std::vector<Control> news_;              ///< since take_controls()
  std::deque<ReadyTrial> ready_;
  std::vector<ReadyTrial> for_default_;   ///< that wait for its code
  std::optional<Compiled> default_code_;  ///< once somebody asked for it
  bool default_is_asked_ = false, default_failed_ = false;
  std::vector<Trial> finished_;
  std::optional<Error> failure_;
  std::vector<std::string> notes_;
  std::optional<Incumbent> incumbent_;
  std::optional<Count> first_;    ///< position of the first proposal
  std::optional<Count> serving_;  ///< set_serving()
  bool first_waits_ = false, closed_ = false, held_ = false;
  std::size_t trials_done_ = 0;
  double away_ = 0.0;  ///< seconds that meanwhile() takes
  double busy_seconds_ = 0.0, control_seconds_ = 0.0, first_seconds_ = 0.0, end_ = kNever;
  std::optional<std::size_t> blamed_;  ///< the place, in the last request for a final round, of who ran when it ended
  std::optional<Clock::time_point> first_trial_;
  Clock::time_point start_ = Clock::now(), last_trial_end_;
  /// Whoever asks to stop does so from another thread: what waits in the context wakes up and finds a failure.
  std::stop_callback<std::function<void()>> on_stop_{request_.stop,
                                                     [this] { boost::asio::post(context_, [this] { failure_ = cancelled(); }); }};
};

}  // namespace hone
