#include "hone/dtypes.hpp"

#include <doctest/doctest.h>

#include <string>

namespace hone {

TEST_CASE("dtypes are read back from their name, alone and by type parameter") {
  const DTypes one = DType::kBF16, two{{"In", DType::kE4M3}, {"Out", DType::kBF16}};
  CHECK(name(one) == "bf16");
  CHECK(name(two) == "In=e4m3,Out=bf16");
  CHECK(parse_dtypes(name(one)).value() == one);
  CHECK(parse_dtypes(name(two)).value() == two);
  CHECK(type_arguments(one) == "bf16");
  CHECK(type_arguments(two) == "e4m3, bf16");
  CHECK(two[1] == DType::kBF16);
  CHECK(two.first() == DType::kE4M3);
}

TEST_CASE("what is no dtype, or has none behind its name, is an error that says so") {
  CHECK(parse_dtypes("In=e4m3,bf16").error().message.find("'bf16' is not of the form name=type") != std::string::npos);
  CHECK(parse_dtypes("In=fp9").error().message.find("unknown dtype 'fp9'") != std::string::npos);
  CHECK(parse_dtypes("").error().message.find("unknown dtype ''") != std::string::npos);
  CHECK(parse_dtypes("=f32").error().message.find("not of the form") != std::string::npos);
}

}  // namespace hone
