// Pictures and pages as text.
#include "cli/report/svg.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "cli/report/markup.hpp"

namespace hone::cli::page {

TEST_CASE("text of users cannot become markup") {
  CHECK(escaped("<script>alert(\"1\")</script> & 'x'") == "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39;");
  Svg svg(10.0, 10.0, "\"><script>");
  svg.text(1.0, 2.0, "</text><b>").rect(0.0, 0.0, 1.0, 1.0, "bar", "<i>");
  for (const std::string& text : {svg.element(), svg.file(), figure(svg, "<u>"), paragraph("<u>"), heading(2, "<u>", "\"<"), command("<u>"),
                                  facts({{"<u>", "<b>"}}), html(Table{.caption = "<u>", .header = {"<b>"}, .rows = {{"<i>"}}})}) {
    for (const char* const tag : {"<script", "<b>", "<i>", "<u>", "\"\""}) {
      CHECK_MESSAGE(text.find(tag) == std::string::npos, text);
    }
  }
}

TEST_CASE("bytes that are not UTF-8, and control characters, are replaced") {
  constexpr const char* kReplaced = "\xEF\xBF\xBD";
  CHECK(escaped("gr\xC3\xBC\xC3\x9F") == "gr\xC3\xBC\xC3\x9F");
  CHECK(escaped("caf\xE9") == std::string("caf") + kReplaced);
  CHECK(escaped("\xC0\xAF") == std::string(kReplaced) + kReplaced);  // overlong
  CHECK(escaped("\xED\xA0\x80").find('\xED') == std::string::npos);  // a surrogate
  CHECK(escaped(std::string("a\0b\x1B", 4)) == std::string("a") + kReplaced + "b" + kReplaced);
  CHECK(escaped("a\nb\t") == "a\nb\t");
  CHECK(escaped("cut\xE2\x82") == std::string("cut") + kReplaced + kReplaced);
}

TEST_CASE("times, factors and shares have about as many digits as are meant") {
  CHECK(time_text(1.2345) == "1.234 µs");
  CHECK(time_text(84.213) == "84.21 µs");
  CHECK(time_text(999.96) == "1.000 ms");
  CHECK(time_text(155432.0) == "155.4 ms");
  CHECK(time_text(2.5e6) == "2.500 s");
  CHECK(factor_text(1.844) == "1.84×");
  CHECK(factor_text(26.29) == "26.3×");
  CHECK(percent_text(0.0004) == "< 0.1 %");
  CHECK(percent_text(0.0) == "0.0 %");
  CHECK(seconds_text(0.521) == "0.52 s");
  CHECK(seconds_text(245.0) == "4 min 5 s");
  CHECK(seconds_text(7260.0) == "2 h 1 min");
}

TEST_CASE("scales put values between their ends and have round ticks") {
  const Scale linear{.low = 0.0, .high = 134.0, .from = 10.0, .to = 210.0};
  CHECK(linear(67.0) == doctest::Approx(110.0));
  CHECK(linear(1e9) == 210.0);
  CHECK(linear.ticks(6) == std::vector<double>{0.0, 50.0, 100.0});
  const Scale logarithmic{.low = 1.0, .high = 1000.0, .from = 300.0, .to = 0.0, .logarithmic = true};
  CHECK(logarithmic(10.0) == doctest::Approx(200.0));
  CHECK(logarithmic.ticks(5) == std::vector<double>{1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0});
  CHECK(Scale{.low = 1.0, .high = 1.2, .from = 0.0, .to = 1.0, .logarithmic = true}.ticks(4).size() >= 3);
  CHECK(Scale{.low = 2.0, .high = 2.0, .from = 5.0, .to = 9.0}(2.0) == 5.0);
}

TEST_CASE("a picture has a label for who does not see it, as an element and as a file") {
  Svg svg(100.0, 50.0, "a line");
  svg.steps({{0.0, 10.0}, {5.0, 4.0}}, "best");
  CHECK(svg.element().find("role=\"img\" aria-label=\"a line\"") != std::string::npos);
  CHECK(svg.element().find("points=\"0,10 5,10 5,4\"") != std::string::npos);
  CHECK(svg.file().find("<title>a line</title>") != std::string::npos);
  CHECK(svg.file().find("xmlns=\"http://www.w3.org/2000/svg\"") != std::string::npos);
}

TEST_CASE("a table has a caption and names its rows and columns") {
  const std::string text =
      html(Table{.caption = "Times", .header = {"kernel", "config", "time"}, .rows = {{"a", "x=1,y=2", "3"}}, .strong = {0}, .words = {1}});
  CHECK(text.find("<caption><span>Times</span></caption>") != std::string::npos);
  CHECK(text.find("<th scope=\"col\">time</th>") != std::string::npos);
  CHECK(text.find("<tr class=\"strong\"><th scope=\"row\">a</th><td class=\"text\">x=1,<wbr>y=2</td><td>3</td>") != std::string::npos);
}

}  // namespace hone::cli::page
