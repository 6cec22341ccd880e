#include "cli/utf8.hpp"

namespace hone::cli {

Character first_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) {
    return {first, 1, true};
  }
  const std::size_t bytes = first >= 0xC2 && first < 0xE0 ? 2 : first >= 0xE0 && first < 0xF0 ? 3 : first >= 0xF0 && first < 0xF5 ? 4 : 0;
  if (bytes == 0 || bytes > text.size()) {
    return {};
  }
  auto point = static_cast<char32_t>(first & (0xFFU >> (bytes + 1)));
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0U) != 0x80) {
      return {};
    }
    point = (point << 6U) | (next & 0x3FU);
  }
  const bool overlong = (bytes == 3 && point < 0x800) || (bytes == 4 && point < 0x10000);
  const bool surrogate = point >= 0xD800 && point < 0xE000;
  return overlong || surrogate || point > 0x10FFFF ? Character() : Character{point, bytes, true};
}

}  // namespace hone::cli
