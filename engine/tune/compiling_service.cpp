#include "engine/tune/compiling_service.hpp"

#include <fmt/format.h>

namespace hone {
namespace {

constexpr double kSetupSeconds = 60.0, kSeconds = 300.0;  // where the coordinator says nothing shorter

Result<wire::Message> checked(const wire::Message& reply) {
  HONE_TRY(wire::read_compile(reply));
  return reply;
}

}  // namespace

Result<void> CompilingService::set_up(std::int64_t assignment, wire::Message setup, const wire::Message&) {
  HONE_ASSIGN(const DeviceInfo info, wire::read_device(setup.at("device")));
  const auto& plugins = registry_.devices();
  const auto plugin = std::ranges::find(plugins, info.plugin, [](const auto& one) { return std::string(one->name()); });
  if (plugin == plugins.end()) {
    return Error{ErrorCode::kNotFound, fmt::format("this worker has no device plugin '{}'", info.plugin)};
  }
  process_.reset();
  setup["plugin"] = (*plugin)->file().string();
  setup["measure"] = false;
  setup_ = std::move(setup);
  assignment_ = assignment;
  return {};
}

void CompilingService::begin(std::int64_t, const wire::Message& request, Answered answered) {
  answered_ = std::move(answered);
  request_ = request;
  if (process_ && process_->is_sound()) {
    compile();
    return;
  }
  Result<std::unique_ptr<WorkerProcess>> process = WorkerProcess::spawn(context_, executable_);
  if (!process) {
    answer({{"unable", wire::to_message(process.error())}});
    return;
  }
  process_ = std::move(process).value();
  process_->request<wire::Done>(setup_, RequestLimits::all(kSetupSeconds), wire::read_done, [this](const Result<wire::Done>& reply) {
    if (!reply || reply->error) {
      answer({{"unable", wire::to_message(reply ? *reply->error : reply.error())}});
    } else {
      compile();
    }
  });
}

void CompilingService::compile() {
  const double limit = request_.value("total", kSeconds);
  process_->request<wire::Message>(request_, RequestLimits::all(limit), checked, [this](Result<wire::Message> reply) {
    answer(reply ? wire::Message{{"reply", std::move(reply).value()}} : wire::Message{{"error", wire::to_message(reply.error())}});
  });
}

void CompilingService::answer(wire::Message message) { std::exchange(answered_, nullptr)(std::move(message)); }

void CompilingService::cancel() {
  process_.reset();
  answered_ = nullptr;
}

}  // namespace hone
