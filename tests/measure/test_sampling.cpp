#include <doctest/doctest.h>

#include "engine/measure/sampling.hpp"

namespace hone {
namespace {

MeasureSettings sampling_settings() {
  MeasureSettings settings;
  settings.race_samples = 4;
  settings.minimum_samples = 8;
  settings.maximum_samples = 100;
  settings.maximum_seconds = 1.0;
  settings.target_relative_ci = 0.01;
  return settings;
}

/// Times that differ so much that no number of them is enough.
std::vector<double> scattered(int count) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    times.push_back(i % 2 == 0 ? 10.0 : 30.0);
  }
  return times;
}

TEST_CASE("the first batch of samples is that of a race") { CHECK(next_batch({{}}, sampling_settings(), 0.0) == 4); }

TEST_CASE("the number of samples doubles up to its limit while they vary") {
  CHECK(next_batch({scattered(4)}, sampling_settings(), 100.0) == 4);
  CHECK(next_batch({scattered(8)}, sampling_settings(), 200.0) == 8);
  CHECK(next_batch({scattered(96)}, sampling_settings(), 2000.0) == 4);
  CHECK(next_batch({scattered(100)}, sampling_settings(), 2000.0) == 0);
}

TEST_CASE("samples that agree are enough once there are as many as are needed for an interval") {
  CHECK(next_batch({std::vector<double>(4, 10.0)}, sampling_settings(), 100.0) == 4);
  CHECK(next_batch({std::vector<double>(8, 10.0)}, sampling_settings(), 100.0) == 0);
}

TEST_CASE("configurations that are timed together go on until all of them have converged") {
  CHECK(next_batch({std::vector<double>(8, 10.0), scattered(8)}, sampling_settings(), 500.0) == 8);
}

TEST_CASE("what was spent between samples counts") {
  CHECK(next_batch({scattered(8)}, sampling_settings(), 0.9e6) == 1);
  CHECK(next_batch({scattered(8)}, sampling_settings(), 1.1e6) == 0);
}

TEST_CASE("a race gets its samples however long they take") { CHECK(next_batch({scattered(3)}, sampling_settings(), 5e6) == 1); }

}  // namespace
}  // namespace hone
