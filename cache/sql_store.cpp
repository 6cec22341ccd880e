#include "cache/sql_store.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "cache/owner.hpp"

namespace hone::cache {

SqlStore::SqlStore(std::unique_ptr<StoreConnection> connection, StoreMode mode, bool trusted, const StoreView& view)
    : connection_(std::move(connection)), place_(connection_->place()), mode_(mode), view_(view), trusted_(trusted), process_(getpid()) {}

SqlStore::~SqlStore() {
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

Result<Transaction> SqlStore::begin_write(std::string_view doing, Writers writers) {
  if (mode_ == StoreMode::kReadOnly) {
    return Error{ErrorCode::kStore, fmt::format("cannot {} in the store {}: it was opened for reading only", doing, place_)};
  }
  return Transaction::begin(database(), doing, writers);
}

}  // namespace hone::cache
