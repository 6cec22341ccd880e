#include "tests/cpu/product_fixture.hpp"

using cpu_test::check_products;
using hone::DType;

TEST_CASE("attention equals its reference: causal, full and within a window, with shared heads, in both layouts") {
  const std::string base = "rows=8,lanes=4,vec=4,step=2";
  check_products("attention", DType::kBF16,
                 {
                     {"batch=2,heads=2,group=2,queries=37,keys=53,head=64", base},
                     {"batch=1,heads=3,group=1,queries=41,keys=41,head=32,causal=0,layout=2", base},
                     {"batch=1,heads=2,group=1,queries=70,keys=90,head=64,window=17", "rows=32,lanes=1,vec=8,step=4"},
                     {"batch=1,heads=1,group=2,queries=30,keys=70,head=64,causal=0,window=9,layout=2", "rows=4,lanes=8,vec=2,step=1"},
                 });
  check_products("attention", DType::kF32, {{"batch=1,heads=1,group=1,queries=33,keys=34,head=96", "rows=4,lanes=8,vec=4,step=8"}});
}

TEST_CASE(
    "attention of packed sequences equals its reference: lengths that differ, down to none, with and without queries that see no key") {
  const std::string packed = ",head=64,packed=1", base = "rows=8,lanes=4,vec=4,step=2";
  check_products("attention", DType::kBF16,
                 {
                     {"batch=3,heads=2,group=2,queries=100,keys=100,varied=70" + packed, base},
                     {"batch=9,heads=1,group=3,queries=90,keys=200,varied=100,causal=0" + packed, "rows=32,lanes=1,vec=8,step=4"},
                     {"batch=50,heads=2,group=1,queries=60,keys=75,varied=100" + packed, "rows=4,lanes=8,vec=2,step=1"},
                     {"batch=4,heads=1,group=2,queries=150,keys=90,varied=60" + packed, base},
                     {"batch=4,heads=1,group=1,queries=130,keys=110,varied=60,window=11" + packed, base},
                     {"batch=5,heads=1,group=1,queries=40,keys=3,varied=50,window=4,causal=0" + packed, "rows=8,lanes=4,vec=8,step=8"},
                     {"batch=1,heads=1,group=1,queries=33,keys=33" + packed, base},
                 });
}

TEST_CASE("the backward pass of attention equals its reference, of packed sequences and of values of another size, too") {
  const std::string base = "rows=8,lanes=4,vec=4,step=2";
  check_products(
      "attention_backward", DType::kBF16,
      {
          {"batch=2,heads=2,group=2,queries=17,keys=23,head=32", base},
          {"batch=1,heads=2,group=1,queries=30,keys=40,head=64,value_head=32,causal=0,window=9,layout=2", "rows=32,lanes=1,vec=8,step=1"},
          {"batch=1,heads=1,group=2,queries=30,keys=40,head=32,window=7", base},
          {"batch=5,heads=1,group=2,queries=40,keys=50,head=32,packed=1,varied=100", base},
          {"batch=4,heads=1,group=1,queries=40,keys=30,head=32,packed=1,varied=100,window=5,causal=0", base},
      });
  check_products("attention_backward", DType::kF32,
                 {{"batch=1,heads=1,group=1,queries=20,keys=20,head=32", "rows=4,lanes=8,vec=4,step=8"}});
}

TEST_CASE("decode equals its reference: pages of any size, lengths that differ, several queries, a contiguous cache") {
  check_products("decode", DType::kBF16,
                 {
                     {"sequences=3,heads=2,group=2,queries=2,longest=70,varied=80,page=16,head=64", "block=64,lanes=4,vec=8"},
                     {"sequences=2,heads=1,group=3,queries=1,longest=61,page=7,head=32", "block=128,lanes=2,vec=4"},
                     {"sequences=4,heads=2,group=1,queries=3,longest=33,varied=100,page=33,head=64", "block=32,lanes=32,vec=2"},
                 });
  check_products("decode", DType::kF32, {{"sequences=2,heads=1,group=2,queries=1,longest=20,page=4,head=64", "block=64,lanes=16,vec=4"}});
}

TEST_CASE("decode over a cache of 8-bit floats equals its reference: their head's scale is a factor of keys and values") {
  const std::vector<cpu_test::ProductCase> cases{
      {"sequences=3,heads=2,group=2,queries=2,longest=70,varied=80,page=16,head=64", "block=64,lanes=4,vec=4"},
      {"sequences=2,heads=3,group=1,queries=1,longest=61,page=7,head=32", "block=128,lanes=2,vec=1"},
  };
  for (const DType type : {DType::kBF16, DType::kF32}) check_products("decode", {{"T", type}, {"KV", DType::kE4M3}}, cases);
}

TEST_CASE("rope with append rotates q and k, copies v, and leaves other slots of the cache alone") {
  check_products("rope_append", DType::kBF16,
                 {
                     {"tokens=20,heads=2,group=3,positions=40,slots=30,head=64", "block=64,vec=8,items=4"},
                     {"tokens=9,heads=1,group=1,positions=3,slots=9,head=10", "block=64,vec=1,items=2"},
                 });
}
