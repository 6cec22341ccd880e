#pragma once
// The queue of a store on PostgreSQL. Each call is one statement, which may be sent twice where the connection was lost in between.

#include <memory>
#include <string>

#include "engine/store/work_queue.hpp"

namespace hone::cache {

/// hone::OpenQueue of engine/store/work_queue.hpp.
Result<std::unique_ptr<WorkQueue>> open_postgres_queue(const std::string& url);

}  // namespace hone::cache
