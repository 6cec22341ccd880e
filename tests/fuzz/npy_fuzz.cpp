// Arrays of .npy files.

#include "engine/measure/npy.hpp"
#include "tests/fuzz/mutate.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto array = hone::measure::parse_npy({reinterpret_cast<const char*>(data), size}, "x.npy");
  if (!array) {
    hone::fuzz::require(array.error().message.starts_with("x.npy: "), "an error names the file");
    return 0;
  }
  std::size_t elements = 1;
  for (const std::int64_t extent : array->shape) {
    elements *= static_cast<std::size_t>(extent);
  }
  hone::fuzz::require(array->count() == elements, "an array has as many elements as its shape says");
  return 0;
}

/// Bytes as they are: the header is short, and mutations of it are what matters.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned /*seed*/) {
  return LLVMFuzzerMutate(data, size, max_size);
}
