#include "cli/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "cli/utf8.hpp"

namespace hone::cli {
namespace {

constexpr std::size_t kUsualWidth = 80;

std::optional<std::string> variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

bool names_utf8(std::string_view locale) {
  std::string lower(locale);
  std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower.find("utf-8") != std::string::npos || lower.find("utf8") != std::string::npos;
}

/// The first of them that is set and not empty decides, as in POSIX.
bool is_utf8(const Surroundings& around) {
  for (const std::optional<std::string>* const locale : {&around.lc_all, &around.lc_ctype, &around.lang}) {
    if (*locale && !(*locale)->empty()) {
      return names_utf8(**locale);
    }
  }
  return false;
}

std::size_t width_of(const Surroundings& around) {
  if (around.columns && *around.columns > 0) {
    return *around.columns;
  }
  std::size_t columns = 0;
  if (const auto& text = around.columns_variable) {
    std::from_chars(text->data(), text->data() + text->size(), columns);
  }
  return columns > 0 ? columns : kUsualWidth;
}

/// The common ranges of East Asian wide and of combining characters: exact tables are the terminal's own affair.
std::size_t columns_of(char32_t point) {
  const bool combines = (point >= 0x300 && point < 0x370) || (point >= 0x200B && point < 0x2010) || (point >= 0xFE00 && point < 0xFE10);
  const bool wide = (point >= 0x1100 && point < 0x1160) || (point >= 0x2E80 && point < 0xA4D0) || (point >= 0xAC00 && point < 0xD7A4) ||
                    (point >= 0xF900 && point < 0xFB00) || (point >= 0xFE30 && point < 0xFE70) || (point >= 0xFF00 && point < 0xFF61) ||
                    (point >= 0x1F300 && point < 0x1FA00) || (point >= 0x20000 && point < 0x3FFFE);
  return combines ? 0 : wide ? 2 : 1;
}

}  // namespace

Result<Colour> parse_colour(std::string_view text) {
  if (text == "auto" || text == "always" || text == "never") {
    return text == "auto" ? Colour::kAuto : text == "always" ? Colour::kAlways : Colour::kNever;
  }
  return Error{ErrorCode::kInvalidArgument, fmt::format("--color is auto, always or never; it cannot be '{}'", text)};
}

Surroundings surroundings() {
  Surroundings around{.is_terminal = ::isatty(STDERR_FILENO) != 0,
                      .columns = std::nullopt,
                      .term = variable("TERM"),
                      .no_color = variable("NO_COLOR"),
                      .columns_variable = variable("COLUMNS"),
                      .lc_all = variable("LC_ALL"),
                      .lc_ctype = variable("LC_CTYPE"),
                      .lang = variable("LANG")};
  winsize size{};
  if (around.is_terminal && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    around.columns = size.ws_col;
  }
  return around;
}

Look choose_look(const Surroundings& around, Colour colour) {
  const bool dumb = !around.term || around.term->empty() || *around.term == "dumb";
  const bool wanted = !around.no_color || around.no_color->empty();
  Look look{.width = width_of(around), .unicode = is_utf8(around), .redraws = around.is_terminal && !dumb};
  look.colour = colour == Colour::kAlways || (colour == Colour::kAuto && look.redraws && wanted);
  return look;
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Character one = first_character(text);
    columns += columns_of(one.point);
    text.remove_prefix(one.bytes);
  }
  return columns;
}

std::string fitted(std::string_view text, std::size_t columns, bool unicode) {
  struct Cell {
    std::string text;
    std::size_t columns;
  };
  std::vector<Cell> cells;
  std::size_t all = 0;
  while (!text.empty()) {
    const Character one = first_character(text);
    const bool control = one.point < 0x20 || (one.point >= 0x7F && one.point < 0xA0);
    const bool shown = !control && one.valid && (unicode || one.point < 0x80);
    cells.push_back({shown ? std::string(text.substr(0, one.bytes)) : "?", shown ? columns_of(one.point) : 1});
    all += cells.back().columns;
    text.remove_prefix(one.bytes);
  }
  const std::string_view wanted = all <= columns ? "" : unicode ? "…" : "...";
  const std::string_view mark = columns_of(wanted) < columns ? wanted : "";
  const std::size_t room = columns - columns_of(mark);
  std::string fit;
  std::size_t taken = 0;
  for (const Cell& cell : cells) {
    if (taken + cell.columns > room) {
      break;
    }
    fit += cell.text;
    taken += cell.columns;
  }
  return fit + std::string(mark);
}

}  // namespace hone::cli
