// A reference that takes the configuration: each is held against its own answer.
#include <doctest/doctest.h>

#include "tests/measure/fake_device.hpp"

using namespace hone;
using fake::Call;
using fake::FakeDevice;
using fake::FakeKernel;

namespace {

constexpr std::int64_t kAnswers = 1000;
const Problem kAnswered{DType::kF32, {{"n", kAnswers}}};

/// y[i] = x[i] for every split-th element, and zero elsewhere.
struct Sampling {
  Sampling() {
    spec = fake::spec_of({fake::argument("x", Direction::kIn, fake::n()), fake::argument("y", Direction::kOut, fake::n())});
    Parameter block;
    block.name = "block";
    block.values = {Value(32), Value(64)};
    block.default_value = Value(32);
    spec.parameters.push_back(block);
    spec.reference.front().fields = {0};
    device.reference = [this](const Call& call) {
      const long split = call.scalar<long>(static_cast<std::size_t>(spec.configured(0)));
      for (std::int64_t i = 0; i < kAnswers; ++i) {
        call.pointer<double>(1)[i] = i % split == 0 ? static_cast<double>(call.pointer<const float>(0)[i]) : 0.0;
      }
    };
    bench = std::move(Bench::create(device, spec, kAnswered, Compiled{})).value();
  }

  static FakeKernel kernel(std::int64_t split) {
    return FakeKernel([split](const Call& call) {
      for (std::int64_t i = 0; i < kAnswers; ++i) {
        call.pointer<float>(1)[i] = i % split == 0 ? call.pointer<const float>(0)[i] : 0.0F;
      }
    });
  }
  Outcome validate(const FakeKernel& kernel, int split, std::uint64_t seed = 7, int block = 32) const {
    return bench->validate(kernel, {{Value(split), Value(block)}}, seed)->outcome;
  }

  FakeDevice device;
  KernelSpec spec;
  std::unique_ptr<Bench> bench;
};

}  // namespace

TEST_CASE("a configuration is held against its own answer, and another one's is wrong") {
  Sampling sampling;
  CHECK(sampling.validate(Sampling::kernel(1), 1) == Outcome::kOk);
  CHECK(sampling.validate(Sampling::kernel(4), 4) == Outcome::kOk);
  CHECK(sampling.validate(Sampling::kernel(1), 4) == Outcome::kWrongResult);
  CHECK(sampling.validate(Sampling::kernel(4), 1) == Outcome::kWrongResult);
  CHECK(sampling.validate(Sampling::kernel(4), 4, 8) == Outcome::kOk);
}

TEST_CASE("the reference runs once for each set of values that it reads, and anew for other inputs") {
  Sampling sampling;
  for (int round = 0; round < 3; ++round) {
    for (const int split : {1, 4}) {
      for (const int block : {32, 64}) {
        CHECK(sampling.validate(Sampling::kernel(split), split, 7, block) == Outcome::kOk);
      }
    }
  }
  CHECK(sampling.device.references == 2);
  CHECK(sampling.validate(Sampling::kernel(1), 1, 8) == Outcome::kOk);
  CHECK(sampling.device.references == 3);
}

TEST_CASE("an answer that was written over is computed again") {
  Sampling sampling;
  CHECK(sampling.validate(Sampling::kernel(1), 1) == Outcome::kOk);
  double* answer = nullptr;
  const auto reference = sampling.device.reference;
  sampling.device.reference = [&](const Call& call) {
    reference(call);
    answer = call.pointer<double>(1);
  };
  CHECK(sampling.validate(Sampling::kernel(4), 4) == Outcome::kOk);
  REQUIRE(answer != nullptr);
  answer[0] += 1.0;
  CHECK(sampling.validate(Sampling::kernel(1), 1) == Outcome::kOk);
  CHECK(sampling.validate(Sampling::kernel(4), 4) == Outcome::kOk);
}

TEST_CASE("without memory for other answers each is computed when it is needed") {
  Sampling sampling;
  sampling.device.largest_allocation = 0;
  for (int round = 0; round < 2; ++round) {
    CHECK(sampling.validate(Sampling::kernel(1), 1) == Outcome::kOk);
    CHECK(sampling.validate(Sampling::kernel(4), 4) == Outcome::kOk);
  }
  CHECK(sampling.device.references == 4);
}

TEST_CASE("timed alone, repeated or in turns, each is looked at by its own answer") {
  Sampling sampling;
  const FakeKernel one = Sampling::kernel(1), four = Sampling::kernel(4);
  const Configuration at_one{{Value(1), Value(32)}}, at_four{{Value(4), Value(32)}};
  REQUIRE(sampling.validate(one, 1) == Outcome::kOk);
  Readings readings;
  CHECK(sampling.bench->time(four, at_four, {}, std::nullopt, readings)->validation.ok());
  CHECK_FALSE(sampling.bench->time(four, at_one, {}, std::nullopt, readings)->validation.ok());
  CHECK(sampling.bench->repeat(one, at_one, 4, 1.0)->ok());
  CHECK_FALSE(sampling.bench->repeat(one, at_four, 4, 1.0)->ok());
  const std::vector<Bench::Finalist> finalists{{&one, at_one}, {&four, at_four}, {&one, at_four}};
  const auto timed = sampling.bench->time_interleaved(finalists, {}, 1, readings);
  REQUIRE(timed.ok());
  CHECK(timed->at(0).validation.ok());
  CHECK(timed->at(1).validation.ok());
  CHECK_FALSE(timed->at(2).validation.ok());
}

TEST_CASE("of finalists that are timed as graphs of calls, each is looked at by its own answer too") {
  Sampling sampling;
  FakeKernel one = Sampling::kernel(1), four = Sampling::kernel(4), other = Sampling::kernel(1);
  one.time_us = four.time_us = other.time_us = [](int) { return 10.0; };
  const Configuration at_one{{Value(1), Value(32)}}, at_four{{Value(4), Value(32)}};
  REQUIRE(sampling.validate(one, 1) == Outcome::kOk);
  Readings readings;
  const std::vector<Bench::Finalist> finalists{{&one, at_one}, {&four, at_four}, {&one, at_one}, {&other, at_four}};
  const auto timed = sampling.bench->time_interleaved(finalists, {}, 1, readings);
  REQUIRE(timed.ok());
  CHECK_FALSE(sampling.device.graph_calls.empty());
  CHECK(timed->at(0).validation.ok());
  CHECK(timed->at(1).validation.ok());
  CHECK(timed->at(2).validation.ok());
  CHECK_FALSE(timed->at(3).validation.ok());
}

TEST_CASE("a reference that reads no field runs once for all configurations") {
  Sampling sampling;
  sampling.spec.reference.front().fields.clear();
  sampling.device.reference = [](const Call& call) { std::fill_n(call.pointer<double>(1), kAnswers, 0.0); };
  const auto bench = std::move(Bench::create(sampling.device, sampling.spec, kAnswered, Compiled{})).value();
  const FakeKernel zero([](const Call& call) { std::fill_n(call.pointer<float>(1), kAnswers, 0.0F); });
  for (const int split : {1, 4}) {
    CHECK(bench->validate(zero, {{Value(split), Value(32)}}, 7)->outcome == Outcome::kOk);
  }
  CHECK(sampling.device.references == 1);
}
