#pragma once
// What every kernel of a device shares: the cores, and on each the fibers.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "plugins/cpu/block_runner.hpp"
#include "plugins/cpu/thread_pool.hpp"

namespace hone::cpu {

struct Executor {
  explicit Executor(unsigned workers) : pool(workers) {
    for (unsigned worker = 0; worker < pool.workers(); ++worker) {
      runners.push_back(std::make_unique<BlockRunner>());
    }
  }

  ThreadPool pool;
  std::optional<std::uint8_t> shared_paint;           ///< what blocks find in the memory that they share
  bool last_thread_first = false;                     ///< in blocks: one order hides that a thread does not wait for another one
  std::vector<std::unique_ptr<BlockRunner>> runners;  ///< runner i belongs to whoever is worker i of the pool's job
};

}  // namespace hone::cpu
