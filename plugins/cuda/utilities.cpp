#include "plugins/cuda/utilities.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>

#include "plugins/cuda/compiler.hpp"
#include "plugins/cuda/compiler_log.hpp"

namespace hone {
namespace embedded {
extern const std::string_view cuda_utility_cu;
}

namespace cuda {

// The same layout as in utility.cu.
struct Utilities::Summary {
  double squares = 0.0;
  std::uint64_t finite = 0, mismatches = 0, not_finite = 0, first_mismatch = ~std::uint64_t{0}, max_error_bits = 0;
  double first_actual = 0.0, first_expected = 0.0;
  std::uint64_t checksum = 0;
};

namespace {

constexpr unsigned int kBlock = 256;
constexpr std::size_t kBlocksPerMultiprocessor = 8, kLateBlocks = 16;

static_assert(static_cast<int>(DType::kF32) == 0 && static_cast<int>(DType::kF16) == 1 && static_cast<int>(DType::kBF16) == 2 &&
                  static_cast<int>(DType::kF64) == 3 && static_cast<int>(DType::kI32) == 4,
              "utility.cu numbers the dtypes in this order");

Result<std::shared_ptr<const Artifact>> compile_utility(std::string_view architecture) {
  HONE_ASSIGN(const Nvrtc* compiler, nvrtc());
  ProgramRequest request;
  request.name = "hone/utility.cu";
  request.source = embedded::cuda_utility_cu;
  request.headers = own_headers();
  request.options = base_options(*compiler, architecture);
  HONE_ASSIGN(Program program, compile_program(*compiler, request));
  if (!program.compiled) {
    return Error{ErrorCode::kUnavailable,
                 fmt::format("Hone's own device code does not compile for {}: {}", architecture, first_errors(program.log))};
  }
  auto artifact = std::make_shared<Artifact>();
  artifact->bytes = std::move(program.cubin);
  return std::shared_ptr<const Artifact>(std::move(artifact));
}

}  // namespace

Result<std::shared_ptr<const Artifact>> utility_code(std::string_view architecture) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Artifact>, std::less<>> compiled;
  const std::lock_guard lock(mutex);
  if (const auto found = compiled.find(architecture); found != compiled.end()) {
    return found->second;
  }
  HONE_ASSIGN(std::shared_ptr<const Artifact> code, compile_utility(architecture));
  compiled.emplace(architecture, code);
  return code;
}

Result<std::unique_ptr<Utilities>> Utilities::create(const std::shared_ptr<PrimaryContext>& context, const DeviceInfo& info) {
  std::unique_ptr<Utilities> utilities(new Utilities(context));
  HONE_TRY(utilities->load(info));
  return utilities;
}

Utilities::~Utilities() {
  const ContextScope scope(*context_);
  if (summary_ != 0) {
    context_->api().mem_free(summary_);
  }
}

Result<void> Utilities::load(const DeviceInfo& info) {
  most_blocks_ = static_cast<std::size_t>(info.properties.at("multiprocessors")) * kBlocksPerMultiprocessor;
  HONE_ASSIGN(const std::shared_ptr<const Artifact> code, utility_code(info.architecture));
  HONE_ASSIGN(library_, Library::load(context_, code->bytes.data()));
  HONE_ASSIGN(randomize_, library_->kernel("hone_randomize"));
  HONE_ASSIGN(squares_, library_->kernel("hone_squares"));
  HONE_ASSIGN(compare_, library_->kernel("hone_compare"));
  HONE_ASSIGN(first_, library_->kernel("hone_first"));
  HONE_ASSIGN(checksum_, library_->kernel("hone_checksum"));
  HONE_ASSIGN(displace_, library_->kernel("hone_displace"));
  HONE_ASSIGN(invert_, library_->kernel("hone_invert"));
  const ContextScope scope(*context_);
  if (const Status status = context_->api().mem_alloc(&summary_, sizeof(Summary)); status != status::kSuccess) {
    return driver_error(context_->api(), status, "no memory for the device's own results", ErrorCode::kUnavailable);
  }
  return {};
}

Result<void> Utilities::launch(KernelHandle kernel, StreamHandle stream, std::size_t count, void** parameters) {
  const auto blocks = static_cast<unsigned int>(std::clamp<std::size_t>((count + kBlock - 1) / kBlock, 1, most_blocks_));
  // A kernel may be passed where a function is expected; the stream's context decides where it runs.
  const Status status =
      context_->api().launch_kernel(reinterpret_cast<FunctionHandle>(kernel), blocks, 1, 1, kBlock, 1, 1, 0, stream, parameters, nullptr);
  if (status != status::kSuccess) {
    return driver_error(context_->api(), status, "the device's own code cannot be launched");
  }
  return {};
}

Result<void> Utilities::reset(StreamHandle stream) {
  static const Summary kEmpty{};  // outlives the copy
  if (const Status status = context_->api().memcpy_htod_async(summary_, &kEmpty, sizeof(Summary), stream); status != status::kSuccess) {
    return driver_error(context_->api(), status, "the device's results cannot be reset");
  }
  return {};
}

Result<Utilities::Summary> Utilities::read(StreamHandle stream) {
  Summary summary;
  Status status = context_->api().memcpy_dtoh_async(&summary, summary_, sizeof(Summary), stream);
  if (status == status::kSuccess) {
    status = context_->api().stream_synchronize(stream);
  }
  if (status != status::kSuccess) {
    return driver_error(context_->api(), status, "the device's results cannot be read");
  }
  return summary;
}

Result<void> Utilities::randomize(StreamHandle stream, void* destination, DType dtype, std::size_t count, std::uint64_t seed) {
  int code = static_cast<int>(dtype);
  std::uint64_t elements = count;
  std::array<void*, 4> parameters{&destination, &code, &elements, &seed};
  return launch(randomize_, stream, count, parameters.data());
}

Result<Comparison> Utilities::compare(StreamHandle stream, const void* actual, DType dtype, const double* expected, std::size_t count,
                                      const Tolerance& tolerance) {
  int code = static_cast<int>(dtype);
  std::uint64_t elements = count;
  double relative = tolerance.relative, absolute_rms = tolerance.absolute_rms, absolute = tolerance.absolute;
  std::array<void*, 3> squares{&expected, &elements, &summary_};
  std::array<void*, 8> compare{&actual, &code, &expected, &elements, &relative, &absolute_rms, &absolute, &summary_};
  std::array<void*, 5> first{&actual, &code, &expected, &elements, &summary_};
  HONE_TRY(reset(stream));
  HONE_TRY(launch(squares_, stream, count, squares.data()));
  HONE_TRY(launch(compare_, stream, count, compare.data()));
  const Status status =
      context_->api().launch_kernel(reinterpret_cast<FunctionHandle>(first_), 1, 1, 1, 1, 1, 1, 0, stream, first.data(), nullptr);
  if (status != status::kSuccess) {
    return driver_error(context_->api(), status, "the device's own code cannot be launched");
  }
  HONE_ASSIGN(const Summary summary, read(stream));
  Comparison comparison;
  comparison.elements = count;
  comparison.mismatches = summary.mismatches;
  comparison.not_finite = summary.not_finite;
  comparison.max_error = std::bit_cast<double>(summary.max_error_bits);
  if (summary.mismatches > 0) {
    comparison.first_mismatch = summary.first_mismatch;
    comparison.first_actual = summary.first_actual;
    comparison.first_expected = summary.first_expected;
  }
  return comparison;
}

Result<std::uint64_t> Utilities::checksum(StreamHandle stream, const void* source, std::size_t bytes) {
  std::uint64_t size = bytes;
  std::array<void*, 3> parameters{&source, &size, &summary_};
  HONE_TRY(reset(stream));
  HONE_TRY(launch(checksum_, stream, (bytes + 7) / 8, parameters.data()));
  HONE_ASSIGN(const Summary summary, read(stream));
  return summary.checksum;
}

Result<void> Utilities::displace(StreamHandle stream, const void* zeros, std::size_t bytes) {
  std::uint64_t words = bytes / 16;
  std::array<void*, 3> parameters{&zeros, &words, &summary_};
  return launch(displace_, stream, words, parameters.data());
}

Result<void> Utilities::invert(StreamHandle stream, std::span<const Region> regions, bool late) {
  struct Inverted {
    void* address = nullptr;
    std::uint64_t bytes = 0;
  };
  std::array<Inverted, 32> inverted{};
  int count = static_cast<int>(std::min(regions.size(), inverted.size())), is_late = late ? 1 : 0;
  std::transform(regions.begin(), regions.begin() + count, inverted.begin(), [](const Region& region) -> Inverted {
    return {region.address, region.bytes};
  });
  std::array<void*, 3> parameters{inverted.data(), &count, &is_late};
  // Late, in few blocks: the next kernel needs room beside it.
  const std::size_t threads = late ? kLateBlocks * kBlock : most_blocks_ * kBlock;
  return launch(invert_, stream, threads, parameters.data());
}

}  // namespace cuda
}  // namespace hone
