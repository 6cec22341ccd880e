#pragma once
// The words of a condition: where the parser stands in its text, and what comes next.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/kernel/expression.hpp"

namespace hone::space {

/// An operator as it is written.
struct Spelling {
  std::string_view text;
  Operator op;
};

class ConditionScanner {
 public:
  /// Caught by parse_condition; never leaves it.
  struct SyntaxError {
    std::string what;
    std::size_t column;
  };

  explicit ConditionScanner(std::string_view text) : text_(text) {}

  [[noreturn]] void fail(std::string what) const { throw SyntaxError{std::move(what), at_}; }

  [[nodiscard]] std::size_t place() const { return at_; }
  void go_to(std::size_t place) { at_ = place; }
  void pass(std::size_t characters) { at_ += characters; }
  void skip() { at_ = std::min(text_.find_first_not_of(" \t\n", at_), text_.size()); }
  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
  [[nodiscard]] bool number_begins() const;

  /// The letters, digits and underscores here; empty if there are none.
  [[nodiscard]] std::string_view word() const;
  /// These go to the next word first; what they take is passed.
  bool at_token(std::string_view token);
  bool take(std::string_view token);
  bool take_word(std::string_view wanted);
  void expect(std::string_view token);
  /// The operator here, of these; null if it is none of them.
  const Spelling* take_any(const std::vector<Spelling>& spellings);
  Value number();
  bool text_begins();
  /// What stands between the quotes that begin here; nothing if they do not end. It is not passed.
  [[nodiscard]] std::optional<std::string_view> quoted() const;

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace hone::space
