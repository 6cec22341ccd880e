// The bound against simulated kernels: right ones of every summation order must pass, wrong ones must not.
#include <doctest/doctest.h>

#include <random>

#include "tests/measure/fake_device.hpp"

using namespace hone;

namespace {

/// The terms of one output.
using Terms = std::vector<float>;
using Sum = std::function<double(const Terms&)>;

float rounded(DType dtype, double value) {
  std::array<std::byte, 8> bytes{};
  measure::encode(dtype, value, bytes.data());
  return static_cast<float>(measure::decode(dtype, bytes.data()));
}

double in_order(const Terms& terms) {
  float sum = 0.0F;
  for (const float term : terms) {
    sum += term;
  }
  return static_cast<double>(sum);
}

/// Many threads' partial sums and a tree over them.
double by_threads(const Terms& terms) {
  std::array<float, 32> partial{};
  for (std::size_t i = 0; i < terms.size(); ++i) {
    partial[i % partial.size()] += terms[i];
  }
  for (std::size_t step = partial.size() / 2; step > 0; step /= 2) {
    for (std::size_t i = 0; i < step; ++i) {
      partial[i] += partial[i + step];
    }
  }
  return static_cast<double>(partial[0]);
}

/// A tensor core: groups of 16 are added exactly and the running sum is truncated to float.
double truncating(const Terms& terms) {
  double sum = 0.0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    sum += static_cast<double>(terms[i]);
    if (i % 16 == 15 || i + 1 == terms.size()) {
      const auto nearest = static_cast<float>(sum);
      const bool away = std::fabs(static_cast<double>(nearest)) > std::fabs(sum);
      sum = static_cast<double>(away ? std::nextafter(nearest, 0.0F) : nearest);
    }
  }
  return sum;
}

Sum accumulating_in(DType dtype) {
  return [dtype](const Terms& terms) {
    float sum = 0.0F;
    for (const float term : terms) {
      sum = rounded(dtype, static_cast<double>(sum + term));
    }
    return static_cast<double>(sum);
  };
}

double forgetting_the_last(const Terms& terms) { return in_order(Terms(terms.begin(), terms.end() - 1)); }

/// Holds the outputs of `sum` over `outputs` rows of `length` random products, rounded to `dtype`, against sums in double.
Comparison simulate(DType dtype, std::size_t length, std::size_t outputs, const Sum& sum) {
  std::mt19937_64 random(length);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  std::vector<std::byte> actual(outputs * size_of(dtype));
  std::vector<double> expected;
  Terms terms(length);
  for (std::size_t row = 0; row < outputs; ++row) {
    double exact = 0.0;
    for (float& term : terms) {
      term = rounded(dtype, static_cast<double>(uniform(random))) * rounded(dtype, static_cast<double>(uniform(random)));
      exact += static_cast<double>(term);
    }
    measure::encode(dtype, sum(terms), actual.data() + row * size_of(dtype));
    expected.push_back(exact);
  }
  fake::FakeDevice device;
  return *device.compare(actual.data(), dtype, expected.data(), outputs, tolerance(dtype, static_cast<double>(length)));
}

/// Rows of a softmax over `cols` random numbers: exp with a relative error of 4 units, the sum by `sum`, a division with 2 units.
Comparison simulate_softmax(DType dtype, std::size_t cols, std::size_t rows, const Sum& sum) {
  constexpr double kUnit = 0x1p-24;
  std::mt19937_64 random(cols);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::vector<std::byte> actual(rows * cols * size_of(dtype));
  std::vector<double> expected(rows * cols);
  for (std::size_t row = 0; row < rows; ++row) {
    Terms terms(cols);
    double exact = 0.0;
    for (std::size_t c = 0; c < cols; ++c) {
      const double x = static_cast<double>(rounded(dtype, uniform(random)));
      expected[row * cols + c] = std::exp(x - 1.0);
      exact += expected[row * cols + c];
      terms[c] = static_cast<float>(expected[row * cols + c] * (1.0 + 4.0 * kUnit * uniform(random)));
    }
    const double denominator = sum(terms);
    for (std::size_t c = 0; c < cols; ++c) {
      expected[row * cols + c] /= exact;
      const double quotient = static_cast<double>(terms[c]) / denominator * (1.0 + 2.0 * kUnit * uniform(random));
      measure::encode(dtype, quotient, actual.data() + (row * cols + c) * size_of(dtype));
    }
  }
  fake::FakeDevice device;
  return *device.compare(actual.data(), dtype, expected.data(), expected.size(), tolerance(dtype, static_cast<double>(cols)));
}

