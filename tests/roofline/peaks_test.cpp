#include "engine/roofline/peaks.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "engine/kernel/builtin_kernels.hpp"

namespace hone::roofline::test {
namespace {

Peak peak(std::string_view limit, double per_second) {
  const auto found = std::ranges::find(roofline::limits(), limit, &Limit::name);
  REQUIRE(found != roofline::limits().end());
  return {&*found, per_second, "kernel", "", ""};
}

}  // namespace

TEST_CASE("a kernel is limited by what alone would take longest") {
  const std::vector<Peak> peaks{peak("memory", 4e12), peak("f32", 50e12), peak("bf16", 800e12)};
  const auto memory = place(1e6, 4e6, DType::kF32, 2.0, peaks);
  REQUIRE(memory.has_value());
  CHECK(memory->peak.limit->name == "memory");
  CHECK(memory->least_us == doctest::Approx(1.0));
  CHECK(memory->share == doctest::Approx(0.5));
  CHECK(text(*memory) == "50.0 % of memory bandwidth (copy) (4 TB/s measured)");
  CHECK(place(1e9, 4e6, DType::kF32, 40.0, peaks)->peak.limit->name == "f32");
  CHECK(place(8e9, 4e6, DType::kBF16, 20.0, peaks)->peak.limit->name == "bf16");
  CHECK(place(8e9, 4e6, DType::kF64, 20.0, peaks)->peak.limit->name == "f32");
}

TEST_CASE("a peak is the highest that was measured, whichever record stands") {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("hone-peaks-test-{}.db", std::random_device()());
  DeviceInfo device;
  device.product = "GPU";
  for (const char* const property : {"multiprocessors", "threads_per_multiprocessor", "l2_bytes"}) {
    device.properties[property] = 1;
  }
  const KernelSpec& copy = **find_builtin_kernel("copy");
  const Problem problem = make_problem(copy, DTypes(DType::kF32), {{"n", 1 << 19}}).value();
  {
    const std::unique_ptr<Store> store = open_store(path, StoreMode::kReadWrite).value();
    std::optional<std::int64_t> standing;
    for (const auto& [product, us] : {std::pair("GPU", 10.0), std::pair("other", 1.0), std::pair("GPU", 20.0)}) {
      DeviceInfo measured = device;
      measured.product = product;
      const RecordKey key = record_key(copy, problem, measured);
      Record record;
      for (const Parameter& parameter : copy.parameters) {
        record.configuration.values.push_back(parameter.default_value);
      }
      record.measurement.median_us = us;
      record.session = store->begin_session({key, "random", "", 0}, "1trials").value();
      REQUIRE(store->finish_session(record.session, key, record, 1.0, standing).value());
      standing = store->find_record(record_key(copy, problem, device), copy.parameters).value()->id;
    }
    CHECK(store->find_record(record_key(copy, problem, device), copy.parameters).value()->measurement.median_us == 20.0);
    const auto peaks = find_peaks(device, *store);
    REQUIRE_MESSAGE(peaks.ok(), peaks.error().message);
    REQUIRE(peaks->size() == 1);
    CHECK(peaks->front().per_second == doctest::Approx(8.0 * (1 << 19) / 10.0 * 1e6));
    device.mig_profile = "1g.18gb";
    CHECK(find_peaks(device, *store)->empty());
  }
  std::filesystem::remove(path);
}

TEST_CASE("without a cost or a peak nothing is said") {
  const std::vector<Peak> peaks{peak("memory", 4e12)};
  CHECK_FALSE(place(0.0, 0.0, DType::kF32, 1.0, peaks));
  CHECK_FALSE(place(1e9, 0.0, DType::kF32, 1.0, peaks));
  CHECK_FALSE(place(1e9, 1e9, DType::kF32, 1.0, {}));
  CHECK(place(1e9, 1e6, DType::kF32, 1.0, peaks)->peak.limit->name == "memory");
}

}  // namespace hone::roofline::test
