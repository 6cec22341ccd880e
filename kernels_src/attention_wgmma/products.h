#pragma once
// The two products of attention, of any width that the kernel has: scores from shared memory, and sums whose left operand is in registers.

#if defined(HONE_HOPPER)
// The operands of the instruction: HONE_NAMES_40 is "%0, ... %39", HONE_SUMS_40 its 40 sums. Each list goes on where a shorter one ends.
#define HONE_NAMES_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define HONE_NAMES_32 \
  HONE_NAMES_16       \
  ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define HONE_NAMES_40 HONE_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define HONE_NAMES_48 HONE_NAMES_40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define HONE_NAMES_56 HONE_NAMES_48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define HONE_NAMES_64 HONE_NAMES_56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define HONE_NAMES_72 HONE_NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define HONE_NAMES_80 HONE_NAMES_72 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define HONE_NAMES_88 HONE_NAMES_80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define HONE_NAMES_96 HONE_NAMES_88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define HONE_NAMES_104 HONE_NAMES_96 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define HONE_NAMES_112 HONE_NAMES_104 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define HONE_NAMES_120 HONE_NAMES_112 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define HONE_NAMES_128 HONE_NAMES_120 ", %120, %121, %122, %123, %124, %125, %126, %127"
#define HONE_FOUR(i) "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3])
#define HONE_EIGHT(i) HONE_FOUR(i), HONE_FOUR(i + 4)
#define HONE_SUMS_16 HONE_EIGHT(0), HONE_EIGHT(8)
#define HONE_SUMS_32 HONE_SUMS_16, HONE_EIGHT(16), HONE_EIGHT(24)
#define HONE_SUMS_40 HONE_SUMS_32, HONE_EIGHT(32)
#define HONE_SUMS_48 HONE_SUMS_40, HONE_EIGHT(40)
#define HONE_SUMS_56 HONE_SUMS_48, HONE_EIGHT(48)
#define HONE_SUMS_64 HONE_SUMS_56, HONE_EIGHT(56)
#define HONE_SUMS_72 HONE_SUMS_64, HONE_EIGHT(64)
#define HONE_SUMS_80 HONE_SUMS_72, HONE_EIGHT(72)
#define HONE_SUMS_88 HONE_SUMS_80, HONE_EIGHT(80)
#define HONE_SUMS_96 HONE_SUMS_88, HONE_EIGHT(88)
#define HONE_SUMS_104 HONE_SUMS_96, HONE_EIGHT(96)
#define HONE_SUMS_112 HONE_SUMS_104, HONE_EIGHT(104)
#define HONE_SUMS_120 HONE_SUMS_112, HONE_EIGHT(112)
#define HONE_SUMS_128 HONE_SUMS_120, HONE_EIGHT(120)
// `type` is "k16.f32.bf16.bf16", `flags` what follows it; A0 to A6 are the numbers of the operands behind the sums.
#define HONE_SCORES(n, type, flags, count, A0, A1, A2)                                                                                \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" #A2 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n type " {" HONE_NAMES_##count \
               "}, %" #A0 ", %" #A1 ", add, " flags ";\n}"                                                                            \
               : HONE_SUMS_##count                                                                                                    \
               : "l"(a), "l"(b), "r"((int)accumulate))
#define HONE_ADDED(n, type, flags, count, A0, A1, A2, A3, A4, A5)                                                                     \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" #A5 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n type " {" HONE_NAMES_##count \
               "}, {%" #A0 ", %" #A1 ", %" #A2 ", %" #A3 "}, %" #A4 ", add, " flags ";\n}"                                            \
               : HONE_SUMS_##count                                                                                                    \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)accumulate))
