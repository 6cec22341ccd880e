#pragma once
// The queue of a store on a server: what sessions want measured and compiled, who is attached to do it, and what came of it. Its rows are
// all there is between a coordinator and its workers. A worker that is not seen for lease_seconds() is lost, and what it was at is free.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hone/error.hpp"

namespace hone {

/// The device of a session that has none of its own and runs on those of attached workers.
inline constexpr std::string_view kAttachedDevices = "workers";

/// A message of engine/worker/wire.hpp; the queue does not look into it.
using WorkBytes = std::vector<std::byte>;

struct AttachedWorker {
  std::int64_t id = 0;
  std::string name;     ///< "host/cuda:0"; attach() makes it unique among those that are attached
  std::string version;  ///< of Hone: others' messages are not understood
  bool measures = false;
  std::vector<std::string> targets = {};  ///< what it compiles for; empty: nothing
  std::string product = {};               ///< of the device that it measures on
  WorkBytes device = {};
};

/// What a worker has to do.
struct ClaimedWork {
  std::int64_t id = 0, assignment = 0;
  bool measure = false;  ///< else compile
  WorkBytes request;
};

/// What a worker needs for the work of a session.
struct Assignment {
  WorkBytes setup, reference;
};

/// What a coordinator wants done.
struct WorkOrder {
  std::int64_t assignment = 0;
  std::string token = {};              ///< of its own; the same twice is one piece of work
  std::optional<std::int64_t> worker;  ///< who is to measure it; nobody: it is compiled
  std::string target = {};             ///< that it is compiled for
  std::string label = {};              ///< the configuration, of a trial
  WorkBytes request = {};
};

enum class WorkState {
  kDone,      ///< `reply` has the answer
  kLost,      ///< its worker ended with it
  kReturned,  ///< its worker had to go, and gave it back
};

struct WorkResult {
  std::int64_t id = 0;
  WorkState state = WorkState::kDone;
  std::string token, label, reason;
  WorkBytes reply = {};
  std::vector<std::string> ended = {};  ///< the names of the workers that were lost with it
};

/// How a worker stands.
struct WorkerStanding {
  bool attached = false;  ///< not: it was counted as lost
  bool wanted = false;    ///< what it is at still is
  std::string dismissed;  ///< why it has to go; empty: it has not
};

/// One connection, for one thread. Everything is one statement: a connection that was lost is made anew, and what was sent with it is sent
/// again, without being done twice.
class WorkQueue {
 public:
  virtual ~WorkQueue() = default;

  // ---- of a worker ----
  /// Sets its id and its name, and listens for its work.
  virtual Result<void> attach(AttachedWorker& worker) = 0;
  /// It is there, and at `work` (0: at nothing).
  virtual Result<WorkerStanding> beat(std::int64_t worker, std::int64_t work) = 0;
  virtual Result<void> detach(std::int64_t worker, const std::string& why) = 0;
  /// One at a time: what it has claimed and not answered comes again. Work of the assignment `latest` comes before others'.
  virtual Result<std::optional<ClaimedWork>> claim(const AttachedWorker& worker, std::int64_t latest) = 0;
  /// False: it is not the worker's any more, and the reply is lost.
  virtual Result<bool> answer(std::int64_t work, std::int64_t worker, const WorkBytes& reply) = 0;
  /// Gives back what it cannot finish.
  virtual Result<void> give_back(std::int64_t work, std::int64_t worker) = 0;
  /// Nothing where the session is over.
  virtual Result<std::optional<Assignment>> assignment(std::int64_t id) = 0;

  // ---- of a coordinator ----
  /// Those that are attached now.
  virtual Result<std::vector<AttachedWorker>> workers() = 0;
  /// Takes the place of the session's earlier assignments, whose unfinished work ends, and listens for what comes of its own.
  virtual Result<std::int64_t> begin(std::int64_t session, const WorkBytes& setup) = 0;
  virtual Result<void> set_reference(std::int64_t assignment, const WorkBytes& reference) = 0;
  /// Answers of the session's earlier assignments that are not in it, because its coordinator ended.
  virtual Result<std::vector<WorkResult>> leftovers(std::int64_t session) = 0;
  /// The configurations with which workers were lost, with these workers' names.
  virtual Result<std::vector<WorkResult>> losses(std::int64_t session) = 0;
  /// Its id.
  virtual Result<std::int64_t> publish(const WorkOrder& work) = 0;
  /// Ends the work of workers that are lost; what is compiled gets a second try first.
  virtual Result<void> expire(std::int64_t assignment) = 0;
  /// What has ended and was not taken.
  virtual Result<std::vector<WorkResult>> results(std::int64_t assignment) = 0;
  /// What came of it is in the session.
  virtual Result<void> take(const std::vector<std::int64_t>& work) = 0;
  /// It is not wanted any more.
  virtual Result<void> withdraw(std::int64_t work) = 0;
  /// A worker that is no good has to go.
  virtual Result<void> dismiss(std::int64_t worker, const std::string& why) = 0;
  virtual Result<void> end(std::int64_t assignment) = 0;

  // ---- of both ----
  /// Readable when there may be news; another one after the connection was lost. -1: there is none now.
  [[nodiscard]] virtual int descriptor() const = 0;
  /// Whether there were news since the last call.
  virtual bool heard() = 0;
};

/// Opens the queue of the store that a URL names, whose tables are made or brought up to date. Errors: as OpenServer; kInvalidArgument: the
/// store is a file.
Result<std::unique_ptr<WorkQueue>> open_work_queue(const std::string& store);

/// Defined by the assembled libraries, as store_server().
using OpenQueue = Result<std::unique_ptr<WorkQueue>> (*)(const std::string& url);
OpenQueue queue_server();

}  // namespace hone
