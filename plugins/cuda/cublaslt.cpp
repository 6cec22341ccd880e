#include "plugins/cuda/cublaslt.hpp"

#include <fmt/format.h>

#include "plugins/cuda/library_paths.hpp"
#include "plugins/cuda/shared_library.hpp"

namespace hone::cuda {
namespace {

Result<CublasLt> open_cublaslt() {
  SharedLibrary library(cublaslt_candidates());
  if (!library.opened()) {
    return Error{
        ErrorCode::kUnavailable,
        fmt::format("no cuBLASLt: {}. Install the CUDA toolkit or `pip install nvidia-cublas`, or set HONE_CUBLASLT to the path of "
                    "libcublasLt.so",
                    library.reason())};
  }
  CublasLt opened;
  opened.path = library.name();
  CublasLtApi& api = opened.api;
  library.bind(api.get_version, "cublasLtGetVersion");
  library.bind(api.get_status_name, "cublasLtGetStatusName");
  library.bind(api.create, "cublasLtCreate");
  library.bind(api.destroy, "cublasLtDestroy");
  library.bind(api.operation_init, "cublasLtMatmulDescInit_internal");
  library.bind(api.operation_set, "cublasLtMatmulDescSetAttribute");
  library.bind(api.layout_init, "cublasLtMatrixLayoutInit_internal");
  library.bind(api.preference_init, "cublasLtMatmulPreferenceInit_internal");
  library.bind(api.preference_set, "cublasLtMatmulPreferenceSetAttribute");
  library.bind(api.suggest, "cublasLtMatmulAlgoGetHeuristic");
  library.bind(api.algorithm_ids, "cublasLtMatmulAlgoGetIds");
  library.bind(api.algorithm_init, "cublasLtMatmulAlgoInit");
  library.bind(api.algorithm_set, "cublasLtMatmulAlgoConfigSetAttribute");
  library.bind(api.algorithm_get, "cublasLtMatmulAlgoConfigGetAttribute");
  library.bind(api.algorithm_capability, "cublasLtMatmulAlgoCapGetAttribute");
  library.bind(api.algorithm_check, "cublasLtMatmulAlgoCheck");
  library.bind(api.matmul, "cublasLtMatmul");
  if (!library.missing().empty()) {
    return Error{ErrorCode::kUnavailable,
                 fmt::format("the cuBLASLt at {} lacks {}; Hone needs version 12.0 or later, HONE_CUBLASLT names another", opened.path,
                             library.missing())};
  }
  const std::size_t version = api.get_version();  // 130100 for 13.1.0, 120305 for 12.3.5
  opened.version = fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  return opened;
}

}  // namespace

std::vector<std::string> cublaslt_candidates() {
  return library_candidates({.variable = "HONE_CUBLASLT",
                             .names = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"},
                             .wheels = {"nvidia/cu13/lib/libcublasLt.so.13", "nvidia/cublas/lib/libcublasLt.so.12"}});
}

Result<const CublasLt*> cublaslt() {
  static const Result<CublasLt> opened = open_cublaslt();
  if (!opened) {
    return opened.error();
  }
  return &opened.value();
}

Result<std::shared_ptr<const LtContext>> LtContext::start(std::shared_ptr<PrimaryContext> context) {
  HONE_ASSIGN(const CublasLt* const library, cublaslt());
  std::shared_ptr<LtContext> started(new LtContext(std::move(context), *library));
  const auto scope = started->enter();
  if (const int status = library->api.create(&started->handle_); status != kLtSuccess) {
    started->handle_ = nullptr;
    return started->error(status, "it cannot be started on this device");
  }
  return std::shared_ptr<const LtContext>(std::move(started));
}

std::optional<ContextScope> LtContext::enter() const {
  return context_ == nullptr ? std::optional<ContextScope>() : std::optional<ContextScope>(std::in_place, *context_);
}

LtContext::~LtContext() {
  if (handle_ != nullptr) {
    const auto scope = enter();
    library_.api.destroy(handle_);
  }
}

Error LtContext::error(int status, std::string_view what) const {
  return {ErrorCode::kLaunch,
          fmt::format("cuBLASLt {}: {}: {} ({})", library_.version, what, library_.api.get_status_name(status), status)};
}

}  // namespace hone::cuda
