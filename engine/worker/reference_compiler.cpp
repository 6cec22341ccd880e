#include "engine/worker/reference_compiler.hpp"

#include <fmt/format.h>

namespace hone {

Result<std::unique_ptr<ReferenceCompiler>> ReferenceCompiler::start(boost::asio::io_context& context,
                                                                    const std::filesystem::path& executable, wire::Message setup,
                                                                    std::function<RequestLimits()> limits, Handler handler) {
  HONE_ASSIGN(std::unique_ptr<WorkerProcess> process, WorkerProcess::spawn(context, executable));
  std::unique_ptr<ReferenceCompiler> compiler(new ReferenceCompiler(std::move(process), std::move(handler)));
  setup["measure"] = false;
  ReferenceCompiler* const self = compiler.get();  // the worker's handlers end with the worker, which it owns
  self->process_->request<wire::Done>(setup, limits(), wire::read_done, [self, limits](const Result<wire::Done>& reply) {
    if (!reply || reply->error) {
      self->handler_(reply ? *reply->error : Error{reply.error().code, "preparing the reference: " + reply.error().message});
      return;
    }
    const wire::Message request{{"op", "compile"}, {"reference", true}, {"configurations", wire::Message::array()}};
    self->process_->request<wire::CompileResult>(request, limits(), wire::read_compile,
                                                 [self](const Result<wire::CompileResult>& done) { self->compiled(done); });
  });
  return compiler;
}

void ReferenceCompiler::compiled(const Result<wire::CompileResult>& reply) const {
  if (!reply || reply->results.size() != 1) {
    handler_(Error{ErrorCode::kCompile,
                   fmt::format("compiling the reference: {}", reply ? "the compiler gave no result" : reply.error().message)});
    return;
  }
  const Result<Compiled>& compiled = reply->results.front();
  handler_(compiled ? compiled
                    : Error{compiled.error().code, fmt::format("the reference does not compile:\n{}", compiled.error().message)});
}

}  // namespace hone
