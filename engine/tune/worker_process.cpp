#include "engine/tune/worker_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace hone {
namespace asio = boost::asio;

namespace {

constexpr int kWorkerSocket = 3;  // what the worker finds its end at
constexpr std::size_t kLargestMessage = std::size_t{1} << 30;

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

/// Starts the executable with `socket` as descriptor 3. Its output goes nowhere (a kernel may print) unless HONE_WORKER_LOG names a file.
Result<pid_t> start(const std::filesystem::path& executable, int socket) {
  SpawnActions spawn;
  const char* log = std::getenv("HONE_WORKER_LOG");
  const char* output = log != nullptr ? log : "/dev/null";
  posix_spawn_file_actions_addopen(&spawn.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&spawn.actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&spawn.actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&spawn.actions, socket, kWorkerSocket);
  posix_spawnattr_setflags(&spawn.attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&spawn.attributes, 0);
  std::string program = executable.string();
  std::string descriptor = std::to_string(kWorkerSocket);
  const std::array<char*, 3> arguments{program.data(), descriptor.data(), nullptr};
  pid_t pid = -1;
  const int status = posix_spawn(&pid, program.c_str(), &spawn.actions, &spawn.attributes, arguments.data(), environ);
  if (status != 0) {
    return Error{ErrorCode::kUnavailable, fmt::format("cannot start the worker {}: {}", program, std::strerror(status))};
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

Result<std::filesystem::path> find_worker() {
  std::vector<std::filesystem::path> places;
  if (const char* given = std::getenv("HONE_WORKER")) {
    places.emplace_back(given);
  }
  std::error_code ignored;
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  places.push_back(here / "hone-worker");
  places.push_back(here.parent_path() / "bin" / "hone-worker");
  places.push_back(here.parent_path() / "libexec" / "hone" / "hone-worker");
  places.emplace_back(HONE_WORKER_INSTALLED);
  places.emplace_back(HONE_WORKER_BUILT);
  std::string tried;
  for (const auto& place : places) {
    if (::access(place.c_str(), X_OK) == 0) {
      return place;
    }
    tried += (tried.empty() ? "" : ", ") + place.string();
  }
  return Error{ErrorCode::kUnavailable, "no hone-worker executable, which runs the trials; set HONE_WORKER to it (tried: " + tried + ")"};
}

struct WorkerProcess::State : std::enable_shared_from_this<State> {
  explicit State(asio::io_context& context) : socket(context), timer(context) {}

  asio::local::stream_protocol::socket socket;
  asio::steady_timer timer;
  pid_t pid = -1;
  bool alive = false;
  Handler handler;
  std::string stage = "starting";
  std::chrono::duration<double> deadline{};  ///< of the request, for each stage of it
  std::chrono::duration<double> limit{};     ///< of this stage
  std::vector<std::uint8_t> outgoing, incoming;
  std::uint8_t header[wire::kHeaderBytes] = {};

  /// Kills the process group and says how the process ended.
  std::string bury() {
    if (!alive) {
      return "is gone";
    }
    alive = false;
    // A worker that crashed is a zombie already: its own signal is what is reported.
    int status = 0;
    const bool ended = ::waitpid(pid, &status, WNOHANG) == pid;
    ::kill(-pid, SIGKILL);
    if (!ended) {
      while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
      }
    }
    boost::system::error_code ignored;
    socket.close(ignored);
    timer.cancel();
    return describe_exit(status);
  }

  void finish(Result<wire::Message> result) {
    timer.cancel();
    Handler done = std::move(handler);
    handler = nullptr;
    if (done) {
      done(std::move(result));
    }
  }

  void died() {
    // The end of the socket is seen a moment before the process is a zombie; give it that moment, so that its own signal is reported.
    for (int i = 0; alive && i < 200; ++i) {
      siginfo_t info{};
      if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid) {
        break;
      }
      ::usleep(1000);
    }
    const std::string how = bury();
    finish(Error{ErrorCode::kDevice, fmt::format("the worker {} while {}", how, stage)});
  }

  /// A kernel that scribbles over its process can make it send anything.
  void garbled() {
    bury();
    finish(Error{ErrorCode::kDevice, "the worker sent a garbled message while " + stage});
  }

  void arm() {
    if (stage == "waiting for the device") {
      timer.expires_at(asio::steady_timer::time_point::max());
    } else {
      timer.expires_after(std::chrono::duration_cast<asio::steady_timer::duration>(limit));
    }
    timer.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
      // A wait that had expired already when the deadline started anew is not cancelled any more.
      if (cancelled || !self->handler || self->timer.expiry() > asio::steady_timer::clock_type::now()) {
        return;
      }
      self->bury();
      self->finish(Error{ErrorCode::kTimeout, fmt::format("no answer within {:.1f} s while {}", self->limit.count(), self->stage)});
    });
  }

  void read() {
    asio::async_read(socket, asio::buffer(header), [self = shared_from_this()](const boost::system::error_code& failed, std::size_t) {
      if (failed) {
        if (self->alive) {
          self->died();
        }
        return;
      }
      const std::size_t size = wire::body_size(self->header);
      if (size > kLargestMessage) {
        self->garbled();
        return;
      }
      self->incoming.resize(size);
      asio::async_read(self->socket, asio::buffer(self->incoming), [self](const boost::system::error_code& broken, std::size_t) {
        if (broken) {
          if (self->alive) {
            self->died();
          }
          return;
        }
        self->receive();
      });
    });
  }

  void receive() {
    wire::Message message;
    try {
      message = wire::decode(incoming.data(), incoming.size());
    } catch (const wire::Message::exception&) {
      garbled();
      return;
    }
    if (message.contains("stage")) {
      stage = message.at("stage");
      limit = std::min(deadline, std::chrono::duration<double>(message.value("within", deadline.count())));
      arm();
      read();
      return;
    }
    finish(std::move(message));
  }
};

WorkerProcess::WorkerProcess(std::shared_ptr<State> state) : state_(std::move(state)) {}

WorkerProcess::~WorkerProcess() {
  state_->handler = nullptr;
  state_->bury();
}

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::spawn(asio::io_context& context, const std::filesystem::path& executable) {
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
  auto pid = start(executable, child_end);
  ::close(child_end);
  if (!pid) {
    ::close(pair[0]);
    return std::move(pid).error();
  }
  auto state = std::make_shared<State>(context);
  state->pid = *pid;
  state->alive = true;
  state->socket.assign(asio::local::stream_protocol(), pair[0]);
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(std::move(state)));
}

void WorkerProcess::request(const wire::Message& message, std::chrono::duration<double> deadline, Handler handler) {
  if (busy()) {
    throw ContractError("WorkerProcess::request while another request is under way");
  }
  State& state = *state_;
  state.handler = std::move(handler);
  state.deadline = state.limit = deadline;
  state.stage = message.value("op", "asked");
  if (!state.alive) {
    asio::post(state.socket.get_executor(), [shared = state_] { shared->finish(Error{ErrorCode::kDevice, "the worker is gone"}); });
    return;
  }
  state.outgoing = wire::encode(message);
  state.arm();
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

bool WorkerProcess::busy() const { return static_cast<bool>(state_->handler); }
bool WorkerProcess::alive() const { return state_->alive; }

}  // namespace hone
