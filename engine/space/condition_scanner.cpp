#include "engine/space/condition_scanner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace hone::space {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

bool ConditionScanner::number_begins() const {
  return at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '.');
}

bool ConditionScanner::at_token(std::string_view token) {
  skip();
  return text_.substr(at_).starts_with(token);
}

std::string_view ConditionScanner::word() const {
  std::size_t length = 0;
  while (at_ + length < text_.size() && is_word(text_[at_ + length])) {
    ++length;
  }
  return text_.substr(at_, length);
}

bool ConditionScanner::take(std::string_view token) {
  const bool there = at_token(token);
  at_ += there ? token.size() : 0;
  return there;
}

bool ConditionScanner::take_word(std::string_view wanted) {
  skip();
  const bool there = word() == wanted;
  at_ += there ? wanted.size() : 0;
  return there;
}

const Spelling* ConditionScanner::take_any(const std::vector<Spelling>& spellings) {
  skip();
  const std::string_view rest = text_.substr(at_);
  if (rest.starts_with("&&") || rest.starts_with("||") || rest.starts_with("**")) {
    return nullptr;
  }
  const auto found = std::ranges::find_if(spellings, [&](const Spelling& spelling) { return rest.starts_with(spelling.text); });
  if (found == spellings.end()) {
    return nullptr;
  }
  const bool shift = found->text.size() == 1 && rest.size() > 1 && rest[1] == rest[0] && (rest[0] == '<' || rest[0] == '>');
  if (shift) {
    return nullptr;
  }
  at_ += found->text.size();
  return &*found;
}

void ConditionScanner::expect(std::string_view token) {
  if (!take(token)) {
    fail(fmt::format("'{}' was expected", token));
  }
}

Value ConditionScanner::number() {
  const std::string_view rest = text_.substr(at_);
  std::int64_t integer = 0;
  const auto whole = std::from_chars(rest.data(), rest.data() + rest.size(), integer);
  double real = 0.0;
  const auto part = std::from_chars(rest.data(), rest.data() + rest.size(), real);
  const bool is_whole = whole.ec == std::errc() && whole.ptr == part.ptr;
  if (!is_whole && part.ec != std::errc()) {
    fail("this number cannot be read");
  }
  at_ += static_cast<std::size_t>(part.ptr - rest.data());
  return is_whole ? Value(integer) : Value(real);
}

bool ConditionScanner::text_begins() {
  skip();
  return at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"');
}

std::optional<std::string_view> ConditionScanner::quoted() const {
  const std::size_t begin = at_ + 1, end = text_.find(text_[at_], begin);
  return end == std::string_view::npos ? std::nullopt : std::optional(text_.substr(begin, end - begin));
}

}  // namespace hone::space
