#pragma once
// cuBLASLt, opened on first use.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hone/error.hpp"
#include "plugins/cuda/cublaslt_api.hpp"
#include "plugins/cuda/driver.hpp"

namespace hone::cuda {

struct CublasLt {
  CublasLtApi api{};
  std::string path;     ///< of the shared object that was opened
  std::string version;  ///< "13.1.0"
};

/// The library of this process. Errors, kUnavailable: where it was looked for and how to get it. Thread-safe.
Result<const CublasLt*> cublaslt();

/// Where cublaslt() looks, in order; $HONE_CUBLASLT comes first.
std::vector<std::string> cublaslt_candidates();

/// The library started on a device. Its functions may be called by several threads at once.
class LtContext {
 public:
  /// Without a context: in the one that is current whenever it is used.
  static Result<std::shared_ptr<const LtContext>> start(std::shared_ptr<PrimaryContext> context);
  ~LtContext();
  LtContext(const LtContext&) = delete;
  LtContext& operator=(const LtContext&) = delete;

  [[nodiscard]] const CublasLtApi& api() const { return library_.api; }
  [[nodiscard]] LtHandle handle() const { return handle_; }
  /// Makes its context the current one, for a scope.
  [[nodiscard]] std::optional<ContextScope> enter() const;
  /// "cuBLASLt 13.1.0: no algorithm for this problem: CUBLAS_STATUS_NOT_SUPPORTED (15)"
  [[nodiscard]] Error error(int status, std::string_view what) const;

 private:
  LtContext(std::shared_ptr<PrimaryContext> context, const CublasLt& library) : context_(std::move(context)), library_(library) {}

  std::shared_ptr<PrimaryContext> context_;
  const CublasLt& library_;
  LtHandle handle_ = nullptr;
};

}  // namespace hone::cuda
