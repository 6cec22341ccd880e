#include "plugins/cpu/thread_pool.hpp"

#include <algorithm>
#include <system_error>

namespace hone::cpu {

ThreadPool::ThreadPool(unsigned workers) {
  for (unsigned worker = 1; worker < workers; ++worker) {
    try {
      threads_.emplace_back([this, worker] { work(worker); });
    } catch (const std::system_error&) {
      break;  // a limit on threads makes the device slower, not unusable
    }
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void ThreadPool::run_job(unsigned wanted, Job job, void* context) {
  const std::lock_guard one_job(job_mutex_);
  wanted = std::min(wanted, workers());
  if (wanted > 1) {
    {
      const std::lock_guard lock(mutex_);
      job_ = job;
      context_ = context;
      wanted_ = wanted;
      running_ = wanted - 1;
      ++generation_;
    }
    wake_.notify_all();
  }
  job(context, 0);
  if (wanted > 1) {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return running_ == 0; });
  }
}

void ThreadPool::work(unsigned worker) {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stopping_ || generation_ != seen; });
    if (stopping_) {
      return;
    }
    seen = generation_;
    if (worker >= wanted_) {
      continue;
    }
    const Job job = job_;
    void* const context = context_;
    lock.unlock();
    job(context, worker);
    lock.lock();
    if (--running_ == 0) {
      done_.notify_one();
    }
  }
}

}  // namespace hone::cpu
