#include "engine/tune/measuring_process.hpp"

#include <fmt/format.h>

namespace hone {
namespace {

constexpr std::chrono::duration<double> kOpenDeadline{300.0};  // to open the device, to compile the reference, to make the buffers

}  // namespace

MeasuringProcess::MeasuringProcess(boost::asio::io_context& context, std::filesystem::path executable, wire::Message setup, Events events)
    : context_(context), executable_(std::move(executable)), setup_(std::move(setup)), events_(std::move(events)) {}

Result<void> MeasuringProcess::start(const std::optional<Compiled>& reference) {
  if (reference) {
    reference_ = wire::to_message(*reference);
  } else {
    HONE_TRY(compile_reference());
  }
  return revive();
}

Result<void> MeasuringProcess::revive() {
  if (alive()) {
    return {};
  }
  HONE_ASSIGN(worker_, WorkerProcess::spawn(context_, executable_));
  stage_ = Stage::kOpening;
  wire::Message setup = setup_;
  setup["measure"] = true;
  worker_->request(setup, kOpenDeadline, [this](const Result<wire::Message>& reply) {
    if (!failed(reply, "opening the device")) {
      stage_ = Stage::kOpen;
      make_bench();
    }
  });
  return {};
}

/// The error in a worker's reply, if there is one, is told.
bool MeasuringProcess::failed(const Result<wire::Message>& reply, std::string_view what) const {
  if (!reply) {
    events_.failed({reply.error().code, fmt::format("{}: {}", what, reply.error().message)});
    return true;
  }
  if (reply->contains("error")) {
    events_.failed(wire::error_from(reply->at("error")));
    return true;
  }
  return false;
}

Result<void> MeasuringProcess::compile_reference() {
  HONE_ASSIGN(reference_compiler_, WorkerProcess::spawn(context_, executable_));
  wire::Message setup = setup_;
  setup["measure"] = false;
  reference_compiler_->request(setup, kOpenDeadline, [this](const Result<wire::Message>& reply) {
    if (!failed(reply, "preparing the reference")) {
      reference_compiler_->request({{"op", "compile"}, {"reference", true}, {"configurations", wire::Message::array()}}, kOpenDeadline,
                                   [this](const Result<wire::Message>& done) { reference_compiled(done); });
    }
  });
  return {};
}

void MeasuringProcess::reference_compiled(const Result<wire::Message>& reply) {
  if (failed(reply, "compiling the reference")) {
    return;
  }
  const wire::Message& result = reply->at("results").at(0);
  if (result.contains("error")) {
    const Error why = wire::error_from(result.at("error"));
    events_.failed({why.code, fmt::format("the reference does not compile:\n{}", why.message)});
    return;
  }
  reference_ = result.at("compiled");
  reference_compiler_.reset();
  if (const Result<void> kept = events_.has_reference(wire::compiled_from(*reference_)); !kept) {
    events_.failed(kept.error());
    return;
  }
  make_bench();
}

/// The device's buffers need the reference.
void MeasuringProcess::make_bench() {
  if (stage_ != Stage::kOpen || !reference_) {
    return;
  }
  stage_ = Stage::kFilling;
  worker_->request({{"op", "bench"}, {"reference", *reference_}}, kOpenDeadline, [this](const Result<wire::Message>& reply) {
    if (!failed(reply, "opening the device")) {
      stage_ = Stage::kReady;
      events_.ready();
    }
  });
}

}  // namespace hone
