// Reading a kernel file where it can hang or explode and cost nothing but an error.

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <optional>

#include "engine/reader/kernel_file.hpp"
#include "engine/worker/worker.hpp"
#include "engine/worker/worker_process.hpp"

namespace hone {
namespace {

constexpr double kReadSeconds = 20.0;  // a file takes milliseconds; a cold libclang on a loaded machine a second or two

}  // namespace

Result<KernelSpec> read_kernel_file_in_worker(const std::filesystem::path& file, const ReadOptions& options) {
  HONE_TRY(check_kernel_file(file));
  HONE_ASSIGN(const std::filesystem::path executable, find_worker());
  boost::asio::io_context context;
  HONE_ASSIGN(const std::unique_ptr<WorkerProcess> worker, WorkerProcess::spawn(context, executable));
  std::optional<Result<wire::ReadResult>> answer;
  worker->request<wire::ReadResult>({{"op", "read"}, {"file", file.string()}, {"flags", options.flags}}, RequestLimits::all(kReadSeconds),
                                    wire::read_reading, [&answer](Result<wire::ReadResult> reply) { answer = std::move(reply); });
  while (!answer) {
    context.restart();
    context.run_one();
  }
  if (!*answer) {
    const bool late = answer->error().code == ErrorCode::kTimeout;
    return Error{ErrorCode::kBadKernel,
                 late ? fmt::format("{}: reading it did not end within {:.0f} s; does it, or a header of its own, include itself?",
                                    file.string(), kReadSeconds)
                      : fmt::format("{}: reading it failed ({}); does it need gigabytes, or crash libclang?", file.string(),
                                    answer->error().message)};
  }
  if (!(*answer)->spec) {
    return (*answer)->spec.error();
  }
  return parse_kernel_spec(*(*answer)->spec);
}

}  // namespace hone
