#include "engine/worker/measuring_process.hpp"

#include <fmt/format.h>

namespace hone {

std::unique_ptr<MeasuringProcess> MeasuringProcess::start(std::unique_ptr<WorkerProcess> worker, bool reused, const wire::Message& setup,
                                                          Events events) {
  std::unique_ptr<MeasuringProcess> process(new MeasuringProcess(std::move(worker), reused, std::move(events)));
  MeasuringProcess* const self = process.get();  // the worker's handlers end with the worker, which it owns
  self->worker_->request<wire::Done>(setup, self->events_.limits(), wire::read_done, [self](const Result<wire::Done>& reply) {
    if (!self->failed(reply, "opening the device")) {
      self->stage_ = Stage::kOpen;
      self->make_bench();
    }
  });
  return process;
}

/// The error in a worker's reply, if there is one, is told.
bool MeasuringProcess::failed(const Result<wire::Done>& reply, std::string_view what) const {
  if (!reply) {
    events_.failed({reply.error().code, fmt::format("{}: {}", what, reply.error().message)});
    return true;
  }
  if (reply->error) {
    events_.failed(*reply->error);
    return true;
  }
  return false;
}

void MeasuringProcess::fill(const wire::Message& reference) {
  reference_ = reference;
  make_bench();
}

/// The device's buffers need the reference.
void MeasuringProcess::make_bench() {
  if (stage_ != Stage::kOpen || !reference_) {
    return;
  }
  stage_ = Stage::kFilling;
  worker_->request<wire::Done>({{"op", "bench"}, {"reference", *reference_}}, events_.limits(), wire::read_done,
                               [this](const Result<wire::Done>& reply) {
                                 if (!failed(reply, "preparing the problem")) {
                                   bytes_ = reply->bytes;
                                   stage_ = Stage::kReady;
                                   events_.ready();
                                 }
                               });
}

}  // namespace hone
