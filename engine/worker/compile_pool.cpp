#include "engine/worker/compile_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "engine/base/cores.hpp"

namespace hone {
namespace {

constexpr double kFirstLimit = 30.0;   // seconds, before enough is known: a cold compiler on a loaded machine
constexpr std::size_t kEnough = 3;     // batches
constexpr double kLimitFactor = 5.0;   // times the median of this session
constexpr double kLeastLimit = 0.4;    // seconds; what a new process and a busy host add to a compiler that takes milliseconds
constexpr double kBatchSeconds = 0.4;  // long enough to share a front end, short enough that the device does not wait
constexpr std::size_t kLargestBatch = 16;
constexpr double kSetupDeadline = 60.0;

/// How many processes there are to a core of this host, at least 1: a compiler gets as much less of it.
double crowding() {
  double load = 0.0;
  const double cores = usable_cores();
  return ::getloadavg(&load, 1) == 1 ? std::max(1.0, load / cores) : 1.0;
}

}  // namespace

CompilePool::CompilePool(boost::asio::io_context& context, std::filesystem::path executable, std::vector<Parameter> parameters,
                         wire::Message setup, int workers, Handler handler)
    : context_(context),
      executable_(std::move(executable)),
      parameters_(std::move(parameters)),
      setup_(std::move(setup)),
      handler_(std::move(handler)) {
  setup_["measure"] = false;
  for (int i = 0; i < workers; ++i) {
    slots_.push_back(std::make_unique<Slot>());
  }
}

std::size_t CompilePool::batch_size() const {
  if (compiled_ == 0) {
    return 1;
  }
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::lround(kBatchSeconds / mean_seconds())), 1, kLargestBatch);
}

std::size_t CompilePool::pending() const {
  std::size_t count = queue_.size();
  for (const auto* const slots : {&slots_, &elsewhere_}) {
    for (const auto& slot : *slots) {
      count += slot->batch.size();
    }
  }
  return count;
}

double CompilePool::limit(std::size_t configurations) const {
  if (each_.size() < kEnough) {
    return kFirstLimit;
  }
  return crowding() * std::max(kLeastLimit, kLimitFactor * each_[each_.size() / 2] * static_cast<double>(configurations));
}

void CompilePool::submit(std::vector<Proposal> proposals) {
  for (Proposal& proposal : proposals) {
    queue_.push_back({std::move(proposal)});
  }
  dispatch();
}

std::vector<Proposal> CompilePool::next_batch(std::size_t free_workers) {
  const std::size_t fair = (queue_.size() + free_workers - 1) / free_workers;
  const std::size_t most = queue_.front().alone ? 1 : std::max<std::size_t>(1, std::min(batch_size(), fair));
  std::vector<Proposal> batch;
  while (batch.size() < most && !queue_.empty() && (batch.empty() || !queue_.front().alone)) {
    batch.push_back(std::move(queue_.front().proposal));
    queue_.pop_front();
  }
  return batch;
}

void CompilePool::set_elsewhere(std::size_t most, Elsewhere compile) {
  most_elsewhere_ = most;
  compile_elsewhere_ = std::move(compile);
  while (elsewhere_.size() < most) {
    elsewhere_.push_back(std::make_unique<Slot>());
    elsewhere_.back()->elsewhere = true;
  }
  dispatch();
}

void CompilePool::dispatch_elsewhere(std::size_t& free_workers) {
  for (std::size_t i = 0; i < most_elsewhere_ && !queue_.empty(); ++i) {
    Slot& slot = *elsewhere_[i];
    if (!slot.batch.empty()) {
      continue;
    }
    slot.batch = next_batch(free_workers);
    free_workers = std::max<std::size_t>(1, free_workers - 1);
    wire::Message request = request_for(slot);
    request["total"] = limit(slot.batch.size());
    compile_elsewhere_(request, [this, &slot](Result<wire::CompileResult> reply) { finished(slot, std::move(reply)); });
  }
}

