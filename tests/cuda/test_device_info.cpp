#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "plugins/cuda/compiler.hpp"
#include "plugins/cuda/device_info.hpp"
#include "test_kernels.hpp"
#include "tests/skip.hpp"

using namespace test;

TEST_CASE("the architecture carries the suffix from compute capability 9.0 on") {
  CHECK(hone::cuda::architecture_name(8, 0) == "sm_80");
  CHECK(hone::cuda::architecture_name(8, 9) == "sm_89");
  CHECK(hone::cuda::architecture_name(9, 0) == "sm_90a");
  CHECK(hone::cuda::architecture_name(10, 0) == "sm_100a");
  CHECK(hone::cuda::architecture_name(12, 1) == "sm_121a");
}

TEST_CASE("a MIG slice is told from the driver's name") {
  CHECK(hone::cuda::split_name("NVIDIA H200") == std::pair<std::string, std::string>("NVIDIA H200", ""));
  CHECK(hone::cuda::split_name("NVIDIA H200 MIG 1g.18gb") == std::pair<std::string, std::string>("NVIDIA H200", "1g.18gb"));
}

TEST_CASE("a client of MPS has a share, and a process without a daemon has none") {
  std::string name = (std::filesystem::temp_directory_path() / "hone_mps_XXXXXX").string();
  const std::filesystem::path directory = mkdtemp(name.data());
  CHECK(hone::cuda::mps_share(directory, nullptr).empty());
  CHECK(hone::cuda::mps_share(directory, "50").empty());  // a setting that nobody heeds
  std::ofstream(directory / "control");
  CHECK(hone::cuda::mps_share(directory, nullptr) == "mps");
  CHECK(hone::cuda::mps_share(directory, "50") == "mps:50");
  CHECK(hone::cuda::mps_share(directory, "12.5") == "mps:12.5");
  CHECK(hone::cuda::mps_share(directory, "100") == "mps");
  CHECK(hone::cuda::mps_share(directory, "half") == "mps");
  std::filesystem::remove_all(directory);
}

TEST_CASE("a machine without a driver says what is missing") {
  const auto devices = cuda_plugin().enumerate();
  if (devices.ok()) {
    hone::tests::skip("no_gpu", "this machine has a GPU");
    return;
  }
  CHECK(devices.error().code == ErrorCode::kUnavailable);
  CHECK(devices.error().message.find("NVIDIA driver") != std::string::npos);
  const auto opened = cuda_plugin().open(compile_target("sm_90a"));
  REQUIRE_FALSE(opened.ok());
  CHECK(opened.error().code == ErrorCode::kUnavailable);
}
