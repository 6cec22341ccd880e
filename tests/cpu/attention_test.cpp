#include "tests/cpu/product_fixture.hpp"

using cpu_test::check_products;

TEST_CASE("attention equals its reference: causal, full and within a window, with shared heads, in both layouts") {
  const std::string base = "rows=8,lanes=4,vec=4,step=2";
  check_products("attention", hone::DType::kBF16,
                 {
                     {"batch=2,heads=2,group=2,queries=37,keys=53,head=64", base},
                     {"batch=1,heads=3,group=1,queries=41,keys=41,head=32,causal=0,layout=2", base},
                     {"batch=1,heads=2,group=1,queries=70,keys=90,head=64,window=17", "rows=32,lanes=1,vec=8,step=4"},
                     {"batch=1,heads=1,group=2,queries=30,keys=70,head=64,causal=0,window=9,layout=2", "rows=4,lanes=8,vec=2,step=1"},
                 });
  check_products("attention", hone::DType::kF32, {{"batch=1,heads=1,group=1,queries=33,keys=34,head=96", "rows=4,lanes=8,vec=4,step=8"}});
}
