#include "tests/cpu/product_fixture.hpp"

using cpu_test::check_products;

TEST_CASE("gemv equals its reference in both layouts, with aligned and ragged lines") {
  check_products("gemv", hone::DType::kF32,
                 {
                     {"n=264,k=521", ""},
                     {"n=67,k=1031", "threads=128,lanes=8,bytes=8"},
                     {"n=67,k=1031,layout=2", ""},
                     {"n=129,k=520,layout=2", "threads=128,lanes=64,in_flight=1"},
                 });
}

TEST_CASE("gemv shares the sum over k among blocks") {
  check_products("gemv", hone::DType::kF32, {{"n=67,k=1031", "split=16,bytes=4"}, {"n=3,k=5000,layout=2", "split=8"}});
}

TEST_CASE("gemv adds its term, applies its activation and converts narrow types") {
  check_products("gemv", hone::DType::kBF16,
                 {
                     {"n=264,k=521,terms=2,activation=3", ""},
                     {"n=67,k=521,layout=2,terms=2,activation=4", "lanes=8,split=1"},
                     {"n=67,k=152,activation=2", "split=1"},
                     {"n=67,k=152,layout=3,terms=3", "split=8"},
                     {"n=67,k=152,layout=4,terms=4,activation=2", ""},
                 });
}
