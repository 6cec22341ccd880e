#pragma once
// The host's cores as one device: a job runs on all of them, and jobs run one after another, as on a stream.

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace hone::cpu {

class ThreadPool {
 public:
  explicit ThreadPool(unsigned workers);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  [[nodiscard]] unsigned workers() const { return static_cast<unsigned>(threads_.size()) + 1; }

  /// Calls body(worker) for every worker in [0, wanted) and returns when all are done. The caller is worker 0. Callable from any
  /// thread but not from within a body.
  template <class Body>
  void run(unsigned wanted, Body&& body) {
    run_job(
        wanted, [](void* context, unsigned worker) { (*static_cast<std::remove_reference_t<Body>*>(context))(worker); }, &body);
  }

  /// Calls body(begin, end) over pieces of [0, count) of at least `grain` on all workers.
  template <class Body>
  void parallel_for(std::int64_t count, std::int64_t grain, Body&& body) {
    const std::int64_t most = (count + grain - 1) / grain;
    const auto parts = static_cast<unsigned>(most < workers() ? most : workers());
    run(parts == 0 ? 1 : parts, [&](unsigned worker) {
      const std::int64_t begin = count * worker / (parts == 0 ? 1 : parts), end = count * (worker + 1) / (parts == 0 ? 1 : parts);
      if (begin < end) {
        body(begin, end);
      }
    });
  }

 private:
  using Job = void (*)(void* context, unsigned worker);
  void run_job(unsigned wanted, Job job, void* context);
  void work(unsigned worker);

  std::mutex job_mutex_;  ///< held for a whole job
  std::mutex mutex_;      ///< guards what follows
  std::condition_variable wake_, done_;
  Job job_ = nullptr;
  void* context_ = nullptr;
  std::uint64_t generation_ = 0;
  unsigned wanted_ = 0, running_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace hone::cpu
