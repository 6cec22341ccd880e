#include <array>
#include <utility>

#include "tests/cpu/product_fixture.hpp"

using cpu_test::check_products;

namespace {

/// A small tile with narrow accesses, valid for every shape, but for what `given` says.
std::string small(const std::string& given) {
  constexpr std::array<std::pair<const char*, const char*>, 8> kBase{
      {{"bn", "64"}, {"tm", "8"}, {"tn", "4"}, {"lanes", "8"}, {"vec", "1"}, {"async", "false"}, {"stream_k", "true"}, {"residency", "2"}}};
  std::string all = given;
  for (const auto& [name, value] : kBase) {
    const std::string key = std::string(name) + "=";
    if (("," + given).find("," + key) == std::string::npos) {
      all += (all.empty() ? "" : ",") + key + value;
    }
  }
  return all;
}

}  // namespace

TEST_CASE("gemm equals its reference in every layout, with aligned and ragged shapes") {
  check_products("gemm", hone::DType::kF32,
                 {
                     {"m=64,n=64,k=64", small("vec=4,async=true,stages=3,stream_k=false")},
                     {"m=67,n=35,k=129", small("")},
                     {"m=67,n=35,k=129,layout=2", small("async=true")},
                     {"m=67,n=35,k=132,layout=2", small("")},  // whose reference reads words
                     {"m=68,n=36,k=129,layout=3", small("vec=4,bk=16")},
                     {"m=67,n=70,k=133", small("tn=8,bk=32,async=true,stream_k=false")},  // a step of two chunks
                     {"m=67,n=36,k=52,layout=4", small("bm=32,bn=32,tm=4,stages=1,stream_k=false")},
                 });
}

// The cpu device has as many multiprocessors as the machine has cores: with two, the first case has whole rounds and a rest that is dealt
// out, the last one has dealt parts alone.
TEST_CASE("gemm's ways to share work give the reference's answer") {
  check_products(
      "gemm", hone::DType::kF32,
      {
          {"m=300,n=50,k=133", small("residency=1,skip=true")},
          {"m=67,n=35,k=129", small("bk=16,slices=2,async=true,stream_k=false")},
          {"m=67,n=35,k=129", small("vec=4,pad=true,async=true,stream_k=false")},
          {"m=180,n=51,k=134", small("residency=2,bk=16,slices=2,vec=2,pad=true")},
          {"m=40,n=36,k=1003", small("residency=8,vec=4,async=true,read_on=true")},   // one tile, more parts than words are on their way
          {"m=100,n=132,k=517", small("residency=8,vec=4,async=true,read_on=true")},  // six tiles, each of as many parts
          {"m=70,n=12,k=45", small("vec=4,async=true,stages=3,stream_k=false,read_on=true")},  // tiles that reach across several lines of b
      });
}

TEST_CASE("gemm adds its terms and applies its activation, in the whole tile and in the sum of parts") {
  check_products("gemm", hone::DType::kF32,
                 {
                     {"m=67,n=35,k=29,terms=2,activation=2", small("")},
                     {"m=300,n=50,k=133,terms=3,activation=3", small("residency=3")},
                     {"m=67,n=35,k=29,terms=4,activation=4", small("stream_k=false")},
                 });
}

TEST_CASE("gemm converts narrow types") {
  check_products(
      "gemm", hone::DType::kBF16,
      {{"m=67,n=40,k=136", small("vec=8,bk=16")}, {"m=67,n=35,k=136,layout=2", small("")}, {"m=33,n=35,k=67,layout=4", small("")}});
}
