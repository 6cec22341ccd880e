#include "engine/tune/compile_pool.hpp"

#include <algorithm>
#include <cmath>

namespace hone {
namespace {

constexpr double kShortestDeadline = 60.0;   // seconds: a cold compiler on a loaded machine
constexpr double kDeadlineFactor = 20.0;     // times the mean seconds of a batch
constexpr double kBatchSeconds = 0.4;        // long enough to share a front end, short enough that the device does not wait
constexpr std::size_t kLargestBatch = 16;
constexpr double kSetupDeadline = 60.0;

}  // namespace

CompilePool::CompilePool(boost::asio::io_context& context, std::filesystem::path executable, std::vector<Parameter> parameters,
                         wire::Message setup, int workers, Handler handler)
    : context_(context), executable_(std::move(executable)), parameters_(std::move(parameters)), setup_(std::move(setup)), handler_(std::move(handler)) {
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
  std::size_t count = 0;
  for (const auto& batch : queue_) {
    count += batch.size();
  }
  for (const auto& slot : slots_) {
    count += slot->batch.size();
  }
  return count;
}

double CompilePool::deadline() const {
  return std::max(kShortestDeadline, kDeadlineFactor * mean_seconds() * static_cast<double>(batch_size()));
}

void CompilePool::submit(std::vector<Proposal> proposals) {
  // Batches no larger than what spreads the work over all workers.
  const std::size_t fair = (proposals.size() + workers() - 1) / workers();
  const std::size_t size = std::max<std::size_t>(1, std::min(batch_size(), fair));
  for (std::size_t at = 0; at < proposals.size(); at += size) {
    const auto first = proposals.begin() + static_cast<std::ptrdiff_t>(at);
    const auto last = proposals.begin() + static_cast<std::ptrdiff_t>(std::min(proposals.size(), at + size));
    queue_.emplace_back(std::make_move_iterator(first), std::make_move_iterator(last));
  }
  dispatch();
}

void CompilePool::dispatch() {
  for (const auto& slot : slots_) {
    if (queue_.empty() || broken_) {
      return;
    }
    if (!slot->batch.empty()) {
      continue;
    }
    slot->batch = std::move(queue_.front());
    queue_.pop_front();
    ++running_;
    if (slot->process && slot->process->alive()) {
      send(*slot);
    } else {
      start(*slot);
    }
  }
}

void CompilePool::start(Slot& slot) {
  auto process = WorkerProcess::spawn(context_, executable_);
  if (!process) {
    broken_ = process.error();
    return;
  }
  slot.process = std::move(process).value();
  slot.process->request(setup_, std::chrono::duration<double>(kSetupDeadline), [this, &slot](Result<wire::Message> reply) {
    if (!reply) {
      broken_ = reply.error();
    } else if (reply->contains("error")) {
      broken_ = wire::error_from(reply->at("error"));
    } else {
      send(slot);
    }
  });
}

void CompilePool::send(Slot& slot) {
  wire::Message configurations = wire::Message::array();
  for (const Proposal& proposal : slot.batch) {
    configurations.push_back(text(parameters_, proposal.configuration));
  }
  slot.process->request({{"op", "compile"}, {"reference", false}, {"configurations", std::move(configurations)}},
                        std::chrono::duration<double>(deadline()), [this, &slot](Result<wire::Message> reply) { finished(slot, std::move(reply)); });
}

void CompilePool::finished(Slot& slot, Result<wire::Message> reply) {
  --running_;
  if (!reply) {
    lost(slot, reply.error());
    dispatch();
    return;
  }
  std::vector<Proposal> batch = std::move(slot.batch);
  slot.batch.clear();
  const double seconds = reply->at("seconds").get<double>();
  seconds_ += seconds;
  compiled_ += batch.size();
  dispatch();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const wire::Message& result = reply->at("results")[i];
    const double share = seconds / static_cast<double>(batch.size());
    if (result.contains("compiled")) {
      handler_({std::move(batch[i]), wire::compiled_from(result.at("compiled")), Outcome::kOk, share});
    } else {
      handler_({std::move(batch[i]), wire::error_from(result.at("error")), Outcome::kCompileError, share});
    }
  }
}

void CompilePool::lost(Slot& slot, const Error& why) {
  std::vector<Proposal> batch = std::move(slot.batch);
  slot.batch.clear();
  slot.process.reset();
  if (batch.size() > 1) {
    // Only the offender is to blame: each is tried again alone, in a fresh process.
    for (Proposal& proposal : batch) {
      queue_.push_front({std::move(proposal)});
    }
    return;
  }
  const Outcome outcome = why.code == ErrorCode::kTimeout ? Outcome::kCompileTimeout : Outcome::kCompileError;
  handler_({std::move(batch.front()), Error{ErrorCode::kCompile, "the compiler: " + why.message}, outcome, deadline()});
}

}  // namespace hone
