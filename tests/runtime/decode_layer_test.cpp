// The example of a decode loop, against the same layer in plain doubles.
#include <cmath>
#include <random>

#include "examples/decode_layer/layer.hpp"
#include "tests/runtime/engine_fixture.hpp"

namespace hone::test {
namespace {

using decode_layer::from_bf16;
using decode_layer::Numbers;
using decode_layer::Sizes;
using Vector = std::vector<double>;

constexpr Sizes kSizes{.sequences = 3, .heads = 2, .group = 2, .head = 32, .inner = 96, .longest = 12, .page = 4};

std::mt19937 source(1);

Numbers normal_numbers(std::int64_t count, double size) {
  std::normal_distribution<double> normal(0.0, size);
  Numbers numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    numbers.push_back(decode_layer::to_bf16(static_cast<float>(normal(source))));
  }
  return numbers;
}

Numbers matrix(std::int64_t to, std::int64_t from) { return normal_numbers(to * from, 1.0 / std::sqrt(static_cast<double>(from))); }

/// One sequence. Between two kernels numbers are rounded as arrays of bf16 round them.
class PlainLayer {
 public:
  PlainLayer(const decode_layer::Weights& weights, const std::vector<float>& angles) : weights_(weights), angles_(angles) {}

  Vector step(const Vector& hidden) {
    const Vector normed = normalized(hidden, weights_.attention_norm);
    const Vector q = rotated(product(normed, weights_.q));
    keys_.push_back(rotated(product(normed, weights_.k)));
    values_.push_back(product(normed, weights_.v));
    const Vector middle = sum(hidden, product(attended(q), weights_.out, false));
    const Vector inner = normalized(middle, weights_.mlp_norm);
    const Vector gate = product(inner, weights_.gate), up = product(inner, weights_.up);
    Vector gated;
    for (std::size_t i = 0; i < gate.size(); ++i) {
      gated.push_back(rounded(gate[i] / (1.0 + std::exp(-gate[i])) * up[i]));
    }
    return sum(middle, product(gated, weights_.down, false));
  }

 private:
  static double rounded(double x) { return static_cast<double>(from_bf16(decode_layer::to_bf16(static_cast<float>(x)))); }

  static Vector normalized(const Vector& x, const Numbers& weight) {
    double squares = 0.0;
    for (const double element : x) {
      squares += element * element;
    }
    const double scale = 1.0 / std::sqrt(squares / static_cast<double>(x.size()) + static_cast<double>(decode_layer::Layer::kEpsilon));
    Vector y;
    for (std::size_t i = 0; i < x.size(); ++i) {
      y.push_back(rounded(x[i] * scale * static_cast<double>(from_bf16(weight[i]))));
    }
    return y;
  }

  static Vector product(const Vector& x, const Numbers& weights, bool is_rounded = true) {
    Vector y(weights.size() / x.size());
    for (std::size_t row = 0; row < y.size(); ++row) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        y[row] += x[i] * static_cast<double>(from_bf16(weights[row * x.size() + i]));
      }
      y[row] = is_rounded ? rounded(y[row]) : y[row];
    }
    return y;
  }

  static Vector sum(const Vector& x, const Vector& y) {
    Vector total;
    for (std::size_t i = 0; i < x.size(); ++i) {
      total.push_back(rounded(x[i] + y[i]));
    }
    return total;
  }

  /// By the angles of the token after those in values_.
  [[nodiscard]] Vector rotated(const Vector& x) const {
    const std::size_t head = kSizes.head, half = head / 2;
    const float* const angle = angles_.data() + values_.size() * head;
    Vector y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t e = i % head, pair = e % half;
      const double cosine = static_cast<double>(angle[pair]), sine = static_cast<double>(angle[half + pair]);
      y[i] = rounded(e < half ? x[i] * cosine - x[i + half] * sine : x[i] * cosine + x[i - half] * sine);
    }
    return y;
  }

  [[nodiscard]] Vector attended(const Vector& q) const {
    const std::size_t head = kSizes.head;
    Vector out(q.size());
    for (std::size_t first = 0; first < q.size(); first += head) {
      const std::size_t shared = first / head / kSizes.group * head;  // where the head's keys are
      Vector weights;
      double total = 0.0;
      for (const Vector& key : keys_) {
        double score = 0.0;
        for (std::size_t e = 0; e < head; ++e) {
          score += q[first + e] * key[shared + e];
        }
        weights.push_back(std::exp(score / std::sqrt(static_cast<double>(head))));
        total += weights.back();
      }
      for (std::size_t e = 0; e < head; ++e) {
        for (std::size_t token = 0; token < keys_.size(); ++token) {
          out[first + e] += weights[token] / total * values_[token][shared + e];
        }
        out[first + e] = rounded(out[first + e]);
      }
    }
    return out;
  }

  const decode_layer::Weights& weights_;
  const std::vector<float>& angles_;
  std::vector<Vector> keys_, values_;
};

}  // namespace

TEST_CASE("the example's layer decodes as the same layer in plain doubles does, until its cache is full") {
  const Sizes& s = kSizes;
  const decode_layer::Weights weights{.attention_norm = normal_numbers(s.width(), 1.0),
                                      .q = matrix(s.q_width(), s.width()),
                                      .k = matrix(s.k_width(), s.width()),
                                      .v = matrix(s.k_width(), s.width()),
                                      .out = matrix(s.width(), s.q_width()),
                                      .mlp_norm = normal_numbers(s.width(), 1.0),
                                      .gate = matrix(s.inner, s.width()),
                                      .up = matrix(s.inner, s.width()),
                                      .down = matrix(s.width(), s.inner)};
  const std::vector<float> angles = decode_layer::angles(s);
  Engine engine = cpu_engine();
  auto made = decode_layer::Layer::make(engine, s, weights, angles, HONE_SOURCE_DIR "/examples/decode_layer/gated.cu");
  REQUIRE_MESSAGE(made.ok(), made.error().message);
  decode_layer::Layer layer = std::move(made).value();
  std::vector<PlainLayer> plain(static_cast<std::size_t>(s.sequences), PlainLayer(weights, angles));
  const auto width = static_cast<std::size_t>(s.width());
  for (std::int64_t step = 0; step < s.longest; ++step) {
    CAPTURE(step);
    const Numbers hidden = normal_numbers(s.sequences * s.width(), 1.0);
    const auto got = layer.step(hidden);
    REQUIRE_MESSAGE(got.ok(), got.error().message);
    double difference = 0.0, size = 0.0;
    for (std::size_t sequence = 0; sequence < plain.size(); ++sequence) {
      Vector token;
      for (std::size_t i = 0; i < width; ++i) {
        token.push_back(static_cast<double>(from_bf16(hidden[sequence * width + i])));
      }
      const Vector expected = plain[sequence].step(token);
      for (std::size_t i = 0; i < width; ++i) {
        const double off = static_cast<double>(from_bf16((*got)[sequence * width + i])) - expected[i];
        difference += off * off;
        size += expected[i] * expected[i];
      }
    }
    CHECK(std::sqrt(difference / size) < 0.01);
  }
  CHECK(layer.step(normal_numbers(s.sequences * s.width(), 1.0)).error().message == "the cache is full");
}

}  // namespace hone::test