constexpr std::array<std::size_t, 6> kLengths{1, 2, 17, 256, 1024, 4096};
constexpr std::array<DType, 3> kFloats{DType::kF32, DType::kF16, DType::kBF16};

std::size_t outputs_for(std::size_t length) { return std::max<std::size_t>(200, std::min<std::size_t>(20000, 800000 / length)); }

}  // namespace

TEST_CASE("sums accumulated in float pass in every order, with room to spare") {
  for (const DType dtype : kFloats) {
    for (const std::size_t length : kLengths) {
      for (const auto& sum : {Sum(in_order), Sum(by_threads)}) {
        const Comparison result = simulate(dtype, length, outputs_for(length), sum);
        CAPTURE(name(dtype));
        CAPTURE(length);
        CHECK(result.mismatches == 0);
        // In narrow types the rounding of the result fills most of the bound, and cannot exceed its share.
        CHECK(result.max_error < (dtype == DType::kF32 ? 0.7 : 0.95));
      }
    }
  }
}

TEST_CASE("the truncating accumulation of tensor cores passes in the narrow types") {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (const std::size_t length : {16U, 1024U, 16384U}) {
      CAPTURE(name(dtype));
      CAPTURE(length);
      CHECK(simulate(dtype, length, outputs_for(length), truncating).mismatches == 0);
    }
  }
}

TEST_CASE("accumulating in the narrow type itself fails") {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (const std::size_t length : {17U, 256U, 4096U}) {
      CAPTURE(name(dtype));
      CAPTURE(length);
      CHECK(simulate(dtype, length, outputs_for(length), accumulating_in(dtype)).mismatches > 0);
    }
  }
}

TEST_CASE("terms rounded to 11 bits before a float sum (tf32) fail in f32") {
  const Sum tf32 = [](const Terms& terms) {
    Terms coarse = terms;
    for (float& term : coarse) {
      term = rounded(DType::kF16, static_cast<double>(term));
    }
    return in_order(coarse);
  };
  CHECK(simulate(DType::kF32, 4096, 200, tf32).mismatches > 0);
}

TEST_CASE("a sum that forgets one term of 4096 fails in nearly every element") {
  for (const DType dtype : kFloats) {
    CAPTURE(name(dtype));
    CHECK(simulate(dtype, 4096, 200, forgetting_the_last).mismatches > (dtype == DType::kBF16 ? 100 : 180));
  }
}

TEST_CASE("a softmax with fast exponentials passes, long rows of subnormal f16 results too") {
  for (const DType dtype : kFloats) {
    for (const std::size_t cols : {3U, 1000U, 4096U, 100000U}) {
      CAPTURE(name(dtype));
      CAPTURE(cols);
      CHECK(simulate_softmax(dtype, cols, cols > 10000 ? 1 : 8, in_order).mismatches == 0);
    }
  }
}

TEST_CASE("a softmax whose denominator lacks one term of 1000 fails") {
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    CAPTURE(name(dtype));
    CHECK(simulate_softmax(dtype, 1000, 50, forgetting_the_last).mismatches > 0);
  }
}

TEST_CASE("integers must be equal, doubles are held to double accumulation") {
  CHECK(tolerance(DType::kI32, 4096).relative == 0.0);
  CHECK(tolerance(DType::kI32, 4096).absolute_rms == 0.0);
  CHECK(simulate(DType::kF64, 4096, 50, in_order).mismatches > 0);
}

TEST_CASE("a length below one counts as one") { CHECK(tolerance(DType::kF32, 0.0).relative == tolerance(DType::kF32, 1.0).relative); }
