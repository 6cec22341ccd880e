#pragma once
// The value of an option that takes a real number: all of what was typed, where cxxopts would take "0.1%" for 0.1.

#include <charconv>
#include <cmath>
#include <istream>
#include <iterator>
#include <string>
#include <system_error>

namespace hone::cli {

struct Number {
  double value = 0.0;
};

/// For cxxopts: fails where anything follows the number, and for what is no finite one.
inline std::istream& operator>>(std::istream& in, Number& number) {
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number.value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size() && std::isfinite(number.value);
  in.clear(is_whole ? std::ios::goodbit : std::ios::failbit);
  return in;
}

}  // namespace hone::cli
