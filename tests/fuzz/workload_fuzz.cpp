// Workload files: what an application launches, and how often.

#include <array>

#include "engine/store/workload.hpp"
#include "tests/fuzz/mutate.hpp"

namespace {

using hone::fuzz::require;

constexpr std::array<std::string_view, 12> kWords{
    "hone_workload", "kernel", "dtype", "shape", "count", "time_us", "matmul", "softmax", "bf16", "rows", "{\"hone_workload\":1}\n", "\n"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto workload = hone::parse_workload(hone::fuzz::text_of(data, size), "x.jsonl");
  if (!workload) {
    require(workload.error().message.starts_with("x.jsonl:"), "an error names the file and the line");
    return 0;
  }
  for (const hone::WorkloadProblem& problem : *workload) {
    require(problem.count >= 1 && !problem.kernel.empty(), "a problem has a kernel and launches");
  }
  const std::string written = text(*workload);
  const auto again = hone::parse_workload(written, "y.jsonl");
  require(again.ok(), "what is written can be read", again ? "" : again.error().message);
  require(text(*again) == written, "and is the same then", written);
  return 0;
}

/// Lines of JSON, which mutations of one JSON value would not keep.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  hone::fuzz::Random random(seed);
  return hone::fuzz::mutate_bytes(random, kWords, data, size, max_size);
}