#define HONE_SCORES_OF(type, flags)                    \
  if constexpr (n == 64) {                             \
    HONE_SCORES(64, type, flags, 32, 32, 33, 34);      \
  } else if constexpr (n == 80) {                      \
    HONE_SCORES(80, type, flags, 40, 40, 41, 42);      \
  } else if constexpr (n == 96) {                      \
    HONE_SCORES(96, type, flags, 48, 48, 49, 50);      \
  } else if constexpr (n == 112) {                     \
    HONE_SCORES(112, type, flags, 56, 56, 57, 58);     \
  } else if constexpr (n == 128) {                     \
    HONE_SCORES(128, type, flags, 64, 64, 65, 66);     \
  } else if constexpr (n == 144) {                     \
    HONE_SCORES(144, type, flags, 72, 72, 73, 74);     \
  } else if constexpr (n == 160) {                     \
    HONE_SCORES(160, type, flags, 80, 80, 81, 82);     \
  } else if constexpr (n == 176) {                     \
    HONE_SCORES(176, type, flags, 88, 88, 89, 90);     \
  } else if constexpr (n == 192) {                     \
    HONE_SCORES(192, type, flags, 96, 96, 97, 98);     \
  } else if constexpr (n == 208) {                     \
    HONE_SCORES(208, type, flags, 104, 104, 105, 106); \
  } else if constexpr (n == 224) {                     \
    HONE_SCORES(224, type, flags, 112, 112, 113, 114); \
  } else if constexpr (n == 240) {                     \
    HONE_SCORES(240, type, flags, 120, 120, 121, 122); \
  } else {                                             \
    static_assert(n == 256);                           \
    HONE_SCORES(256, type, flags, 128, 128, 129, 130); \
  }
#define HONE_ADDED_OF(type, flags)                                   \
  if constexpr (n == 32) {                                           \
    HONE_ADDED(32, type, flags, 16, 16, 17, 18, 19, 20, 21);         \
  } else if constexpr (n == 64) {                                    \
    HONE_ADDED(64, type, flags, 32, 32, 33, 34, 35, 36, 37);         \
  } else if constexpr (n == 96) {                                    \
    HONE_ADDED(96, type, flags, 48, 48, 49, 50, 51, 52, 53);         \
  } else if constexpr (n == 128) {                                   \
    HONE_ADDED(128, type, flags, 64, 64, 65, 66, 67, 68, 69);        \
  } else if constexpr (n == 160) {                                   \
    HONE_ADDED(160, type, flags, 80, 80, 81, 82, 83, 84, 85);        \
  } else if constexpr (n == 192) {                                   \
    HONE_ADDED(192, type, flags, 96, 96, 97, 98, 99, 100, 101);      \
  } else if constexpr (n == 224) {                                   \
    HONE_ADDED(224, type, flags, 112, 112, 113, 114, 115, 116, 117); \
  } else {                                                           \
    static_assert(n == 256);                                         \
    HONE_ADDED(256, type, flags, 128, 128, 129, 130, 131, 132, 133); \
  }
/// sums[64 x n] (+)= a[64 x 16] b[16 x n], lines of both along k. As hopper::wgmma, for more widths. Of e4m3 there are 32 along k.
template <class T, int n>
HONE_DEVICE void scores_product(float (&sums)[n / 2], hopper::u64 a, hopper::u64 b, bool accumulate) {
  if constexpr (sizeof(T) == 1) {
    HONE_SCORES_OF("k32.f32.e4m3.e4m3", "1, 1")
  } else if constexpr (hopper::kSame<T, bf16>) {
    HONE_SCORES_OF("k16.f32.bf16.bf16", "1, 1, 0, 0")
  } else {
    static_assert(hopper::kSame<T, f16>);
    HONE_SCORES_OF("k16.f32.f16.f16", "1, 1, 0, 0")
  }
}
/// The same with a in registers, and lines of b along n: a as pairs of neighbouring sums of a product leave it. Of e4m3, fours of a's
/// numbers are in a register, and lines of b along k.
template <class T, int n>
HONE_DEVICE void weighted_sum(float (&sums)[n / 2], const hopper::u32* a, hopper::u64 b, bool accumulate) {
  if constexpr (sizeof(T) == 1) {
    HONE_ADDED_OF("k32.f32.e4m3.e4m3", "1, 1")
  } else if constexpr (hopper::kSame<T, bf16>) {
    HONE_ADDED_OF("k16.f32.bf16.bf16", "1, 1, 1")
  } else {
    static_assert(hopper::kSame<T, f16>);
    HONE_ADDED_OF("k16.f32.f16.f16", "1, 1, 1")
  }
}
#endif