void CompilePool::dispatch() {
  const std::size_t here = std::min(most_, slots_.size());
  auto free_here = here - std::min(here, running_);
  auto free_workers = free_here + most_elsewhere_;
  for (const auto& slot : slots_) {
    if (queue_.empty() || broken_ || free_here == 0) {
      break;
    }
    if (!slot->batch.empty()) {
      continue;
    }
    slot->batch = next_batch(free_workers--);
    --free_here;
    ++running_;
    if (slot->process && slot->process->alive()) {
      send(*slot);
    } else {
      start(*slot);
    }
  }
  dispatch_elsewhere(free_workers);
}

void CompilePool::start(Slot& slot) {
  auto process = WorkerProcess::spawn(context_, executable_);
  if (!process) {
    broken_ = process.error();
    return;
  }
  slot.process = std::move(process).value();
  slot.process->request<wire::Done>(setup_, RequestLimits::all(kSetupDeadline), wire::read_done,
                                    [this, &slot](const Result<wire::Done>& reply) {
                                      if (!reply) {
                                        broken_ = reply.error();
                                      } else if (reply->error) {
                                        broken_ = reply->error;
                                      } else {
                                        send(slot);
                                      }
                                    });
}

wire::Message CompilePool::request_for(const Slot& slot) const {
  wire::Message configurations = wire::Message::array();
  for (const Proposal& proposal : slot.batch) {
    configurations.push_back(text(parameters_, proposal.configuration));
  }
  return {{"op", "compile"}, {"reference", false}, {"configurations", std::move(configurations)}};
}

void CompilePool::send(Slot& slot) {
  const RequestLimits limits{.stage = [this, size = slot.batch.size()](const wire::Stage&) { return limit(size); }};
  slot.process->request<wire::CompileResult>(request_for(slot), limits, wire::read_compile,
                                             [this, &slot](Result<wire::CompileResult> reply) { finished(slot, std::move(reply)); });
}

void CompilePool::finished(Slot& slot, Result<wire::CompileResult> reply) {
  running_ -= slot.elsewhere ? 0 : 1;
  if (reply && reply->results.size() != slot.batch.size()) {
    reply = Error{ErrorCode::kDevice, fmt::format("it gave {} results for {} configurations", reply->results.size(), slot.batch.size())};
  }
  if (!reply) {
    lost(slot, reply.error());
    dispatch();
    return;
  }
  std::vector<Proposal> batch = std::move(slot.batch);
  slot.batch.clear();
  const double share = reply->seconds / static_cast<double>(batch.size());
  seconds_ += reply->seconds;
  compiled_ += batch.size();
  each_.insert(std::ranges::upper_bound(each_, share), share);
  dispatch();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const bool ok = reply->results[i].ok();
    handler_({std::move(batch[i]), std::move(reply->results[i]), ok ? Outcome::kOk : Outcome::kCompileError, share});
  }
}

void CompilePool::lost(Slot& slot, const Error& why) {
  std::vector<Proposal> batch = std::move(slot.batch);
  slot.batch.clear();
  slot.process.reset();
  if (slot.elsewhere && why.code == ErrorCode::kUnavailable) {
    for (Proposal& proposal : batch) {
      queue_.push_front({std::move(proposal)});
    }
    return;
  }
  const double seconds = limit(batch.size());
  if (batch.size() > 1) {
    // Only the offender is to blame: each is tried again alone, in a fresh process.
    for (Proposal& proposal : batch) {
      queue_.push_front({std::move(proposal), true});
    }
    return;
  }
  const Outcome outcome = why.code == ErrorCode::kTimeout ? Outcome::kCompileTimeout : Outcome::kCompileError;
  handler_({std::move(batch.front()), Error{ErrorCode::kCompile, "the compiler: " + why.message}, outcome,
            why.code == ErrorCode::kTimeout ? seconds : 0.0});
}

}  // namespace hone
