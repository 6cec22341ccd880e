#include "cache/sql_store.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <chrono>

#include "cache/owner.hpp"
#include "engine/store/store_server.hpp"

namespace hone::cache {

SqlStore::SqlStore(std::unique_ptr<StoreConnection> connection, StoreMode mode, bool trusted, const StoreView& view)
    : connection_(std::move(connection)), place_(connection_->place()), mode_(mode), view_(view), trusted_(trusted), process_(getpid()) {}

SqlStore::~SqlStore() {
  if (heartbeat_.joinable() && getpid() != process_) {
    heartbeat_.detach();  // a forked child has no such thread
  } else if (heartbeat_.joinable()) {
    heartbeat_.request_stop();
    heartbeat_.join();
  }
  if (running_.empty() || getpid() != process_) {
    return;
  }
  // A failure leaves the sessions to the end of this process, which frees them as well.
  auto transaction = Transaction::begin(database(), "leave the sessions", Writers::kMany);
  auto update = database().prepare("UPDATE session SET owner = '' WHERE id = ? AND owner = ? AND state = 'running'");
  if (!transaction || !update) {
    return;
  }
  for (const std::int64_t id : running_) {
    update->integer(id).text(this_owner());
    static_cast<void>(update->run("leave the sessions"));
    update->reset();
  }
  static_cast<void>(transaction->commit("leave the sessions"));
}

void SqlStore::runs(std::int64_t session) {
  running_.insert(session);
  if (connection_->has_heartbeats() && !heartbeat_.joinable()) {
    heartbeat_ = std::jthread([this](const std::stop_token& stop) { keep_leases(stop); });
  }
}

void SqlStore::keep_leases(const std::stop_token& stop) {
  const std::chrono::duration<double> pause(heartbeat_seconds());
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, stop, pause, [] { return false; }) && !stop.stop_requested()) {
    if (running_.empty()) {
      continue;
    }
    // A failure is that of whoever writes next.
    auto update = database().prepare(fmt::format("UPDATE session SET updated_at = {} WHERE owner = ? AND state = 'running' AND id IN ({})",
                                                 database().now(), fmt::join(running_, ", ")));
    if (update) {
      update->text(this_owner());
      static_cast<void>(update->run("say that the sessions are run"));
    }
  }
}

Result<Transaction> SqlStore::begin_write(std::string_view doing, Writers writers) {
  if (mode_ == StoreMode::kReadOnly) {
    return Error{ErrorCode::kStore, fmt::format("cannot {} in the store {}: it was opened for reading only", doing, place_)};
  }
  return Transaction::begin(database(), doing, writers);
}

}  // namespace hone::cache
