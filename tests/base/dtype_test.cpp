#include "hone/dtype.hpp"

#include <doctest/doctest.h>

#include <string>

namespace hone {

TEST_CASE("every dtype is read back from its name") {
  for (const DType dtype : all_dtypes()) {
    CHECK(parse_dtype(name(dtype)).value() == dtype);
    CHECK(size_of(dtype) > 0);
  }
}

TEST_CASE("epsilon is the distance from 1 to the next number") {
  CHECK(epsilon(DType::kF32) == 0x1p-23);
  CHECK(epsilon(DType::kF16) == 0x1p-10);
  CHECK(epsilon(DType::kBF16) == 0x1p-7);
}

TEST_CASE("a dtype under another tool's name is answered with its name here") {
  CHECK(parse_dtype("float16").error().message.find("'float16' is 'f16' here") == 0);
  CHECK(parse_dtype("bfloat16").error().message.find("'bf16'") != std::string::npos);
  CHECK(parse_dtype("fp32").error().message.find("did you mean 'f32'?") != std::string::npos);
}

TEST_CASE("an unknown dtype names the known ones") {
  const auto parsed = parse_dtype("fp16");
  REQUIRE_FALSE(parsed.ok());
  CHECK(parsed.error().code == ErrorCode::kInvalidArgument);
  CHECK(parsed.error().message == "unknown dtype 'fp16'; did you mean 'f16'? (known: f32, f16, bf16, f64, i32)");
}

}  // namespace hone
