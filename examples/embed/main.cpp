// Launches softmax as it was tuned: the configuration comes from the store, and so does the compiled code.
//   tuned_softmax STORE ROWS COLS [DEVICE]     e.g. tuned_softmax S.db 512 2048 cpu
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "hone/engine.hpp"

namespace {

hone::Result<void> softmax_once(const hone::EngineOptions& options, std::int64_t rows, std::int64_t cols) {
  HONE_ASSIGN(hone::Engine engine, hone::Engine::open(options));
  HONE_ASSIGN(const hone::Kernel softmax, engine.kernel("softmax", hone::DType::kF32, {{"rows", rows}, {"cols", cols}}));

  // An application with CUDA code of its own passes its own pointers and stream; this one uses Hone's.
  hone::Memory& memory = engine.memory();
  const auto count = static_cast<std::size_t>(rows * cols);
  std::vector<float> input(count);
  for (std::size_t i = 0; i < count; ++i) {
    input[i] = std::sin(static_cast<float>(i));
  }
  HONE_ASSIGN(const auto x, memory.allocate(count * sizeof(float)));
  HONE_ASSIGN(const auto y, memory.allocate(count * sizeof(float)));
  HONE_TRY(memory.upload(x->address(), std::as_bytes(std::span(input))));

  HONE_TRY(softmax.launch(nullptr, x->address(), y->address()));
  HONE_TRY(memory.synchronize());

  std::vector<float> row(static_cast<std::size_t>(cols));
  HONE_TRY(memory.download(std::as_writable_bytes(std::span(row)), y->address()));
  double sum = 0.0;
  for (const float value : row) {
    sum += value;
  }
  std::printf("{\"device\": \"%s\", \"source\": \"%s\", \"config\": \"%s\", \"row_sum\": %.6f}\n", engine.device_info().id.c_str(),
              std::string(hone::name(softmax.source())).c_str(), softmax.configuration_text().c_str(), sum);
  if (!(std::fabs(sum - 1.0) < 1e-3)) {
    return hone::Error{hone::ErrorCode::kDevice, "a row of a softmax sums to 1, this one does not"};
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    std::fputs("usage: tuned_softmax STORE ROWS COLS [DEVICE]\n", stderr);
    return 2;
  }
  const hone::EngineOptions options{.store = argv[1], .device = argc == 5 ? argv[4] : ""};
  if (const auto done = softmax_once(options, std::atoll(argv[2]), std::atoll(argv[3])); !done) {
    std::fprintf(stderr, "tuned_softmax: %s\n", done.error().message.c_str());
    return 1;
  }
  return 0;
}
