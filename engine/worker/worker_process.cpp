#include "engine/worker/worker_process.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cctype>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>
#include <utility>

#include "engine/worker/fields.hpp"
#include "hone/version.h"

namespace hone {
namespace asio = boost::asio;

namespace {

constexpr std::size_t kLargestMessage = std::size_t{1} << 30;
constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr double kWatchEvery = 0.25;  // seconds; a limit can shrink while its stage lasts
constexpr double kLate = 0.05;
constexpr std::chrono::milliseconds kReapEvery{5};

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

Clock::duration to_duration(double seconds) { return std::chrono::duration_cast<Clock::duration>(Seconds(std::min(seconds, 1e8))); }

std::uint64_t next_ticket() {
  thread_local std::mt19937_64 random{std::random_device{}()};
  return random();
}

}  // namespace

struct WorkerProcess::State : std::enable_shared_from_this<State> {
  explicit State(asio::io_context& context) : socket(context), errors(context), timer(context), reaper(context) {}

  /// The io_context went while the process was ending: somebody must wait for it, and nobody may be held up.
  ~State() {
    if (pid > 0 && ::waitpid(pid, nullptr, WNOHANG) == 0) {
      std::thread([pid = pid] { ::waitpid(pid, nullptr, 0); }).detach();
    }
  }

  asio::local::stream_protocol::socket socket;
  asio::posix::stream_descriptor errors;  ///< its standard error, if that is kept
  std::string error_text;                 ///< the end of what came from there
  std::string end;                        ///< how the process ended
  std::string called;                     ///< what it called itself then
  std::vector<std::uint8_t> posted;       ///< what the socket has not taken yet
  char error_piece[4096] = {};
  asio::steady_timer timer, reaper;
  std::string program;  ///< for messages
  pid_t pid = -1;       ///< until it is reaped
  bool alive = false;
  bool heard = false;  ///< it has sent something
  Reader read_reply;
  Handler handler;
  RequestLimits limits;
  wire::Stage stage{.name = "starting"};
  Clock::time_point stage_start, request_start;  ///< later by what does not count
  double cpu_start = 0.0;
  std::vector<std::uint8_t> outgoing, incoming;
  std::uint64_t ticket = 0;  ///< of the request, which its reply repeats
  std::size_t expected = 0;  ///< bytes of the message that comes in
  std::uint8_t header[wire::kHeaderBytes] = {};

  /// Kills the process group and says how the process ended. It is reaped at once where it has ended already, and by and by otherwise.
  std::string bury() {
    if (!alive) {
      return "is gone";
    }
    called = process_name(pid);
    alive = false;
    // A worker that crashed is a zombie already: its own signal is what is reported.
    int status = 0;
    const bool ended = ::waitpid(pid, &status, WNOHANG) == pid;
    ::kill(-pid, SIGKILL);
    boost::system::error_code ignored;
    static_cast<void>(socket.close(ignored));
    timer.cancel();
    drain_errors();
    if (!ended) {
      reap(Clock::time_point::max(), nullptr);
      return "was killed";
    }
    pid = -1;
    return describe_exit(status);
  }

  /// Polls: a descriptor of the process that can be waited for is younger than some kernels that Hone runs on.
  void reap(Clock::time_point give_up, std::function<void()> gone) {
    if (pid > 0 && ::waitpid(pid, nullptr, WNOHANG) != 0) {
      pid = -1;
    }
    if (gone && (pid < 0 || Clock::now() >= give_up)) {
      asio::post(reaper.get_executor(), std::exchange(gone, nullptr));
    }
    if (pid < 0) {
      return;
    }
    reaper.expires_after(kReapEvery);
    reaper.async_wait([self = shared_from_this(), give_up, gone = std::move(gone)](const boost::system::error_code& cancelled) {
      if (!cancelled) {
        self->reap(give_up, gone);
      }
    });
  }

  void finish(Result<void> result) {
    timer.cancel();
    Handler done = std::exchange(handler, nullptr);
    limits = {};
    if (done) {
      done(std::move(result));
    }
  }

