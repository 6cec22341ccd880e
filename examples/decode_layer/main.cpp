// Decodes with one layer of a transformer, on what Hone serves.
//   decode_layer GATED STEPS [DEVICE [STORE]]     e.g. decode_layer gated.cu 20 cpu
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "layer.hpp"

namespace {

using decode_layer::Numbers;

Numbers random_numbers(std::mt19937& random, std::int64_t count, float size) {
  std::normal_distribution<float> normal(0.0F, size);
  Numbers numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    numbers.push_back(decode_layer::to_bf16(normal(random)));
  }
  return numbers;
}

decode_layer::Weights random_weights(std::mt19937& random, const decode_layer::Sizes& s) {
  const auto matrix = [&](std::int64_t to, std::int64_t from) {
    return random_numbers(random, to * from, 1.0F / std::sqrt(static_cast<float>(from)));
  };
  const Numbers ones(static_cast<std::size_t>(s.width()), decode_layer::to_bf16(1.0F));
  return {.attention_norm = ones,
          .q = matrix(s.q_width(), s.width()),
          .k = matrix(s.k_width(), s.width()),
          .v = matrix(s.k_width(), s.width()),
          .out = matrix(s.width(), s.q_width()),
          .mlp_norm = ones,
          .gate = matrix(s.inner, s.width()),
          .up = matrix(s.inner, s.width()),
          .down = matrix(s.width(), s.inner)};
}

hone::Result<void> decode(const std::string& gated, int steps, const hone::EngineOptions& options) {
  const decode_layer::Sizes sizes;
  std::mt19937 random(1);
  HONE_ASSIGN(hone::Engine engine, hone::Engine::open(options));
  HONE_ASSIGN(decode_layer::Layer layer,
              decode_layer::Layer::make(engine, sizes, random_weights(random, sizes), decode_layer::angles(sizes), gated));
  Numbers hidden = random_numbers(random, sizes.sequences * sizes.width(), 1.0F);
  const auto began = std::chrono::steady_clock::now();
  for (int step = 0; step < steps; ++step) {
    HONE_ASSIGN(hidden, layer.step(hidden));  // a model would sample a token here, and look its embedding up
  }
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  double squares = 0.0;
  for (const std::uint16_t number : hidden) {
    squares += static_cast<double>(decode_layer::from_bf16(number)) * static_cast<double>(decode_layer::from_bf16(number));
  }
  const double rms = std::sqrt(squares / static_cast<double>(hidden.size()));
  std::printf("{\"device\": \"%s\", \"steps\": %d, \"ms_per_step\": %.3f, \"rms\": %.4f}\n", engine.device_info().id.c_str(), steps,
              took.count() / steps, rms);
  if (!std::isfinite(rms)) {
    return hone::Error{hone::ErrorCode::kDevice, "the hidden state is not finite"};
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 2 ? std::atoi(argv[2]) : 0;
  if (argc < 3 || argc > 5 || steps < 1) {
    std::fputs("usage: decode_layer GATED STEPS [DEVICE [STORE]]\n", stderr);
    return 2;
  }
  if (const auto done = decode(argv[1], steps, {.store = argc > 4 ? argv[4] : "", .device = argc > 3 ? argv[3] : ""}); !done) {
    std::fprintf(stderr, "decode_layer: %s\n", done.error().message.c_str());
    return 1;
  }
  return 0;
}
