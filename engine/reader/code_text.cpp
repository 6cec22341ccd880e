// A lexer for the phases of translation before the preprocessor (C++20, [lex.phases] 1 to 3). It need not know the operators: white space
// between two operator characters, or between two characters of names and numbers, is kept, and any other is dropped.

#include "engine/reader/code_text.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace hone::kernel {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '.' || (c & 0x80) != 0; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }
bool is_quote(char c) { return c == '"' || c == '\''; }

/// Characters that are a token by themselves, whatever stands beside them.
bool is_alone(char c) { return std::string_view("()[]{};,").find(c) != std::string_view::npos; }

/// Whether white space between these two may matter.
bool keeps_apart(char left, char right) {
  if (is_quote(left) || is_quote(right)) {
    return true;  // a name before a quote may be a prefix
  }
  return !is_alone(left) && !is_alone(right) && is_word(left) == is_word(right);
}

/// Physical lines that a backslash continues are one.
std::string spliced(std::string_view source) {
  std::string joined;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const std::string_view rest = source.substr(i);
    if (rest.starts_with("\\\n") || rest.starts_with("\\\r\n")) {
      i += rest[1] == '\r' ? 2 : 1;
    } else {
      joined += source[i];
    }
  }
  return joined;
}

/// Whether a line defines a macro with a single #: it makes a string of an argument, white space and all.
bool quotes_argument(std::string_view line) {
  const std::size_t hash = line.find_first_not_of(" \t");
  if (hash == std::string_view::npos || line[hash] != '#' || line.find("define") == std::string_view::npos) {
    return false;
  }
  for (std::size_t i = line.find('#', hash + 1); i != std::string_view::npos; i = line.find('#', i + 1)) {
    if (i + 1 == line.size() || line[i + 1] != '#') {
      return true;
    }
    ++i;  // ## joins tokens
  }
  return false;
}

class CodeText {
 public:
  explicit CodeText(std::string source) : source_(std::move(source)) { out_.reserve(source_.size()); }

  std::string read() && {
    while (at_ < source_.size()) {
      if (rest().starts_with("//")) {
        skip_to(source_.find('\n', at_));
      } else if (rest().starts_with("/*")) {
        const std::size_t end = source_.find("*/", at_ + 2);
        skip_to(end == std::string_view::npos ? end : end + 2);
        space_ = true;
      } else if (source_[at_] == '\n') {
        end_line();
      } else if (is_space(source_[at_])) {
        space_ = true;
        ++at_;
      } else {
        read_token();
      }
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string_view rest() const { return std::string_view(source_).substr(at_); }
  void skip_to(std::size_t end) { at_ = std::min(end, source_.size()); }

  void end_line() {
    if (directive_) {
      out_ += '\n';
    }
    directive_ = false;
    line_is_empty_ = space_ = true;
    ++at_;
  }

  void read_token() {
    const char c = source_[at_];
    if (c == '#' && line_is_empty_) {
      begin_directive();
    } else {
      separate(c);
    }
    line_is_empty_ = space_ = false;
    if (is_quote(c)) {
      take_through(end_of_literal(c));
    } else if (is_word(c)) {
      read_word();
    } else {
      take_through(at_ + 1);
    }
  }

  void begin_directive() {
    if (!out_.empty() && out_.back() != '\n') {
      out_ += '\n';
    }
    directive_ = true;
  }

  /// In a directive all white space counts: #define F(x) and #define F (x) are two things.
  void separate(char next) {
    if (space_ && !out_.empty() && out_.back() != '\n' && (directive_ || keeps_apart(out_.back(), next))) {
      out_ += ' ';
    }
  }

  void take_through(std::size_t end) {
    end = std::min(end, source_.size());
    out_.append(source_, at_, end - at_);
    at_ = end;
  }

  void read_word() {
    const std::size_t begin = at_;
    const bool number = std::isdigit(static_cast<unsigned char>(source_[begin])) != 0;
    std::size_t end = begin;
    while (end < source_.size() &&
           (is_word(source_[end]) || (number && source_[end] == '\'' && end + 1 < source_.size() && is_word(source_[end + 1])))) {
      ++end;
    }
    take_through(end);
    const std::string_view word = std::string_view(source_).substr(begin, end - begin);
    if (rest().starts_with('"') && (word == "R" || word == "LR" || word == "uR" || word == "UR" || word == "u8R")) {
      take_through(end_of_raw_literal());
    }
  }

  /// A literal that its line does not end is none (an apostrophe in #error): it ends with the line.
  [[nodiscard]] std::size_t end_of_literal(char quote) const {
    for (std::size_t i = at_ + 1; i < source_.size() && source_[i] != '\n'; ++i) {
      if (source_[i] == quote) {
        return i + 1;
      }
      i += source_[i] == '\\' ? 1 : 0;
    }
    return std::min(source_.find('\n', at_), source_.size());
  }

  [[nodiscard]] std::size_t end_of_raw_literal() const {
    const std::size_t open = source_.find('(', at_);
    if (open == std::string_view::npos) {
      return source_.size();
    }
    const std::string close = ")" + source_.substr(at_ + 1, open - at_ - 1) + "\"";
    const std::size_t end = source_.find(close, open);
    return end == std::string_view::npos ? end : end + close.size();
  }

  std::string source_;
  std::size_t at_ = 0;
  std::string out_;
  bool space_ = false;         ///< white space or a comment since the last token
  bool line_is_empty_ = true;  ///< so far
  bool directive_ = false;     ///< this line is one
};

}  // namespace

bool shows_layout(std::string_view source) {
  // Line numbers, and %: for #, which is too rare to be worth a lexer.
  if (source.find("_LINE") != std::string_view::npos || source.find("%:") != std::string_view::npos) {
    return true;
  }
  const std::string joined = spliced(source);
  // Where lines are continued, a raw literal is another than in the joined text.
  if (joined.size() != source.size() && source.find("R\"") != std::string_view::npos) {
    return true;
  }
  std::istringstream lines(joined);
  for (std::string line; std::getline(lines, line);) {
    if (quotes_argument(line)) {
      return true;
    }
  }
  return false;
}

std::string code_text(std::string_view source) { return CodeText(spliced(source)).read(); }

}  // namespace hone::kernel