  /// "while compiling", "while running the reference f".
  [[nodiscard]] std::string doing() const {
    return fmt::format("while {}{}", stage.kind == wire::Stage::Kind::kReference ? "running " : "", stage.name);
  }

  void died() {
    // The end of the socket is seen a moment before the process is a zombie; give it that moment, so that its own signal is reported.
    for (int i = 0; alive && !has_ended(pid) && i < 200; ++i) {
      ::usleep(1000);
    }
    const bool by_itself = has_ended(pid);
    const std::string how = alive && !by_itself ? "closed its socket, and " + bury() : bury();
    end = how;
    if (!heard && by_itself && how.starts_with("ended with exit code")) {
      finish(Error{ErrorCode::kUnavailable,
                   fmt::format("the worker {} {}, before its first message: is {} a hone-worker? HONE_WORKER names another", how, doing(),
                               program)});
      return;
    }
    finish(Error{ErrorCode::kDevice, fmt::format("the worker {} {}", how, doing())});
  }

  /// A kernel that scribbles over its process can make it send anything.
  void garbled(const std::string& what) {
    bury();
    end = what.empty() ? "sent a garbled message" : "sent a garbled message: " + what;
    finish(Error{ErrorCode::kDevice, fmt::format("the worker sent a garbled message {}{}{}", doing(), what.empty() ? "" : ": ", what)});
  }

  void begin_stage(wire::Stage next) {
    const Clock::time_point now = Clock::now();
    if (limits.took) {
      limits.took(stage, Seconds(now - stage_start).count());
    }
    if (stage.kind == wire::Stage::Kind::kWaiting) {
      request_start += now - stage_start;
    }
    stage = std::move(next);
    stage_start = now;
    cpu_start = limits.cpu_share > 0.0 ? cpu_seconds(pid) : 0.0;
    if (const double soon = limit(); timer.expiry() > now + to_duration(soon)) {
      watch(soon);
    }
  }

  [[nodiscard]] double limit() const { return limits.stage(stage); }

