#include "engine/reader/comments.hpp"

#include <algorithm>

namespace hone::kernel {
namespace {

std::string_view line_at(std::string_view text, std::size_t begin) { return text.substr(begin, text.find('\n', begin) - begin); }

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  return begin == std::string_view::npos ? std::string_view{} : text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// The text of a line that holds nothing but a // comment; its column is set.
bool comment_line(std::string_view line, std::string_view& comment, std::size_t& column) {
  column = line.find_first_not_of(" \t");
  if (column == std::string_view::npos || line.substr(column, 2) != "//") {
    return false;
  }
  comment = trimmed(
      line.substr(line.find_first_not_of('/', column) == std::string_view::npos ? line.size() : line.find_first_not_of('/', column)));
  return true;
}

void append(std::string& paragraph, std::string_view more) {
  if (!more.empty()) {
    paragraph += (paragraph.empty() ? "" : " ") + std::string(more);
  }
}

std::string comment_behind(std::string_view text, std::size_t line_begin, std::size_t end) {
  const std::string_view rest = line_at(text, end);
  const auto slashes = rest.find("//"), block = rest.find("/*");
  if (block < slashes) {
    return std::string(trimmed(rest.substr(block + 2, rest.find("*/", block) - block - 2)));
  }
  if (slashes == std::string_view::npos) {
    return {};
  }
  std::string comment(trimmed(rest.substr(std::min(rest.find_first_not_of('/', slashes), rest.size()))));
  const std::size_t column = end + slashes - line_begin;
  for (auto next = text.find('\n', end); next != std::string_view::npos; next = text.find('\n', next + 1)) {
    std::string_view more;
    std::size_t at = 0;
    if (!comment_line(line_at(text, next + 1), more, at) || at != column) {
      break;
    }
    append(comment, more);
  }
  return comment;
}

std::string comment_above(std::string_view text, std::size_t line_begin) {
  const std::size_t column = line_at(text, line_begin).find_first_not_of(" \t");
  std::vector<std::string_view> lines;
  while (line_begin > 0) {
    const auto before = text.rfind('\n', line_begin - 2);
    const std::size_t begin = line_begin < 2 || before == std::string_view::npos ? 0 : before + 1;
    std::string_view comment;
    std::size_t at = 0;
    if (!comment_line(line_at(text, begin), comment, at) || at != column) {
      break;
    }
    lines.push_back(comment);
    line_begin = begin;
  }
  std::string joined;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    append(joined, *line);
  }
  return joined;
}

}  // namespace

std::string comment_of(const Unit& unit, CXCursor cursor) {
  const std::string_view text = unit.file_text(cursor);
  const std::size_t begin = unit.offset(cursor), end = unit.end_offset(cursor);
  if (end > text.size()) {
    return {};
  }
  const auto newline = begin == 0 ? std::string_view::npos : text.rfind('\n', begin - 1);
  const std::size_t line_begin = newline == std::string_view::npos ? 0 : newline + 1;
  const auto last_newline = text.rfind('\n', end == 0 ? 0 : end - 1);
  std::string comment = comment_behind(text, last_newline == std::string_view::npos ? 0 : last_newline + 1, end);
  return comment.empty() ? comment_above(text, line_begin) : comment;
}

std::string leading_comment(std::string_view text) {
  std::string paragraph;
  if (trimmed(text).starts_with("/*")) {
    const auto begin = text.find("/*") + 2;
    std::string_view body = text.substr(begin, text.find("*/") - begin);
    while (!body.empty()) {
      std::string_view line = trimmed(line_at(body, 0));
      line = trimmed(line.substr(std::min(line.find_first_not_of('*'), line.size())));
      append(paragraph, line);
      body.remove_prefix(std::min(body.find('\n'), body.size() - 1) + 1);
    }
    return paragraph;
  }
  for (std::size_t at = 0; at < text.size();) {
    std::string_view comment;
    std::size_t column = 0;
    const std::string_view line = line_at(text, at);
    if (!comment_line(line, comment, column) || (comment.empty() && !paragraph.empty())) {
      break;
    }
    append(paragraph, comment);
    at += line.size() + 1;
  }
  return paragraph;
}

}  // namespace hone::kernel
