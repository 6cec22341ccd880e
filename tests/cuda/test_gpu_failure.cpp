// Alone in its binary: after a fault nothing on the device works in this process any more.
#include <bit>

#include "gpu.hpp"

using namespace test;

TEST_CASE_FIXTURE(Gpu, "an illegal access is kDevice, names itself, and stays") {
  PassLaunch pass;
  pass.block[0] = 32;
  pass.arguments = {0};
  const auto loaded = load("template <Config c> KERNEL void k(int* y) { y[threadIdx.x] = 1; }", pass);
  REQUIRE_MESSAGE(loaded.ok(), loaded.error().message);
  const auto buffer = allocate(64);
  void* nowhere = std::bit_cast<void*>(std::uintptr_t{1} << 44);
  require((*loaded)->launch(nullptr, std::array<void*, 1>{&nowhere}));
  const auto ran = device->synchronize();
  REQUIRE_FALSE(ran.ok());
  CHECK(ran.error().code == ErrorCode::kDevice);
  CHECK(ran.error().message.find("CUDA_ERROR_ILLEGAL_ADDRESS") != std::string::npos);
  const auto later = device->fill(buffer->address(), 64, 0);
  REQUIRE_FALSE(later.ok());
  CHECK(later.error().code == ErrorCode::kDevice);
  void* to = buffer->address();
  const auto relaunched = (*loaded)->launch(nullptr, std::array<void*, 1>{&to});
  REQUIRE_FALSE(relaunched.ok());
  CHECK(relaunched.error().code == ErrorCode::kDevice);
}
