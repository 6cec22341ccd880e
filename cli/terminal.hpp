#pragma once
// What a terminal can show, and how wide text is there.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "hone/error.hpp"

namespace hone::cli {

/// Whether people asked for colours.
enum class Colour { kAuto, kAlways, kNever };
/// Errors: none of auto, always, never.
Result<Colour> parse_colour(std::string_view text);

/// How text may look.
struct Look {
  std::size_t width = 80;  ///< columns
  bool colour = false;
  bool unicode = false;  ///< else ASCII alone
  bool redraws = false;  ///< lines can be replaced: a terminal that is not dumb. Else each line stays
};

/// What decides a look, as the process finds it.
struct Surroundings {
  bool is_terminal = false;
  std::optional<std::size_t> columns;  ///< as the terminal says
  std::optional<std::string> term, no_color, columns_variable, lc_all, lc_ctype, lang;
};
/// Of standard error.
Surroundings surroundings();
/// NO_COLOR and TERM=dumb turn colours off unless they are asked for (no-color.org); the locale decides on Unicode.
Look choose_look(const Surroundings& around, Colour colour);

/// Columns that UTF-8 text takes: wide characters take two, combining ones none.
std::size_t columns_of(std::string_view text);
/// Cut to so many columns, with an ellipsis where something is cut. Control characters become '?', and without `unicode` all that is not
/// ASCII.
std::string fitted(std::string_view text, std::size_t columns, bool unicode);

}  // namespace hone::cli
