#pragma once
// The workers that are attached to a store, as a session sees them: who comes and goes, what they are asked, what they answer.

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/store/work_queue.hpp"
#include "engine/worker/measuring_workers.hpp"
#include "engine/worker/queue_watch.hpp"

namespace hone {

/// A message as the queue keeps it, and back.
WorkBytes to_bytes(const wire::Message& message);
Result<wire::Message> message_of(const WorkBytes& bytes);

/// Of a device whose work can be divided among several of its kind: what differs between two that are not.
std::string device_difference(const DeviceInfo& one, const DeviceInfo& other);
/// What code is compiled for, and by which compiler: where compilers of two hosts may do each other's work.
std::string compile_target(const DeviceInfo& info);
/// The compiler of a family on this host, as its devices name it in their environment; nothing: there is none.
std::optional<std::string> compiler_here(const DevicePlugin& plugin);

/// The device of the first attached worker that measures, waited for; what is attached must be of one product, or `product` names a part of
/// one's name. Errors: kUnavailable, there is none after `seconds`; kInvalidArgument, there are several products; kCancelled.
Result<DeviceInfo> attached_device(const std::string& store, const std::string& product, double seconds, const std::stop_token& stop);

/// Nothing here waits: it all happens while somebody runs the io_context.
class AttachedWorkers {
 public:
  struct Events {
    std::function<void(const AttachedWorker&, const DeviceInfo&)> came;          ///< one that can measure for this session
    std::function<void(std::int64_t worker, const Error& why, bool lost)> left;  ///< `lost`: it ended with what it was at
    std::function<void(const std::string& note)> refused;
    std::function<void(std::size_t)> compilers;  ///< so many compile for this session now
    std::function<void(Error)> failed;           ///< the queue cannot be had any more
    std::function<void()> looked;                ///< every second or so
  };
  /// What was asked, answered: a reply, or an error with the stage at which it came (wire::Message{"error", "stage"}).
  using Handler = std::function<void(const Result<wire::Message>&)>;

  /// `setup` is what workers are set up with, for `device`.
  static Result<std::unique_ptr<AttachedWorkers>> begin(boost::asio::io_context& context, const std::string& store, std::int64_t session,
                                                        const wire::Message& setup, const DeviceInfo& device, Events events);
  ~AttachedWorkers();
  AttachedWorkers(const AttachedWorkers&) = delete;
  AttachedWorkers& operator=(const AttachedWorkers&) = delete;

  /// Asks a worker to measure. Returns the work's number, 0 where the queue cannot be had. Where the worker leaves, nobody answers.
  std::int64_t ask(std::int64_t worker, const std::string& label, const wire::Message& message, Handler handler);
  /// Asks whoever compiles. kUnavailable: nobody does any more.
  std::int64_t compile(const wire::Message& message, Handler handler);
  /// It is not wanted any more.
  void withdraw(std::int64_t work);
  void use_reference(const Compiled& reference);
  [[nodiscard]] bool has_reference() const { return has_reference_; }
  /// The kernel has none to be compiled.
  void needs_no_reference() { has_reference_ = true; }
  /// A worker that is no good has to go.
  void dismiss(std::int64_t worker, const std::string& why);
  /// What was answered so far is on its way into the session, and what was then is in it.
  void hand_over();
  void recorded();
  /// Looks for news as soon as the context runs.
  void look_soon() { watch_.soon(); }

  /// Answers of an earlier run of the session that its coordinator did not live to record, by the configuration's text. Once.
  Result<std::map<std::string, wire::Message>> take_leftovers();
  /// The workers that were lost with a configuration, by its text.
  Result<std::map<std::string, std::vector<std::string>>> losses();

 private:
  struct Pending {
    std::optional<std::int64_t> worker;
    Handler handler;
  };
  AttachedWorkers(boost::asio::io_context& context, std::unique_ptr<WorkQueue> queue, std::int64_t session, DeviceInfo device,
                  Events events);
  void look();
  Result<void> take_results();
  void give_up_compiling();
  void answered(const Pending& pending, const Result<wire::Message>& answer);
  Result<void> look_at_workers();
  void consider(const AttachedWorker& worker);
  std::int64_t publish(WorkOrder work, Handler handler);
  void fail(const Error& why);

  boost::asio::io_context& context_;
  std::unique_ptr<WorkQueue> queue_;
  std::int64_t session_, assignment_ = 0;
  DeviceInfo device_;
  Events events_;
  std::map<std::int64_t, Pending> pending_;
  std::map<std::int64_t, std::string> there_;  ///< workers that take part, by their ids
  std::set<std::int64_t> refused_, compiling_;
  std::vector<std::int64_t> answered_, handed_over_;  ///< that the queue still holds
  std::uint64_t published_ = 0;
  std::string token_;
  bool has_reference_ = false, failed_ = false;
  std::chrono::steady_clock::time_point looked_at_workers_{};
  std::shared_ptr<bool> here_ = std::make_shared<bool>(true);
  QueueWatch watch_;
};

/// What measures on an attached worker's device: the lane of one that is elsewhere.
class RemoteWorkers final : public MeasuringWorkers, private Requests {
 public:
  RemoteWorkers(AttachedWorkers& attached, std::int64_t worker) : attached_(attached), worker_(worker) {}
  Result<void> start(const std::optional<Compiled>&) override { return {}; }
  Result<void> revive() override { return {}; }
  void use_reference(const Compiled& reference) override { attached_.use_reference(reference); }
  void close() override;
  void use_verdicts(const std::vector<std::string>& dropped, const std::vector<std::string>& held) override {
    dropped_ = dropped;
    held_ = held;
  }
  void keep_standby() override {}
  void retire(bool hung) override;
  [[nodiscard]] bool ready() const override { return asked_ == 0 && !closed_ && attached_.has_reference(); }
  [[nodiscard]] Requests& worker() override { return *this; }
  [[nodiscard]] bool fills_standby() const override { return false; }
  [[nodiscard]] bool device_is_taken() const override { return false; }
  [[nodiscard]] std::int64_t id() const { return worker_; }

 private:
  [[nodiscard]] const wire::Stage& stage() const override { return stage_; }
  void ask(const wire::Message& message, RequestLimits limits, Reader read, Handler handler) override;

  AttachedWorkers& attached_;
  const std::int64_t worker_;
  std::int64_t asked_ = 0;
  bool closed_ = false;
  wire::Stage stage_;
  std::vector<std::string> dropped_, held_;
};

}  // namespace hone
