#pragma once
// Products of the widths that hopper::wgmma lacks: 16 to 240 columns in steps of 16.

#if defined(HONE_HOPPER)
// The operands of the instruction: HONE_NAMES_40 is "%0, ... %39", HONE_SUMS_40 its 40 sums. Each list goes on where a shorter one ends.
#define HONE_NAMES_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define HONE_NAMES_16 HONE_NAMES_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define HONE_NAMES_24 HONE_NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define HONE_NAMES_40 HONE_NAMES_24 ", %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39"
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
#define HONE_EIGHT(i)                                                                                                              \
  "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3]), "+f"(sums[i + 4]), "+f"(sums[i + 5]), "+f"(sums[i + 6]), \
      "+f"(sums[i + 7])
#define HONE_SUMS_8 HONE_EIGHT(0)
#define HONE_SUMS_16 HONE_SUMS_8, HONE_EIGHT(8)
#define HONE_SUMS_24 HONE_SUMS_16, HONE_EIGHT(16)
#define HONE_SUMS_40 HONE_SUMS_24, HONE_EIGHT(24), HONE_EIGHT(32)
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
// A0 to A4 are the numbers of the operands behind the sums.
#define HONE_PRODUCT(n, type, count, A0, A1, A2, A3, A4)                                                                          \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" #A2 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type \
               " {" HONE_NAMES_##count "}, %" #A0 ", %" #A1 ", add, 1, 1, %" #A3 ", %" #A4 ";\n}"                                 \
               : HONE_SUMS_##count                                                                                                \
               : "l"(a), "l"(b), "r"((int)accumulate), "n"((int)transposed_a), "n"((int)transposed_b))
#define HONE_PRODUCTS(type)                                \
  if constexpr (n == 16) {                                 \
    HONE_PRODUCT(16, type, 8, 8, 9, 10, 11, 12);           \
  } else if constexpr (n == 32) {                          \
    HONE_PRODUCT(32, type, 16, 16, 17, 18, 19, 20);        \
  } else if constexpr (n == 48) {                          \
    HONE_PRODUCT(48, type, 24, 24, 25, 26, 27, 28);        \
  } else if constexpr (n == 80) {                          \
    HONE_PRODUCT(80, type, 40, 40, 41, 42, 43, 44);        \
  } else if constexpr (n == 96) {                          \
    HONE_PRODUCT(96, type, 48, 48, 49, 50, 51, 52);        \
  } else if constexpr (n == 112) {                         \
    HONE_PRODUCT(112, type, 56, 56, 57, 58, 59, 60);       \
  } else if constexpr (n == 144) {                         \
    HONE_PRODUCT(144, type, 72, 72, 73, 74, 75, 76);       \
  } else if constexpr (n == 160) {                         \
    HONE_PRODUCT(160, type, 80, 80, 81, 82, 83, 84);       \
  } else if constexpr (n == 176) {                         \
    HONE_PRODUCT(176, type, 88, 88, 89, 90, 91, 92);       \
  } else if constexpr (n == 208) {                         \
    HONE_PRODUCT(208, type, 104, 104, 105, 106, 107, 108); \
  } else if constexpr (n == 224) {                         \
    HONE_PRODUCT(224, type, 112, 112, 113, 114, 115, 116); \
  } else {                                                 \
    static_assert(n == 240);                               \
    HONE_PRODUCT(240, type, 120, 120, 121, 122, 123, 124); \
  }
/// As hopper::wgmma, for any width that the kernel has.
template <class T, int n, bool transposed_a, bool transposed_b>
HONE_DEVICE void product(float (&sums)[n / 2], hopper::u64 a, hopper::u64 b, bool accumulate) {
  if constexpr (n % 64 == 0) {
    hopper::wgmma<T, n, transposed_a, transposed_b>(sums, a, b, accumulate);
  } else if constexpr (hopper::kSame<T, bf16>) {
    HONE_PRODUCTS("bf16")
  } else {
    static_assert(hopper::kSame<T, f16>);
    HONE_PRODUCTS("f16")
  }
}
#endif
