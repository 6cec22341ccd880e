#pragma once
// Instructions that kernel_hopper.h and attention_wgmma lack.

#if defined(HONE_HOPPER)
/// Copies bytes, a multiple of 16, to shared memory and reports them to `barrier`.
HONE_DEVICE void bulk_load(hopper::u32 to, const void* from, int bytes, hopper::u32 barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier)
               : "memory");
}
/// Adds four numbers to device memory, each atomically.
HONE_DEVICE void add_four(float* to, float x, float y, float z, float w) {
  asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "f"(x), "f"(y), "f"(z), "f"(w)
               : "memory");
}

#define HONE_PRODUCT_32(type)                                                                                                            \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %18, 0;\nwgmma.mma_async.sync.aligned.m64n32k16.f32." type "." type                 \
               " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, %16, %17, add, 1, 1, 1, 1;\n}"                  \
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]), "+f"(sums[4]), "+f"(sums[5]), "+f"(sums[6]), "+f"(sums[7]), \
                 "+f"(sums[8]), "+f"(sums[9]), "+f"(sums[10]), "+f"(sums[11]), "+f"(sums[12]), "+f"(sums[13]), "+f"(sums[14]),           \
                 "+f"(sums[15])                                                                                                          \
               : "l"(a), "l"(b), "r"((int)accumulate))
/// sums[64 x n] (+)= a[64 x 16] b[16 x n], lines of a along its rows and of b along n: as hopper::wgmma, also for 32 columns.
template <class T, int n>
HONE_DEVICE void transposed_product(float (&sums)[n / 2], hopper::u64 a, hopper::u64 b, bool accumulate) {
  if constexpr (n != 32) {
    hopper::wgmma<T, n, true, true>(sums, a, b, accumulate);
  } else if constexpr (hopper::kSame<T, bf16>) {
    HONE_PRODUCT_32("bf16");
  } else {
    static_assert(hopper::kSame<T, f16>);
    HONE_PRODUCT_32("f16");
  }
}
#undef HONE_PRODUCT_32
#endif
