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

TEST_CASE("integers are compared exactly, and the range of each is that of its C++ type") {
  CHECK(is_integer(DType::kU64));
  CHECK(is_integer(DType::kBool));
  CHECK(is_integer(DType::kI4x2));
  CHECK_FALSE(is_integer(DType::kE4M3));
  CHECK(range_of(DType::kI8).least == -128.0);
  CHECK(range_of(DType::kU32).most == 4294967295.0);
  CHECK(range_of(DType::kE4M3).most == 448.0);
  CHECK(range_of(DType::kE5M2).most == 57344.0);
  CHECK(size_of(DType::kU4x2) == 1);
  CHECK(parse_dtype("int8").error().message.find("'int8' is 'i8' here") == 0);
}

TEST_CASE("an unknown dtype names the known ones") {
  const auto parsed = parse_dtype("fp16");
  REQUIRE_FALSE(parsed.ok());
  CHECK(parsed.error().code == ErrorCode::kInvalidArgument);
  CHECK(parsed.error().message ==
        "unknown dtype 'fp16'; did you mean 'f16'? (known: f32, f16, bf16, f64, i32, i8, u8, i16, u16, "
        "u32, i64, u64, bool, e4m3, e5m2, i4x2, u4x2)");
}

}  // namespace hone