  /// Looks again after `seconds`, or sooner.
  void watch(double seconds) {
    timer.expires_after(to_duration(std::clamp(seconds, 0.001, kWatchEvery)));
    timer.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
      if (!cancelled && self->handler && self->alive) {
        self->look();
      }
    });
  }

  void look() {
    // Its children may keep the socket open.
    if (boost::system::error_code failed; has_ended(pid) && socket.available(failed) == 0) {
      died();
      return;
    }
    const Clock::time_point now = Clock::now();
    // This process was not scheduled, or busy with something else: what the worker has sent meanwhile comes first, and the time does not
    // count.
    if (const auto late = now - timer.expiry(); Seconds(late).count() > kLate) {
      stage_start += late;
      request_start += late;
    }
    const double spent = Seconds(now - stage_start).count(), allowed = limit();
    const bool waiting = stage.kind == wire::Stage::Kind::kWaiting;
    if (waiting && std::isinf(allowed)) {  // that there is somebody to wait for counts from now
      request_start += now - stage_start;
      stage_start = now;
    }
    const bool starved = limits.cpu_share > 0.0 && spent < 2.0 * allowed && cpu_seconds(pid) - cpu_start < limits.cpu_share * spent;
    if (spent >= allowed && !starved) {
      expire(allowed);
      return;
    }
    const double whole = waiting ? 0.0 : Seconds(now - request_start).count();
    if (whole >= limits.total) {
      expire(limits.total);
      return;
    }
    watch(spent < allowed ? std::min(allowed - spent, limits.total - whole) : kWatchEvery);
  }

  /// Keeps the end alone: it may write for ever.
  void keep_errors(std::size_t count) {
    constexpr std::size_t kMostErrors = 2048;
    error_text.append(error_piece, count);
    error_text.erase(0, error_text.size() - std::min(error_text.size(), kMostErrors));
  }

  void read_errors() {
    errors.async_read_some(asio::buffer(error_piece),
                           [self = shared_from_this()](const boost::system::error_code& failed, std::size_t count) {
                             if (!failed) {
                               self->keep_errors(count);
                               self->read_errors();
                             }
                           });
  }

  /// What is there already, of a process that has ended; a child of its may go on writing.
  void drain_errors() {
    constexpr int kMostPieces = 64;
    for (int i = 0; i < kMostPieces && errors.is_open(); ++i) {
      const ssize_t count = ::read(errors.native_handle(), error_piece, sizeof error_piece);
      if (count <= 0) {
        break;
      }
      keep_errors(static_cast<std::size_t>(count));
    }
    boost::system::error_code ignored;
    static_cast<void>(errors.close(ignored));
  }

  void expire(double allowed) {
    bury();
    end = "did not answer in time, and was killed";
    finish(Error{ErrorCode::kTimeout, stage.kind == wire::Stage::Kind::kReference
                                          ? fmt::format("{} did not end within {:.1f} s", stage.name, allowed)
                                          : fmt::format("no answer within {:.1f} s {}", allowed, doing())});
  }

  void read() {
    asio::async_read(socket, asio::buffer(header), [self = shared_from_this()](const boost::system::error_code& failed, std::size_t) {
      if (!self->alive) {
        return;
      }
      if (failed) {
        self->died();
        return;
      }
      self->heard = true;
      self->expected = wire::body_size(self->header);
      if (self->expected > kLargestMessage) {
        self->garbled("");
        return;
      }
      self->incoming.clear();
      self->read_body();
    });
  }

  /// Piece by piece: a length that was made up must not cost memory.
  void read_body() {
    const std::size_t have = incoming.size(), piece = std::min(kPiece, expected - have);
    incoming.resize(have + piece);
    const auto into = asio::buffer(incoming.data() + have, piece);
    asio::async_read(socket, into, [self = shared_from_this()](const boost::system::error_code& failed, std::size_t) {
      if (!self->alive) {
        return;
      }
      if (failed) {
        self->died();
      } else if (self->incoming.size() < self->expected) {
        self->read_body();
      } else {
        self->receive();
      }
    });
  }

  void receive() {
    const Result<wire::Message> message = wire::decode(incoming.data(), incoming.size());
    if (!message) {
      garbled("");
      return;
    }
    if (wire::is_stage(*message)) {
      Result<wire::Stage> next = wire::read_stage(*message);
      if (!next) {
        garbled(next.error().message);
        return;
      }
      begin_stage(std::move(next).value());
      read();
      return;
    }
    const auto version = message->is_object() ? message->find("version") : message->end();
    if (version == message->end() || *version != HONE_VERSION) {
      bury();
      end = "is of another version";
      finish(Error{
          ErrorCode::kUnavailable,
          fmt::format("{} is of {}, and this is Hone {}: install both together, or set HONE_WORKER to the one that belongs here", program,
                      version != message->end() && version->is_string() ? "Hone " + version->get<std::string>() : "another Hone",
                      HONE_VERSION)});
      return;
    }
    // What was not asked for now is no answer: a second reply to an earlier request would be taken for this one's.
    const auto echoed = message->is_object() ? message->find("ticket") : message->end();
    if (echoed == message->end() || *echoed != ticket) {
      garbled("it answers another request");
      return;
    }
    const Result<void> reply = read_reply(*message);
    if (!reply) {
      garbled(reply.error().message);
      return;
    }
    if (limits.took) {
      limits.took(stage, Seconds(Clock::now() - stage_start).count());
    }
    finish({});
  }
};

WorkerProcess::WorkerProcess(std::shared_ptr<State> state) : state_(std::move(state)) {}

WorkerProcess::~WorkerProcess() {
  state_->handler = nullptr;
  state_->bury();
}

