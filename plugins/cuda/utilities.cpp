#include "plugins/cuda/utilities.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <mutex>
#include <utility>

#include "plugins/cuda/compiler.hpp"
#include "plugins/cuda/compiler_log.hpp"

namespace hone {
namespace embedded {
extern const std::string_view cuda_utility_cu;  // NOLINT(readability-identifier-naming): as the build names it
}

namespace cuda {

// The same layout as in utility.cu.
struct Utilities::Summary {
  double squares = 0.0;
  std::uint64_t finite = 0, mismatches = 0, not_finite = 0, first_mismatch = ~std::uint64_t{0}, max_error_bits = 0;
  double first_actual = 0.0, first_expected = 0.0;
  std::uint64_t checksum = 0;
};

// The same layout as in utility.cu.
struct Utilities::WatchLayout {
  void* address = nullptr;
  const double* expected = nullptr;
  std::uint64_t count = 0;
  double relative = 0.0, absolute = 0.0;
  int dtype = 0, spoiled = 0;
};

namespace {

constexpr unsigned int kBlock = 256;
constexpr std::size_t kBlocksPerMultiprocessor = 8, kLateBlocks = 16;

static_assert(static_cast<int>(DType::kF32) == 0 && static_cast<int>(DType::kF16) == 1 && static_cast<int>(DType::kBF16) == 2 &&
                  static_cast<int>(DType::kF64) == 3 && static_cast<int>(DType::kI32) == 4 && static_cast<int>(DType::kI8) == 5 &&
                  static_cast<int>(DType::kBool) == 12 && static_cast<int>(DType::kU4x2) == 16,
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
  for (const Address memory : {summary_, unmended_count_, sums_, watches_}) {
    if (memory != 0) {
      context_->api().mem_free(memory);
    }
  }
}

Result<void> Utilities::load(const DeviceInfo& info) {
  multiprocessors_ = static_cast<std::size_t>(info.properties.at("multiprocessors"));
  most_blocks_ = multiprocessors_ * kBlocksPerMultiprocessor;
  HONE_ASSIGN(const std::shared_ptr<const Artifact> code, utility_code(info.architecture));
  HONE_ASSIGN(library_, Library::load(context_, code->bytes.data()));
  HONE_ASSIGN(randomize_, library_->kernel("hone_randomize"));
  HONE_ASSIGN(squares_, library_->kernel("hone_squares"));
  HONE_ASSIGN(compare_, library_->kernel("hone_compare"));
  HONE_ASSIGN(first_, library_->kernel("hone_first"));
  HONE_ASSIGN(checksums_, library_->kernel("hone_checksums"));
  HONE_ASSIGN(spoil_, library_->kernel("hone_spoil"));
  HONE_ASSIGN(unmended_, library_->kernel("hone_unmended"));
  HONE_ASSIGN(paint_shared_, library_->kernel("hone_paint_shared"));
  HONE_ASSIGN(displace_, library_->kernel("hone_displace"));
  HONE_ASSIGN(invert_, library_->kernel("hone_invert"));
  const ContextScope scope(*context_);
  const DriverApi& api = context_->api();
  Status status = api.mem_alloc(&summary_, sizeof(Summary));
  status = status == status::kSuccess ? api.mem_alloc(&unmended_count_, sizeof(std::uint64_t)) : status;
  if (status != status::kSuccess) {
    return driver_error(api, status, "no memory for the device's own results", ErrorCode::kUnavailable);
  }
  shared_bytes_ = static_cast<std::size_t>(info.properties.at("shared_memory_per_block"));
  status = api.kernel_set_attribute(static_cast<int>(FunctionAttribute::kDynamicSharedLimit), static_cast<int>(shared_bytes_),
                                    paint_shared_, context_->device());
  if (status != status::kSuccess) {
    return driver_error(api, status, "Hone's device code cannot use all shared memory", ErrorCode::kUnavailable);
  }
  return {};
}

Result<void> Utilities::launch(KernelHandle kernel, StreamHandle stream, std::size_t count, void** parameters, std::size_t rows) {
  const auto blocks = static_cast<unsigned int>(std::clamp<std::size_t>((count + kBlock - 1) / kBlock, 1, most_blocks_));
  // A kernel may be passed where a function is expected; the stream's context decides where it runs.
  const Status status = context_->api().launch_kernel(reinterpret_cast<FunctionHandle>(kernel), blocks, static_cast<unsigned int>(rows), 1,
                                                      kBlock, 1, 1, 0, stream, parameters, nullptr);
  if (status != status::kSuccess) {
    return driver_error(context_->api(), status, "the device's own code cannot be launched");
  }
  return {};
}

Result<void> Utilities::reset(StreamHandle stream) {
  static const Summary empty_summary{};  // outlives the copy
  if (const Status status = context_->api().memcpy_htod_async(summary_, &empty_summary, sizeof(Summary), stream);
      status != status::kSuccess) {
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
  if (absolute_rms != 0.0) {
    HONE_TRY(launch(squares_, stream, count, squares.data()));
  }
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

Result<Address> Utilities::room(Address& memory, std::size_t& capacity, std::size_t bytes) {
  if (bytes > capacity) {
    const DriverApi& api = context_->api();
    if (memory != 0) {
      api.mem_free(memory);
      memory = 0;
      capacity = 0;
    }
    if (const Status status = api.mem_alloc(&memory, bytes); status != status::kSuccess) {
      return driver_error(api, status, "no memory for the device's own results", ErrorCode::kUnavailable);
    }
    capacity = bytes;
  }
  return memory;
}

// The regions of one launch are of about one size: blocks of small ones would wait for those of the large.
Result<std::vector<std::uint64_t>> Utilities::checksums(StreamHandle stream, std::span<const Region> regions) {
  constexpr std::size_t kMostInLaunch = 128, kSmall = std::size_t{1} << 20, kWordsPerThread = 8;
  struct Summed {
    const void* address = nullptr;
    std::uint64_t bytes = 0, index = 0;
  };
  std::vector<std::uint64_t> sums(regions.size());
  if (regions.empty()) {
    return sums;
  }
  const DriverApi& api = context_->api();
  HONE_ASSIGN(Address on_device, room(sums_, sums_bytes_, sums.size() * sizeof(std::uint64_t)));
  Status status = api.memset_d8_async(on_device, 0, sums.size() * sizeof(std::uint64_t), stream);
  std::array<Summed, kMostInLaunch> batch{};
  std::size_t in_batch = 0, largest = 0;
  const auto flush = [&]() -> Result<void> {
    std::array<void*, 2> parameters{batch.data(), &on_device};
    const std::size_t rows = std::exchange(in_batch, 0), words = (std::exchange(largest, 0) + 7) / 8;
    return rows == 0 ? Result<void>() : launch(checksums_, stream, words / kWordsPerThread, parameters.data(), rows);
  };
  const auto add = [&](std::size_t i) -> Result<void> {
    batch[in_batch++] = {regions[i].address, regions[i].bytes, i};
    largest = std::max(largest, regions[i].bytes);
    return in_batch == kMostInLaunch || regions[i].bytes > kSmall ? flush() : Result<void>();
  };
  for (const bool small : {true, false}) {
    for (std::size_t i = 0; i < regions.size(); ++i) {
      if ((regions[i].bytes <= kSmall) == small) {
        HONE_TRY(add(i));
      }
    }
    HONE_TRY(flush());
  }
  status = status == status::kSuccess ? api.memcpy_dtoh_async(sums.data(), on_device, sums.size() * sizeof(std::uint64_t), stream) : status;
  status = status == status::kSuccess ? api.stream_synchronize(stream) : status;
  return status == status::kSuccess ? Result<std::vector<std::uint64_t>>(std::move(sums))
                                    : driver_error(api, status, "the device's results cannot be read");
}

Result<double> Utilities::root_mean_square(StreamHandle stream, const double* values, std::size_t count) {
  std::uint64_t elements = count;
  std::array<void*, 3> squares{&values, &elements, &summary_};
  HONE_TRY(reset(stream));
  HONE_TRY(launch(squares_, stream, count, squares.data()));
  HONE_ASSIGN(const Summary summary, read(stream));
  return summary.finite == 0 ? 0.0 : std::sqrt(summary.squares / static_cast<double>(summary.finite));
}

Result<void> Utilities::set_watches(StreamHandle stream, std::span<const Watch> watches) {
  std::vector<WatchLayout> laid_out;
  most_watched_ = 0;
  for (const Watch& watch : watches) {
    laid_out.push_back({watch.address, watch.expected, watch.count, watch.relative, watch.absolute, static_cast<int>(watch.element),
                        watch.spoiled ? 1 : 0});
    most_watched_ = std::max(most_watched_, watch.count);
  }
  watch_count_ = watches.size();
  const std::size_t bytes = laid_out.size() * sizeof(WatchLayout);
  if (bytes == 0) {
    return {};
  }
  HONE_ASSIGN(const Address on_device, room(watches_, watches_bytes_, bytes));
  const DriverApi& api = context_->api();
  Status status = api.memcpy_htod_async(on_device, laid_out.data(), bytes, stream);
  status = status == status::kSuccess ? api.memset_d8_async(unmended_count_, 0, sizeof(std::uint64_t), stream) : status;
  status = status == status::kSuccess ? api.stream_synchronize(stream) : status;  // the source is this function's own
  return status == status::kSuccess ? Result<void>() : driver_error(api, status, "Hone's device code cannot be given its work");
}

Result<void> Utilities::at_spots(KernelHandle kernel, StreamHandle stream, const Spots& spots, void** parameters) {
  return watch_count_ == 0 ? Result<void>() : launch(kernel, stream, std::min(most_watched_, spots.most), parameters, watch_count_);
}

Result<void> Utilities::spoil(StreamHandle stream, const Spots& spots) {
  std::uint64_t seed = spots.seed, most = spots.most;
  std::array<void*, 3> parameters{&watches_, &seed, &most};
  return at_spots(spoil_, stream, spots, parameters.data());
}

Result<void> Utilities::count_unmended(StreamHandle stream, const Spots& spots) {
  std::uint64_t seed = spots.seed, most = spots.most;
  std::array<void*, 4> parameters{&watches_, &seed, &most, &unmended_count_};
  return at_spots(unmended_, stream, spots, parameters.data());
}

Result<std::uint64_t> Utilities::take_unmended(StreamHandle stream) {
  if (watch_count_ == 0) {
    return std::uint64_t{0};
  }
  std::uint64_t count = 0;
  const DriverApi& api = context_->api();
  Status status = api.memcpy_dtoh_async(&count, unmended_count_, sizeof count, stream);
  status = status == status::kSuccess ? api.memset_d8_async(unmended_count_, 0, sizeof count, stream) : status;
  status = status == status::kSuccess ? api.stream_synchronize(stream) : status;
  return status == status::kSuccess ? Result<std::uint64_t>(count) : driver_error(api, status, "the device's results cannot be read");
}

Result<void> Utilities::paint_shared(StreamHandle stream, std::uint8_t pattern) {
  constexpr unsigned int kThreads = 1024;
  unsigned int word = pattern * 0x01010101U;
  int words = static_cast<int>(shared_bytes_ / sizeof word);
  std::array<void*, 2> parameters{&word, &words};
  // A block takes all that one can have, so each multiprocessor gets one; twice as many, for it is not promised that they spread.
  const Status status =
      context_->api().launch_kernel(reinterpret_cast<FunctionHandle>(paint_shared_), static_cast<unsigned int>(2 * multiprocessors_), 1, 1,
                                    kThreads, 1, 1, static_cast<unsigned int>(shared_bytes_), stream, parameters.data(), nullptr);
  return status == status::kSuccess ? Result<void>() : driver_error(context_->api(), status, "the device's own code cannot be launched");
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
