// Reading a kernel file, or asking a library, where it can hang or explode and cost nothing but an error.

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <optional>

#include "engine/reader/kernel_file.hpp"
#include "engine/worker/idle_workers.hpp"
#include "engine/worker/worker.hpp"
#include "engine/worker/worker_process.hpp"

namespace hone {
namespace {

constexpr double kReadSeconds = 20.0;     // a file takes milliseconds; a cold libclang on a loaded machine a second or two
constexpr double kLibrarySeconds = 20.0;  // it takes less than one; most of it for a device that many processes open

/// What the worker, which `context` is for, answers. Errors: it hung or crashed.
Result<wire::ReadResult> ask(WorkerProcess& worker, boost::asio::io_context& context, const wire::Message& request, double seconds) {
  std::optional<Result<wire::ReadResult>> answer;
  worker.request<wire::ReadResult>(request, RequestLimits::all(seconds), wire::read_reading,
                                   [&answer](Result<wire::ReadResult> reply) { answer = std::move(reply); });
  while (!answer) {
    context.restart();
    context.run_one();
  }
  return *std::move(answer);
}

}  // namespace

Result<KernelSpec> read_kernel_file_in_worker(const std::filesystem::path& file, const ReadOptions& options) {
  HONE_TRY(check_kernel_file(file));
  HONE_ASSIGN(const std::filesystem::path executable, find_worker());
  boost::asio::io_context context;
  HONE_ASSIGN(const std::unique_ptr<WorkerProcess> worker, WorkerProcess::spawn(context, executable));
  const Result<wire::ReadResult> answer =
      ask(*worker, context, {{"op", "read"}, {"file", file.string()}, {"flags", options.flags}}, kReadSeconds);
  if (!answer && answer.error().code == ErrorCode::kUnavailable) {
    return answer.error();  // the worker's own fault, not the file's
  }
  if (!answer) {
    const bool late = answer.error().code == ErrorCode::kTimeout;
    return Error{ErrorCode::kBadKernel,
                 late ? fmt::format("{}: reading it did not end within {:.0f} s; does it, or a header of its own, include itself?",
                                    file.string(), kReadSeconds)
                      : fmt::format("{}: reading it failed ({}); does it need gigabytes, or crash libclang?", file.string(),
                                    answer.error().message)};
  }
  if (!answer->spec) {
    return answer->spec.error();
  }
  return parse_kernel_spec(*answer->spec);
}

Result<KernelSpec> library_spec_in_worker(const LibraryKernel& library, const Registry::Found& device, const Problem& problem,
                                          IdleWorkers* idle_workers) {
  HONE_ASSIGN(const std::filesystem::path executable, find_worker());
  boost::asio::io_context context;
  HONE_ASSIGN(TakenWorker worker, take_or_spawn(idle_workers, context, executable, device.info));
  HONE_ASSIGN(const wire::ReadResult answer, ask(*worker.process, context,
                                                 {{"op", "library"},
                                                  {"library", std::string(library.name())},
                                                  {"device", wire::to_message(device.info)},
                                                  {"plugin", device.plugin->file().string()},
                                                  {"problem", wire::to_message(problem)}},
                                                 kLibrarySeconds));
  if (idle_workers != nullptr) {
    idle_workers->put(std::move(worker.process), executable, device.info);
  }
  if (!answer.spec) {
    return answer.spec.error();
  }
  return parse_kernel_spec(*answer.spec);
}

}  // namespace hone