void WorkerProcess::kill(double patience, std::function<void()> gone) {
  state_->handler = nullptr;
  state_->bury();
  state_->reap(Clock::now() + to_duration(patience), std::move(gone));
}

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::spawn(asio::io_context& context, const WorkerCommand& command) {
  HONE_ASSIGN(const ChildProcess child, start_child(command));
  auto state = std::make_shared<State>(context);
  state->pid = child.pid;
  state->alive = true;
  state->program = command.executable.string();
  state->socket.assign(asio::local::stream_protocol(), child.socket);
  if (child.errors >= 0) {
    state->errors.assign(child.errors);
    state->read_errors();
  }
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(std::move(state)));
}

std::unique_ptr<WorkerProcess> WorkerProcess::move_to(asio::io_context& context) {
  if (!is_sound() || state_->errors.is_open()) {
    return nullptr;
  }
  auto state = std::make_shared<State>(context);
  state->pid = std::exchange(state_->pid, -1);
  state->alive = std::exchange(state_->alive, false);
  state->program = state_->program;
  state->heard = state_->heard;
  state->posted = std::exchange(state_->posted, {});
  state->socket.assign(asio::local::stream_protocol(), state_->socket.release());
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(std::move(state)));
}

void WorkerProcess::ask(const wire::Message& message, RequestLimits limits, Reader read, Handler handler) {
  if (busy()) {
    throw ContractError("WorkerProcess::request while another request is under way");
  }
  State& state = *state_;
  state.handler = std::move(handler);
  state.read_reply = std::move(read);
  state.limits = std::move(limits);
  state.stage = {.name = message.value("op", "asked")};
  state.stage_start = state.request_start = Clock::now();
  if (!state.alive) {
    asio::post(state.socket.get_executor(), [shared = state_] { shared->finish(Error{ErrorCode::kDevice, "the worker is gone"}); });
    return;
  }
  state.cpu_start = state.limits.cpu_share > 0.0 ? cpu_seconds(state.pid) : 0.0;
  wire::Message ticketed = message;
  ticketed["ticket"] = state.ticket = next_ticket();
  state.outgoing = std::exchange(state.posted, {});
  const std::vector<std::uint8_t> encoded = wire::encode(ticketed);
  state.outgoing.insert(state.outgoing.end(), encoded.begin(), encoded.end());
  state.watch(state.limit());
  asio::async_write(state.socket, asio::buffer(state.outgoing), [shared = state_](const boost::system::error_code& failed, std::size_t) {
    if (failed && shared->alive) {
      shared->died();
      return;
    }
    if (!failed) {
      shared->read();
    }
  });
}

void WorkerProcess::post(const wire::Message& message) {
  if (busy()) {
    throw ContractError("WorkerProcess::post while a request is under way");
  }
  std::vector<std::uint8_t>& posted = state_->posted;
  const std::vector<std::uint8_t> encoded = wire::encode(message);
  posted.insert(posted.end(), encoded.begin(), encoded.end());
  if (state_->alive) {
    const ssize_t sent = ::send(state_->socket.native_handle(), posted.data(), posted.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    posted.erase(posted.begin(), posted.begin() + std::max<ssize_t>(0, sent));
  }
}

std::string WorkerProcess::called() const { return state_->alive ? process_name(state_->pid) : state_->called; }

bool WorkerProcess::busy() const { return static_cast<bool>(state_->handler); }
bool WorkerProcess::alive() const { return state_->alive; }

bool WorkerProcess::is_sound() const {
  boost::system::error_code failed;
  return state_->alive && !busy() && !has_ended(state_->pid) && state_->socket.available(failed) == 0 && !failed;
}

const std::string& WorkerProcess::end() const { return state_->end; }

std::string WorkerProcess::last_errors() const {
  constexpr std::size_t kMostShown = 300;
  std::string text = state_->error_text;
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.pop_back();
  }
  text.erase(0, text.size() - std::min(text.size(), kMostShown));
  std::ranges::replace(text, '\n', ' ');
  return wire::readable(text, kMostShown);
}

const wire::Stage& WorkerProcess::stage() const { return state_->stage; }

}  // namespace hone
