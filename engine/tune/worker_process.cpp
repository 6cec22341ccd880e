#include "engine/tune/worker_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
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
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <random>
#include <thread>
#include <utility>

#include "engine/tune/fields.hpp"
#include "hone/version.h"

extern char** environ;

namespace hone {
namespace asio = boost::asio;

namespace {

constexpr int kWorkerSocket = 3;  // what the worker finds its end at
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

/// What the process has had of the host's cores; 0 if nobody knows.
double cpu_seconds(pid_t pid) {
  clockid_t clock = 0;
  timespec used{};
  if (pid <= 0 || ::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) {
    return 0.0;
  }
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

struct SpawnActions {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnActions() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnActions() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) {
    result.push_back(text.data());
  }
  result.push_back(nullptr);
  return result;
}

/// "NAME=value" of this process's environment and what the command adds.
std::vector<std::string> environment_of(const WorkerCommand& command) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    if (!command.environment.contains(std::string(text.substr(0, text.find('='))))) {
      variables.emplace_back(text);
    }
  }
  for (const auto& [variable, value] : command.environment) {
    variables.push_back(variable + "=" + value);
  }
  return variables;
}

/// Starts the executable with `socket` as descriptor 3. Its output goes nowhere (a kernel may print) unless HONE_WORKER_LOG names a file;
/// what it writes to its standard error goes to `errors`, if that is a descriptor and nothing is logged.
Result<pid_t> start(const WorkerCommand& command, int socket, int errors) {
  SpawnActions spawn;
  const auto own_log = command.environment.find("HONE_WORKER_LOG");
  const char* log = own_log != command.environment.end() ? own_log->second.c_str() : std::getenv("HONE_WORKER_LOG");
  const char* output = log != nullptr ? log : "/dev/null";
  posix_spawn_file_actions_addopen(&spawn.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&spawn.actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&spawn.actions, errors >= 0 && log == nullptr ? errors : STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&spawn.actions, socket, kWorkerSocket);
  posix_spawnattr_setflags(&spawn.attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&spawn.attributes, 0);
  std::vector<std::string> words = command.before, variables = environment_of(command);
  words.push_back(command.executable.string());
  words.push_back(std::to_string(kWorkerSocket));
  pid_t pid = -1;
  const int status =
      posix_spawn(&pid, words.front().c_str(), &spawn.actions, &spawn.attributes, pointers(words).data(), pointers(variables).data());
  if (status != 0) {
    return Error{ErrorCode::kUnavailable, fmt::format("cannot start the worker {}: {}", words.front(), std::strerror(status))};
  }
  return pid;
}

std::string describe_exit(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("was killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  }
  return fmt::format("ended with exit code {}", WEXITSTATUS(status));
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
    called = name_of_process();
    alive = false;
    // A worker that crashed is a zombie already: its own signal is what is reported.
    int status = 0;
    const bool ended = ::waitpid(pid, &status, WNOHANG) == pid;
    ::kill(-pid, SIGKILL);
    boost::system::error_code ignored;
    socket.close(ignored);
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
    for (int i = 0; alive && !has_ended() && i < 200; ++i) {
      ::usleep(1000);
    }
    const bool by_itself = has_ended();
    const std::string how = alive && !by_itself ? "closed its socket, and " + bury() : bury();
    end = how;
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
    if (boost::system::error_code failed; has_ended() && socket.available(failed) == 0) {
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

  /// Also of a zombie.
  [[nodiscard]] std::string name_of_process() const {
    std::string name;
    std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/comm"), name);
    return name;
  }

  /// It is a zombie.
  [[nodiscard]] bool has_ended() const {
    siginfo_t info{};
    return pid <= 0 || (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid);
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
    errors.close(ignored);
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
  int pair[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return Error{ErrorCode::kIo, fmt::format("cannot make a socket pair for a worker: {}", std::strerror(errno))};
  }
  // posix_spawn's dup2 onto descriptor 3 clears close-on-exec, unless the descriptor is 3 itself.
  int child_end = pair[1];
  if (child_end == kWorkerSocket) {
    child_end = ::fcntl(pair[1], F_DUPFD_CLOEXEC, kWorkerSocket + 1);
    ::close(pair[1]);
  }
  int errors[2] = {-1, -1};
  if (command.keeps_errors && ::pipe2(errors, O_CLOEXEC) != 0) {
    errors[0] = errors[1] = -1;  // without
  }
  auto pid = start(command, child_end, errors[1]);
  ::close(child_end);
  if (errors[1] >= 0) {
    ::close(errors[1]);
  }
  if (!pid) {
    ::close(pair[0]);
    if (errors[0] >= 0) {
      ::close(errors[0]);
    }
    return std::move(pid).error();
  }
  auto state = std::make_shared<State>(context);
  state->pid = *pid;
  state->alive = true;
  state->program = command.executable.string();
  state->socket.assign(asio::local::stream_protocol(), pair[0]);
  if (errors[0] >= 0) {
    ::fcntl(errors[0], F_SETFL, O_NONBLOCK);
    state->errors.assign(errors[0]);
    state->read_errors();
  }
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

std::string WorkerProcess::called() const { return state_->alive ? state_->name_of_process() : state_->called; }

bool WorkerProcess::busy() const { return static_cast<bool>(state_->handler); }
bool WorkerProcess::alive() const { return state_->alive; }

bool WorkerProcess::is_sound() const {
  boost::system::error_code failed;
  return state_->alive && !busy() && !state_->has_ended() && state_->socket.available(failed) == 0 && !failed;
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
