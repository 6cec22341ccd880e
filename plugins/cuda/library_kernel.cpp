#include "plugins/cuda/library_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/base/digest.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "plugins/cuda/cublaslt_matmul.hpp"

namespace hone::cuda {
namespace {

/// No cubin begins like this.
constexpr std::string_view kLibraryMark = "hone library ";

}  // namespace

const std::vector<const CudaLibraryKernel*>& library_kernels() {
  static const std::vector<const CudaLibraryKernel*> all{&cublaslt_matmul()};
  return all;
}

std::vector<const LibraryKernel*> libraries() { return {library_kernels().begin(), library_kernels().end()}; }

std::shared_ptr<const Artifact> library_artifact(std::string_view library) {
  const std::string text = fmt::format("{}{}\n", kLibraryMark, library);
  auto artifact = std::make_shared<Artifact>();
  artifact->bytes.resize(text.size());
  std::memcpy(artifact->bytes.data(), text.data(), text.size());
  artifact->digest = digest(artifact->bytes);
  return artifact;
}

std::optional<LibraryCode> library_code(const Artifact& artifact) {
  const std::string_view text(reinterpret_cast<const char*>(artifact.bytes.data()), artifact.bytes.size());
  const std::size_t end = text.find('\n'), blank = text.find(' ', kLibraryMark.size());
  if (!text.starts_with(kLibraryMark) || end == std::string_view::npos || blank > end) {
    return std::nullopt;
  }
  return LibraryCode{std::string(text.substr(kLibraryMark.size(), blank - kLibraryMark.size())),
                     std::string(text.substr(blank + 1, end - blank - 1))};
}

Result<const CudaLibraryKernel*> find_library(const LibraryCode& code) {
  const auto& all = library_kernels();
  const auto found = std::ranges::find(all, code.library, &LibraryKernel::name);
  if (found == all.end()) {
    return Error{ErrorCode::kUnavailable, fmt::format("this Hone does not know the library function '{}'", code.library)};
  }
  HONE_ASSIGN(const LibraryVersion here, (*found)->version());
  if (here.number != code.version) {
    return Error{ErrorCode::kUnavailable,
                 fmt::format("{} was tuned with version {}, and {} is version {}", code.library, code.version, here.path, here.number)};
  }
  return *found;
}

std::vector<Result<Compiled>> compile_library(const CompileRequest& request) {
  const std::shared_ptr<const Artifact> artifact = library_artifact(request.spec->library);
  std::vector<Result<Compiled>> compiled;
  for (const Configuration& configuration : request.configurations) {
    compiled.emplace_back(Compiled{.artifact = artifact, .symbols = {text(request.spec->parameters, configuration)}, .resources = {}});
  }
  return compiled;
}

}  // namespace hone::cuda
