#include "plugins/cpu/memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "hone/random.h"
#include "plugins/cpu/elements.hpp"
#include "plugins/cpu/sanitizer.hpp"

namespace hone::cpu {
namespace {

constexpr std::size_t kNoMansLand = std::size_t{16} << 20;  // on either side of a buffer; a multiple of every page size
constexpr std::size_t kAlignment = 256;                     // of a buffer that a sanitizer watches: as devices align theirs
constexpr std::int64_t kGrain = 1 << 14;
constexpr std::size_t kMostFlushBytes = std::size_t{64} << 20;

/// Memory between pages that nobody may touch: what goes far astray faults, instead of spoiling what the process needs.
class HostBuffer final : public Buffer {
 public:
  HostBuffer(std::byte* mapping, std::size_t mapped, std::size_t bytes) : mapping_(mapping), mapped_(mapped), bytes_(bytes) {}
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  ~HostBuffer() override { ::munmap(mapping_, mapped_); }
  [[nodiscard]] void* address() const override { return mapping_ + kNoMansLand; }
  [[nodiscard]] std::size_t bytes() const override { return bytes_; }

 private:
  std::byte* mapping_;
  std::size_t mapped_, bytes_;
};

/// Memory that AddressSanitizer watches to its last byte: nothing is added to it, and no mapping hides its ends.
class WatchedBuffer final : public Buffer {
 public:
  WatchedBuffer(void* address, std::size_t bytes) : address_(address), bytes_(bytes) {}
  WatchedBuffer(const WatchedBuffer&) = delete;
  WatchedBuffer& operator=(const WatchedBuffer&) = delete;
  ~WatchedBuffer() override { std::free(address_); }
  [[nodiscard]] void* address() const override { return address_; }
  [[nodiscard]] std::size_t bytes() const override { return bytes_; }

 private:
  void* address_;
  std::size_t bytes_;
};

Error out_of_memory(std::size_t bytes) {
  return Error{ErrorCode::kDevice, fmt::format("cpu: not enough memory for a buffer of {} bytes", bytes)};
}

double element(const void* from, DType dtype, std::size_t i) {
  return visit_elements(dtype, [&](auto elements) { return elements.get(from, i); });
}

/// |actual - expected| / allowed; above 1 is a mismatch. A NaN on either side never passes, an infinity only equals itself.
double relative_error(double actual, double expected, double absolute, double relative) {
  constexpr double kWorst = std::numeric_limits<double>::max();  // finite, so that it survives JSON
  if (std::isfinite(actual) && std::isfinite(expected)) {
    const double error = std::fabs(actual - expected), allowed = relative * std::fabs(expected) + absolute;
    return error == 0.0 ? 0.0 : allowed > 0.0 ? std::min(kWorst, error / allowed) : kWorst;
  }
  return actual == expected ? 0.0 : kWorst;
}

Comparison compare_range(const void* actual, DType dtype, const double* expected, std::size_t begin, std::size_t end, double absolute,
                         double relative) {
  Comparison result;
  for (std::size_t i = begin; i < end; ++i) {
    const double value = element(actual, dtype, i);
    const double error = relative_error(value, expected[i], absolute, relative);
    result.max_error = std::max(result.max_error, error);
    result.not_finite += !std::isfinite(value) && std::isfinite(expected[i]) ? 1 : 0;
    if (error > 1.0) {
      if (result.mismatches++ == 0) {
        result.first_mismatch = i;
        result.first_actual = value;
        result.first_expected = expected[i];
      }
    }
  }
  return result;
}

void merge(Comparison& into, const Comparison& part) {
  if (part.mismatches > 0 && (into.mismatches == 0 || part.first_mismatch < into.first_mismatch)) {
    into.first_mismatch = part.first_mismatch;
    into.first_actual = part.first_actual;
    into.first_expected = part.first_expected;
  }
  into.mismatches += part.mismatches;
  into.not_finite += part.not_finite;
  into.max_error = std::max(into.max_error, part.max_error);
}

void store(void* to, DType dtype, std::size_t i, double value) {
  visit_elements(dtype, [&](auto elements) { elements.set(to, i, value); });
}

}  // namespace

Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) {
  if (address_sanitizer_present()) {
    // Asked for more than it can ever have, the sanitizer ends the process instead of refusing.
    constexpr std::size_t kMostWatched = std::size_t{1} << 39;
    void* address = nullptr;
    if (bytes > kMostWatched || ::posix_memalign(&address, kAlignment, std::max<std::size_t>(1, bytes)) != 0) {
      return out_of_memory(bytes);
    }
    return std::unique_ptr<Buffer>(std::make_unique<WatchedBuffer>(address, bytes));
  }
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t rounded = std::max(page, (bytes + page - 1) / page * page);
  const std::size_t mapped = rounded + 2 * kNoMansLand;
  // Reserved whole, which costs addresses alone, and opened in its middle.
  void* const mapping =
      rounded < bytes ? MAP_FAILED : ::mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    return out_of_memory(bytes);
  }
  auto buffer = std::make_unique<HostBuffer>(static_cast<std::byte*>(mapping), mapped, bytes);
  if (::mprotect(buffer->address(), rounded, PROT_READ | PROT_WRITE) != 0) {
    return out_of_memory(bytes);
  }
  return std::unique_ptr<Buffer>(std::move(buffer));
}

