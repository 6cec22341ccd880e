#include "plugins/cpu/cuda_headers.hpp"

#include <array>
#include <string_view>

namespace hone::cpu {
namespace {

constexpr std::string_view kHalf = R"(#pragma once
#include <hone/kernel.h>
using half = f16;
using __half = f16;
struct __attribute__((aligned(4))) half2 { half x, y; };
using __half2 = half2;
inline float __half2float(half a) { return (float)a; }
inline half __float2half(float a) { return half(a); }
inline half __float2half_rn(float a) { return half(a); }
inline half __hadd(half a, half b) { return half((float)a + (float)b); }
inline half __hsub(half a, half b) { return half((float)a - (float)b); }
inline half __hmul(half a, half b) { return half((float)a * (float)b); }
inline half __hdiv(half a, half b) { return half((float)a / (float)b); }
inline half __hfma(half a, half b, half c) { return half(__builtin_fmaf((float)a, (float)b, (float)c)); }
inline half __hmax(half a, half b) { return half(__builtin_fmaxf((float)a, (float)b)); }
inline half __hmin(half a, half b) { return half(__builtin_fminf((float)a, (float)b)); }
inline half hexp(half a) { return half(__builtin_expf((float)a)); }
inline half2 __floats2half2_rn(float x, float y) { return {half(x), half(y)}; }
inline half2 __halves2half2(half x, half y) { return {x, y}; }
inline half2 __half2half2(half a) { return {a, a}; }
inline half2 __float2half2_rn(float a) { return {half(a), half(a)}; }
inline float2 __half22float2(half2 a) { return {(float)a.x, (float)a.y}; }
inline float __low2float(half2 a) { return (float)a.x; }
inline float __high2float(half2 a) { return (float)a.y; }
inline half2 __hadd2(half2 a, half2 b) { return {__hadd(a.x, b.x), __hadd(a.y, b.y)}; }
inline half2 __hmul2(half2 a, half2 b) { return {__hmul(a.x, b.x), __hmul(a.y, b.y)}; }
inline half2 __hfma2(half2 a, half2 b, half2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
)";

constexpr std::string_view kBfloat = R"(#pragma once
#include <hone/kernel.h>
using __nv_bfloat16 = bf16;
using nv_bfloat16 = bf16;
struct __attribute__((aligned(4))) __nv_bfloat162 { bf16 x, y; };
using nv_bfloat162 = __nv_bfloat162;
inline float __bfloat162float(bf16 a) { return (float)a; }
inline bf16 __float2bfloat16(float a) { return bf16(a); }
inline bf16 __float2bfloat16_rn(float a) { return bf16(a); }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {bf16(x), bf16(y)}; }
inline float2 __bfloat1622float2(__nv_bfloat162 a) { return {(float)a.x, (float)a.y}; }
)";

constexpr std::array<KernelHeader, 2> kHeaders{{{"cuda_fp16.h", kHalf}, {"cuda_bf16.h", kBfloat}}};

}  // namespace

std::span<const KernelHeader> cuda_headers() { return kHeaders; }

}  // namespace hone::cpu
