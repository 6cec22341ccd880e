#include "engine/worker/plugin_process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/plugin/call_with_timeout.hpp"
#include "engine/space/likely_space.hpp"
#include "engine/worker/space_wire.hpp"
#include "engine/worker/worker.hpp"

namespace hone {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::seconds kSpaceTimeout{120};  // building one takes a second where it takes long
constexpr std::size_t kMostSpaces = 4;
constexpr std::size_t kMostWaiting = 64;

/// A worker is killed when the thread that started it ends, so all are started by one that lasts as long as this process.
Result<std::unique_ptr<WorkerProcess>> spawn(asio::io_context& context, const WorkerCommand& command) {
  static std::mutex mutex;
  static plugin_host::CallWithTimeout& thread = *new plugin_host::CallWithTimeout;  // never ends
  std::optional<Result<std::unique_ptr<WorkerProcess>>> spawned;
  const std::lock_guard lock(mutex);
  thread.call([&] { spawned = WorkerProcess::spawn(context, command); }, std::chrono::hours(1));
  return std::move(*spawned);
}

Error broken(const std::filesystem::path& file, const std::string& what) {
  return Error{ErrorCode::kPlugin, fmt::format("plugin {}: {}", file.string(), what)};
}

}  // namespace

Result<std::unique_ptr<PluginProcess>> PluginProcess::start(const std::filesystem::path& file, std::chrono::milliseconds timeout,
                                                            bool limited) {
  HONE_ASSIGN(const std::filesystem::path executable, find_worker());
  auto process = std::unique_ptr<PluginProcess>(new PluginProcess);
  WorkerCommand command(executable);
  command.keeps_errors = true;
  HONE_ASSIGN(process->worker_, spawn(process->context_, command));
  HONE_TRY(process->open(file, timeout, limited));
  return process;
}

Result<void> PluginProcess::open(const std::filesystem::path& file, std::chrono::milliseconds timeout, bool limited) {
  const wire::Message request{{"op", "open"}, {"file", std::filesystem::absolute(file).string()}, {"limited", limited}};
  std::optional<Result<wire::OpenReply>> reply = ask(request, wire::read_open, timeout);
  if (!reply) {
    return broken(file, fmt::format("{} did not return within {} ms", worker_->stage().name, timeout.count()));
  }
  if (!*reply && reply->error().code == ErrorCode::kUnavailable) {
    return reply->error();  // a worker of another version, which is not the plugin's fault
  }
  if (!*reply) {
    return broken(file, fmt::format("{}: {}", worker_->stage().name, end()));
  }
  if (!(*reply)->contents) {
    return (*reply)->contents.error();
  }
  contents_ = *std::move((*reply)->contents);
  return {};
}

bool PluginProcess::wait(Clock::time_point until) {
  while (worker_->busy()) {
    context_.restart();
    if (context_.run_one_until(until) == 0) {
      break;
    }
  }
  return !busy();
}

bool PluginProcess::busy() {
  if (worker_->busy()) {
    context_.restart();
    context_.poll();
  }
  return worker_->busy();
}

std::string PluginProcess::running(const std::string& asked) const { return worker_->called() == "tell" ? "tell" : asked; }

std::string PluginProcess::end() const {
  const std::string errors = worker_->last_errors();
  return fmt::format("its process {}{}{}", worker_->end(), errors.empty() ? "" : "; it wrote: ", errors);
}

Result<std::uint64_t> PluginProcess::space(const std::shared_ptr<const SearchSpace>& space, const LikelySpace* likely) {
  const auto known = std::ranges::find_if(spaces_, [&](const KnownSpace& one) { return one.space.lock() == space; });
  if (likely == nullptr && known != spaces_.end()) {
    return known->id;
  }
  wire::Message message = wire::to_message(*space, likely);
  message["op"] = "space";
  message["forget"] = wire::Message::array();
  while (spaces_.size() >= kMostSpaces) {
    message["forget"].push_back(spaces_.front().id);
    spaces_.erase(spaces_.begin());
  }
  const std::uint64_t id = ++next_space_;
  message["id"] = id;
  const std::optional<Result<wire::CallReply>> reply = ask(message, wire::read_call, kSpaceTimeout);
  if (!reply || !*reply) {
    return Error{ErrorCode::kPlugin, !reply ? fmt::format("its process did not build the search space within {} s", kSpaceTimeout.count())
                                            : fmt::format("building the search space: {}", end())};
  }
  if ((*reply)->failure) {
    return Error{ErrorCode::kPlugin, fmt::format("its process cannot build the search space: {}", *(*reply)->failure)};
  }
  // One with expectations is of one search: nobody else asks for it.
  spaces_.push_back({likely == nullptr ? space : std::shared_ptr<const SearchSpace>(), id});
  return id;
}

Result<std::unique_ptr<PluginProcess>> PluginPool::take() {
  {
    const std::lock_guard lock(mutex_);
    while (!waiting_.empty()) {
      std::unique_ptr<PluginProcess> process = std::move(waiting_.back());
      waiting_.pop_back();
      if (process->is_sound()) {
        return process;
      }
    }
  }
  return PluginProcess::start(file_, timeout_, true);
}

void PluginPool::give_back(std::unique_ptr<PluginProcess> process) {
  const std::lock_guard lock(mutex_);
  if (process->is_sound() && waiting_.size() < kMostWaiting) {
    waiting_.push_back(std::move(process));
  }
}

bool PluginPool::may_destroy() const {
  const std::lock_guard lock(mutex_);
  return !end_stalled_;
}

void PluginPool::note_stalled_end() {
  const std::lock_guard lock(mutex_);
  end_stalled_ = true;
}

}  // namespace hone
