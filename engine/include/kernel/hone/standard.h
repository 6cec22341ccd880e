#pragma once
// What a kernel body uses of C++'s freestanding library: <cstdint>, <cfloat>, <climits>, <type_traits>, <limits>, <utility>, <array> and their
// kin all lead here where neither NVRTC nor libclang has one and the host's own would bring half of its C library along. One small header,
// because every line of it is compiled in each candidate that includes one of them.

#include <hone/kernel.h>

namespace std {
using ::size_t;
using ptrdiff_t = decltype((char*)0 - (char*)0);
using nullptr_t = decltype(nullptr);
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t; using ::intptr_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t; using ::uintptr_t;

// ---- <type_traits>
template <class T, T v> struct integral_constant {
  static constexpr T value = v;
  using value_type = T;
  using type = integral_constant;
  HONE_BOTH constexpr operator T() const { return v; }
  HONE_BOTH constexpr T operator()() const { return v; }
};
template <bool b> using bool_constant = integral_constant<bool, b>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;
template <class T> struct type_identity { using type = T; };
template <class T> using type_identity_t = T;
template <class...> using void_t = void;
template <class T, class U> struct is_same : false_type {};
template <class T> struct is_same<T, T> : true_type {};
template <class T, class U> inline constexpr bool is_same_v = is_same<T, U>::value;
template <bool b, class T, class F> struct conditional : type_identity<T> {};
template <class T, class F> struct conditional<false, T, F> : type_identity<F> {};
template <bool b, class T, class F> using conditional_t = typename conditional<b, T, F>::type;
template <bool b, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> : type_identity<T> {};
template <bool b, class T = void> using enable_if_t = typename enable_if<b, T>::type;
template <class T> struct remove_const : type_identity<T> {};
template <class T> struct remove_const<const T> : type_identity<T> {};
template <class T> using remove_const_t = typename remove_const<T>::type;
template <class T> struct remove_volatile : type_identity<T> {};
template <class T> struct remove_volatile<volatile T> : type_identity<T> {};
template <class T> struct remove_cv : remove_const<typename remove_volatile<T>::type> {};
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> struct remove_reference : type_identity<T> {};
template <class T> struct remove_reference<T&> : type_identity<T> {};
template <class T> struct remove_reference<T&&> : type_identity<T> {};
template <class T> using remove_reference_t = typename remove_reference<T>::type;
template <class T> struct remove_cvref : remove_cv<remove_reference_t<T>> {};
template <class T> using remove_cvref_t = typename remove_cvref<T>::type;
template <class T> using decay_t = remove_cvref_t<T>;
template <class T> struct remove_pointer : type_identity<T> {};
template <class T> struct remove_pointer<T*> : type_identity<T> {};
template <class T> using remove_pointer_t = typename remove_pointer<T>::type;
template <class T> struct is_pointer : false_type {};
template <class T> struct is_pointer<T*> : true_type {};
template <class T> inline constexpr bool is_pointer_v = is_pointer<remove_cv_t<T>>::value;
template <class T> struct is_floating_point : bool_constant<is_same_v<remove_cv_t<T>, float> || is_same_v<remove_cv_t<T>, double>> {};
template <class T> inline constexpr bool is_floating_point_v = is_floating_point<T>::value;
template <class T> struct is_integral_plain : false_type {};
#define HONE_STD_INTEGRAL(T) template <> struct is_integral_plain<T> : true_type {};
HONE_STD_INTEGRAL(bool) HONE_STD_INTEGRAL(char) HONE_STD_INTEGRAL(signed char) HONE_STD_INTEGRAL(unsigned char) HONE_STD_INTEGRAL(short)
HONE_STD_INTEGRAL(unsigned short) HONE_STD_INTEGRAL(int) HONE_STD_INTEGRAL(unsigned) HONE_STD_INTEGRAL(long) HONE_STD_INTEGRAL(unsigned long)
HONE_STD_INTEGRAL(long long) HONE_STD_INTEGRAL(unsigned long long)
#undef HONE_STD_INTEGRAL
template <class T> struct is_integral : is_integral_plain<remove_cv_t<T>> {};
template <class T> inline constexpr bool is_integral_v = is_integral<T>::value;
template <class T> struct is_arithmetic : bool_constant<is_integral_v<T> || is_floating_point_v<T>> {};
template <class T> inline constexpr bool is_arithmetic_v = is_arithmetic<T>::value;
template <class T> inline constexpr bool is_signed_v = is_arithmetic_v<T> && T(-1) < T(0);
template <class T> inline constexpr bool is_unsigned_v = is_integral_v<T> && !(T(-1) < T(0));
template <class T> struct is_signed : bool_constant<is_signed_v<T>> {};
template <class T> struct is_unsigned : bool_constant<is_unsigned_v<T>> {};
template <class T> inline constexpr bool is_enum_v = __is_enum(T);
template <class T> inline constexpr bool is_trivially_copyable_v = __is_trivially_copyable(T);
template <class T> using underlying_type_t = __underlying_type(T);
template <class T> struct make_unsigned : type_identity<T> {};
template <class T> struct make_signed : type_identity<T> {};
#define HONE_STD_SIGNS(S, U)                                    \
  template <> struct make_unsigned<S> : type_identity<U> {};    \
  template <> struct make_signed<U> : type_identity<S> {};
HONE_STD_SIGNS(signed char, unsigned char) HONE_STD_SIGNS(short, unsigned short) HONE_STD_SIGNS(int, unsigned)
HONE_STD_SIGNS(long, unsigned long) HONE_STD_SIGNS(long long, unsigned long long)
#undef HONE_STD_SIGNS
template <class T> using make_unsigned_t = typename make_unsigned<T>::type;
template <class T> using make_signed_t = typename make_signed<T>::type;

// ---- <utility>
#if !defined(__CUDACC_RTC__)  // NVRTC has these two
template <class T> HONE_BOTH constexpr remove_reference_t<T>&& move(T&& x) noexcept { return static_cast<remove_reference_t<T>&&>(x); }
template <class T> HONE_BOTH constexpr T&& forward(remove_reference_t<T>& x) noexcept { return static_cast<T&&>(x); }
template <class T> HONE_BOTH constexpr T&& forward(remove_reference_t<T>&& x) noexcept { return static_cast<T&&>(x); }
#endif
template <class T> T&& declval() noexcept;
template <class T> HONE_BOTH constexpr void swap(T& a, T& b) noexcept {
  T kept = static_cast<T&&>(a);
  a = static_cast<T&&>(b);
  b = static_cast<T&&>(kept);
}
template <class A, class B> struct pair {
  A first;
  B second;
};
template <class A, class B> HONE_BOTH constexpr pair<A, B> make_pair(A a, B b) { return {a, b}; }
template <class T, T... values> struct integer_sequence {
  using value_type = T;
  HONE_BOTH static constexpr size_t size() { return sizeof...(values); }
};
template <size_t... values> using index_sequence = integer_sequence<size_t, values...>;
template <class T, size_t n, size_t... values> struct hone_count : hone_count<T, n - 1, n - 1, values...> {};
template <class T, size_t... values> struct hone_count<T, 0, values...> { using type = integer_sequence<T, T(values)...>; };
template <class T, T n> using make_integer_sequence = typename hone_count<T, size_t(n)>::type;
template <size_t n> using make_index_sequence = make_integer_sequence<size_t, n>;

// ---- <algorithm>, as far as it needs no iterators
template <class T> HONE_BOTH constexpr const T& min(const T& a, const T& b) { return b < a ? b : a; }
template <class T> HONE_BOTH constexpr const T& max(const T& a, const T& b) { return a < b ? b : a; }
template <class T> HONE_BOTH constexpr const T& clamp(const T& x, const T& low, const T& high) { return x < low ? low : high < x ? high : x; }

// ---- <array>
template <class T, size_t n> struct array {
  T hone_elements[n];
  HONE_BOTH constexpr T& operator[](size_t i) { return hone_elements[i]; }
  HONE_BOTH constexpr const T& operator[](size_t i) const { return hone_elements[i]; }
  HONE_BOTH constexpr T* data() { return hone_elements; }
  HONE_BOTH constexpr const T* data() const { return hone_elements; }
  HONE_BOTH constexpr T* begin() { return hone_elements; }
  HONE_BOTH constexpr const T* begin() const { return hone_elements; }
  HONE_BOTH constexpr T* end() { return hone_elements + n; }
  HONE_BOTH constexpr const T* end() const { return hone_elements + n; }
  HONE_BOTH static constexpr size_t size() { return n; }
  HONE_BOTH constexpr void fill(const T& value) {
    for (size_t i = 0; i < n; ++i) hone_elements[i] = value;
  }
};

// ---- <limits>
template <class T> struct numeric_limits {
  static constexpr bool is_specialized = is_integral_v<T>, is_integer = is_integral_v<T>, is_signed = is_signed_v<T>;
  static constexpr int digits = int(sizeof(T)) * 8 - (is_signed ? 1 : 0);
  HONE_BOTH static constexpr T max() { return is_signed ? T(((T(1) << (digits - 1)) - 1) * 2 + 1) : T(~T(0)); }
  HONE_BOTH static constexpr T min() { return is_signed ? T(-max() - 1) : T(0); }
  HONE_BOTH static constexpr T lowest() { return min(); }
};
template <class T> struct numeric_limits<const T> : numeric_limits<T> {};
template <> struct numeric_limits<bool> {
  static constexpr bool is_specialized = true, is_integer = true, is_signed = false;
  static constexpr int digits = 1;
  HONE_BOTH static constexpr bool max() { return true; }
  HONE_BOTH static constexpr bool min() { return false; }
  HONE_BOTH static constexpr bool lowest() { return false; }
};
#define HONE_STD_REAL(T, bits, largest, smallest, step, denormal, infinite, nan)  \
  template <> struct numeric_limits<T> {                                          \
    static constexpr bool is_specialized = true, is_integer = false, is_signed = true, has_infinity = true, has_quiet_NaN = true; \
    static constexpr int digits = bits;                                           \
    HONE_BOTH static constexpr T max() { return largest; }                        \
    HONE_BOTH static constexpr T min() { return smallest; }                       \
    HONE_BOTH static constexpr T lowest() { return -largest; }                    \
    HONE_BOTH static constexpr T epsilon() { return step; }                       \
    HONE_BOTH static constexpr T denorm_min() { return denormal; }                \
    HONE_BOTH static constexpr T infinity() { return infinite; }                  \
    HONE_BOTH static constexpr T quiet_NaN() { return nan; }                      \
  };
HONE_STD_REAL(float, 24, 3.402823466e+38F, 1.175494351e-38F, 1.192092896e-07F, 1.401298464e-45F, __builtin_bit_cast(float, 0x7f800000),
              __builtin_bit_cast(float, 0x7fc00000))
HONE_STD_REAL(double, 53, 1.7976931348623158e+308, 2.2250738585072014e-308, 2.2204460492503131e-16, 4.9406564584124654e-324,
              __builtin_bit_cast(double, 0x7ff0000000000000LL), __builtin_bit_cast(double, 0x7ff8000000000000LL))
#undef HONE_STD_REAL

// ---- <cmath>: the names of CUDA, which overloads them
using ::abs; using ::fabs; using ::fmin; using ::fmax; using ::fma; using ::sqrt; using ::cbrt; using ::exp; using ::exp2; using ::expm1; using ::log;
using ::log2; using ::log10; using ::log1p; using ::pow; using ::sin; using ::cos; using ::tan; using ::asin; using ::acos; using ::atan; using ::atan2;
using ::sinh; using ::cosh; using ::tanh; using ::erf; using ::erfc; using ::floor; using ::ceil; using ::trunc; using ::round; using ::rint;
using ::fmod; using ::hypot; using ::copysign; using ::isnan; using ::isinf; using ::isfinite;
}  // namespace std
