#include "cli/terminal.hpp"

#include <doctest/doctest.h>

namespace hone::cli {
namespace {

Surroundings terminal() {
  return {.is_terminal = true,
          .columns = 132,
          .term = "xterm-256color",
          .no_color = {},
          .columns_variable = {},
          .lc_all = {},
          .lc_ctype = {},
          .lang = "en_US.UTF-8"};
}

}  // namespace

TEST_CASE("a terminal has its own width, colours and Unicode") {
  const Look look = choose_look(terminal(), Colour::kAuto);
  CHECK(look.width == 132);
  CHECK(look.colour);
  CHECK(look.unicode);
  CHECK(look.redraws);
}

TEST_CASE("a pipe and a dumb terminal keep their lines and have no colours") {
  Surroundings pipe = terminal();
  pipe.is_terminal = false;
  pipe.columns.reset();
  CHECK_FALSE(choose_look(pipe, Colour::kAuto).redraws);
  CHECK_FALSE(choose_look(pipe, Colour::kAuto).colour);
  CHECK(choose_look(pipe, Colour::kAuto).width == 80);
  pipe.columns_variable = "200";
  CHECK(choose_look(pipe, Colour::kAuto).width == 200);
  Surroundings dumb = terminal();
  for (const std::optional<std::string>& term :
       {std::optional<std::string>("dumb"), std::optional<std::string>(""), std::optional<std::string>()}) {
    dumb.term = term;
    CHECK_FALSE(choose_look(dumb, Colour::kAuto).redraws);
    CHECK_FALSE(choose_look(dumb, Colour::kAuto).colour);
  }
}

TEST_CASE("NO_COLOR turns colours off, unless they are asked for") {
  Surroundings around = terminal();
  around.no_color = "1";
  CHECK_FALSE(choose_look(around, Colour::kAuto).colour);
  CHECK(choose_look(around, Colour::kAlways).colour);
  CHECK(choose_look(around, Colour::kAuto).redraws);
  around.no_color = "";  // as good as not set
  CHECK(choose_look(around, Colour::kAuto).colour);
  CHECK_FALSE(choose_look(terminal(), Colour::kNever).colour);
}

TEST_CASE("the first locale that is set decides on Unicode") {
  Surroundings around = terminal();
  around.lc_all = "C";
  CHECK_FALSE(choose_look(around, Colour::kAuto).unicode);
  around.lc_all = "";
  around.lc_ctype = "de_DE.utf8";
  around.lang = "C";
  CHECK(choose_look(around, Colour::kAuto).unicode);
  around.lc_ctype.reset();
  CHECK_FALSE(choose_look(around, Colour::kAuto).unicode);
}

TEST_CASE("--color takes three words") {
  CHECK(parse_colour("always").value() == Colour::kAlways);
  CHECK(parse_colour("sometimes").error().message.find("auto, always or never") != std::string::npos);
}

TEST_CASE("text is cut to columns, not to bytes") {
  CHECK(columns_of("größe") == 5);
  CHECK(columns_of("日本") == 4);
  CHECK(fitted("größe", 5, true) == "größe");
  CHECK(fitted("größe", 4, true) == "grö…");
  CHECK(fitted("größe", 5, false) == "gr??e");
  CHECK(fitted("configuration", 8, false) == "confi...");
  CHECK(fitted("日本語", 5, true) == "日本…");
  CHECK(fitted("a\033[31mb", 80, true) == "a?[31mb");
  CHECK(fitted("caf\xE9", 80, true) == "caf?");
  CHECK(fitted("abc", 2, false) == "ab");
}

}  // namespace hone::cli
