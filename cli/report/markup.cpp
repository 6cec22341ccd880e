#include "cli/report/markup.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hone::cli::page {
namespace {

constexpr std::string_view kPageStyle = R"(
* { box-sizing: border-box; }
html { scroll-behavior: smooth; }
body { margin: 0 auto; max-width: 61rem; padding: 1.75rem 1rem 4rem; background: var(--page); color: var(--ink);
  font: 15.5px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.55rem; line-height: 1.25; margin: 0 0 .2rem; letter-spacing: -.01em; }
h2 { font-size: 1.22rem; margin: 2.6rem 0 .6rem; } h3 { font-size: 1.04rem; margin: 1.9rem 0 .5rem; } h4 { font-size: .95rem; margin: 1.4rem 0 .4rem; }
p { margin: .45rem 0; max-width: 50rem; } .quiet, figcaption, caption { color: var(--quiet); }
a { color: var(--best); } :focus-visible { outline: 2px solid var(--best); outline-offset: 2px; }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; padding: 0; margin: .9rem 0 0; font-size: .92rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1rem 1.15rem; margin: .8rem 0; }
.hero { display: flex; flex-wrap: wrap; gap: .3rem 2rem; align-items: baseline; margin-bottom: .4rem; }
.hero .figure { font-size: 3rem; font-weight: 700; line-height: 1.1; color: var(--good); letter-spacing: -.02em; }
.hero .figure.even { color: var(--ink); } .hero .words { font-size: 1.08rem; flex: 1 1 20rem; }
figure { margin: .9rem 0; } figcaption { font-size: .88rem; margin-top: .35rem; max-width: 50rem; }
svg { display: block; width: 100%; height: auto; }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(15.5rem, 1fr)); gap: .4rem .8rem; } .panels figure { margin: 0; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; margin: .7rem 0; min-width: 55%; }
caption { text-align: left; font-size: .88rem; padding-bottom: .3rem; } caption > span { position: sticky; left: 0; display: inline-block;
  max-width: min(50rem, calc(100vw - 4.5rem)); }
th, td { padding: .28rem 0 .28rem 1.1rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; color: var(--quiet); } tbody th { font-weight: 400; color: var(--ink); }
th.text, td.text, th:first-child { text-align: left; white-space: normal; } th:first-child { padding-left: 0; } td.text { min-width: 6rem; }
thead th { vertical-align: bottom; white-space: normal; } tr.strong th, tr.strong td { font-weight: 650; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .12rem 1.2rem; margin: .6rem 0; font-size: .93rem; }
dt { color: var(--quiet); } dd { margin: 0; overflow-wrap: anywhere; }
code, pre { font: .87rem/1.5 ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace; }
pre { background: var(--page); border: 1px solid var(--line); border-radius: 6px; padding: .55rem .75rem; white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0; }
summary { cursor: pointer; color: var(--best); font-size: .92rem; padding: .2rem 0; }
footer { margin-top: 3rem; font-size: .86rem; color: var(--quiet); }
@media (max-width: 36rem) { .wide { overflow-x: auto; } .wide svg { width: 38rem; } dl { grid-template-columns: 1fr; } dd { margin-bottom: .35rem; } .hero .figure { font-size: 2.4rem; } }
@media print { body { max-width: none; padding: 0; font-size: 11pt; } nav, summary { display: none; } .card, figure, tr { break-inside: avoid; }
  details::details-content { content-visibility: visible; } .scroll { overflow: visible; } }
)";

/// Configurations may be broken behind their commas.
std::string breakable(std::string text) {
  for (std::size_t at = text.find(','); at != std::string::npos; at = text.find(',', at + 1)) {
    if (at + 1 < text.size() && text[at + 1] != ' ') {
      text.insert(at + 1, "<wbr>");
    }
  }
  return text;
}

std::string cell(const Table& table, std::size_t column, const std::string& text, std::string_view tag, std::string_view scope) {
  const bool words = std::ranges::find(table.words, column) != table.words.end();
  const std::string scoped = scope.empty() ? "" : fmt::format(" scope=\"{}\"", scope);
  return fmt::format("<{0}{1}{2}>{3}</{0}>", tag, scoped, words ? " class=\"text\"" : "", breakable(escaped(text)));
}

}  // namespace

std::string html(const Table& table) {
  std::string text = fmt::format(
      "<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"{}\"><table><caption><span>{}</span></caption>\n<thead><tr>",
      escaped(table.caption), escaped(table.caption));
  for (std::size_t column = 0; column < table.header.size(); ++column) {
    text += cell(table, column, table.header[column], "th", "col");
  }
  text += "</tr></thead>\n<tbody>\n";
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const bool strong = std::ranges::find(table.strong, row) != table.strong.end();
    text += strong ? "<tr class=\"strong\">" : "<tr>";
    for (std::size_t column = 0; column < table.rows[row].size(); ++column) {
      text += cell(table, column, table.rows[row][column], column == 0 ? "th" : "td", column == 0 ? "row" : "");
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string figure(const Svg& svg, std::string_view caption) {
  constexpr double kWide = 400.0;  // on a small screen it is scrolled rather than made too small to read
  const std::string picture =
      svg.width() > kWide ? fmt::format("<div class=\"wide\" tabindex=\"0\">{}</div>", svg.element()) : svg.element();
  return fmt::format("<figure>{}{}</figure>\n", picture,
                     caption.empty() ? "" : fmt::format("<figcaption>{}</figcaption>", escaped(caption)));
}

std::string paragraph(std::string_view text) { return fmt::format("<p>{}</p>\n", escaped(text)); }

std::string heading(int level, std::string_view text, std::string_view id) {
  return fmt::format("<h{0}{1}>{2}</h{0}>\n", level, id.empty() ? "" : fmt::format(" id=\"{}\"", escaped(id)), escaped(text));
}

std::string command(std::string_view text) { return fmt::format("<pre><code>{}</code></pre>\n", breakable(escaped(text))); }

std::string facts(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string text = "<dl>\n";
  for (const auto& [name, value] : pairs) {
    text += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escaped(name), breakable(escaped(value)));
  }
  return text + "</dl>\n";
}

std::string details(std::string_view summary, const std::string& body) {
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", escaped(summary), body);
}

std::string document(std::string_view title, const std::string& body) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\"><title>{}</title>\n<style>{}{}</style></head>\n<body>\n{}"
      "</body>\n</html>\n",
      escaped(title), picture_style(), kPageStyle, body);
}

}  // namespace hone::cli::page