void randomize(ThreadPool& pool, void* destination, DType dtype, std::size_t count, std::uint64_t seed) {
  visit_elements(dtype, [&](auto elements) {
    pool.parallel_for(static_cast<std::int64_t>(count), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        elements.set(destination, i, usual_element(elements, seed, i));
      }
    });
  });
}

double root_mean_square(const double* values, std::size_t count) {
  double sum = 0.0;
  std::size_t finite = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (std::isfinite(values[i])) {
      sum += values[i] * values[i];
      ++finite;
    }
  }
  return finite == 0 ? 0.0 : std::sqrt(sum / static_cast<double>(finite));
}

void spoil(std::span<const Watch> watches, const Spots& spots) {
  for (const Watch& watch : watches) {
    for (std::size_t k = 0; watch.spoiled && k < std::min(watch.count, spots.most); ++k) {
      const std::size_t i = spot(spots.seed, k, watch.count, spots.most);
      const double expected = watch.expected[i], other = watch.expected[random_bits(~spots.seed, i) % watch.count];
      const double allowed = watch.relative * std::fabs(expected) + watch.absolute;
      store(watch.address, watch.element, i, decoy(expected, other, allowed, range_of(watch.element).most));
    }
  }
}

std::uint64_t unmended(ThreadPool& pool, std::span<const Watch> watches, const Spots& spots) {
  std::atomic<std::uint64_t> wrong{0};
  for (const Watch& watch : watches) {
    pool.parallel_for(static_cast<std::int64_t>(std::min(watch.count, spots.most)), kGrain, [&](std::int64_t begin, std::int64_t end) {
      std::uint64_t of_part = 0;
      for (std::int64_t k = begin; k < end; ++k) {
        const std::size_t i = spot(spots.seed, static_cast<std::uint64_t>(k), watch.count, spots.most);
        of_part +=
            relative_error(element(watch.address, watch.element, i), watch.expected[i], watch.absolute, watch.relative) > 1.0 ? 1 : 0;
      }
      wrong.fetch_add(of_part, std::memory_order_relaxed);
    });
  }
  return wrong.load();
}

Comparison compare(ThreadPool& pool, const void* actual, DType dtype, const double* expected, std::size_t count, Tolerance tolerance) {
  const double absolute =
      tolerance.absolute + (tolerance.absolute_rms == 0.0 ? 0.0 : tolerance.absolute_rms * root_mean_square(expected, count));
  std::mutex mutex;
  Comparison total;
  total.elements = count;
  pool.parallel_for(static_cast<std::int64_t>(count), kGrain, [&](std::int64_t begin, std::int64_t end) {
    const Comparison part = compare_range(actual, dtype, expected, static_cast<std::size_t>(begin), static_cast<std::size_t>(end), absolute,
                                          tolerance.relative);
    const std::lock_guard lock(mutex);
    merge(total, part);
  });
  return total;
}

void CacheFlusher::flush(ThreadPool& pool, std::size_t last_level_bytes) {
  const std::size_t words = std::min(kMostFlushBytes, 2 * last_level_bytes) / sizeof(std::uint64_t);
  if (words_ == nullptr) {
    words_ = std::make_unique<std::uint64_t[]>(words);
  }
  // Written, so that the lines of other buffers are evicted and not merely shared; one word a line suffices.
  constexpr std::size_t kLine = 64 / sizeof(std::uint64_t);
  pool.parallel_for(static_cast<std::int64_t>(words), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); i += kLine) {
      ++words_[i];
    }
  });
}

}  // namespace hone::cpu
