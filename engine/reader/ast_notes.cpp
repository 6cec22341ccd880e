// Where the pieces of an expression stand in the source: what messages and reports say of a constraint.

#include <fmt/format.h>

#include <algorithm>

#include "engine/reader/ast_expression.hpp"
#include "engine/reader/comments.hpp"

namespace hone::kernel {
namespace {

constexpr std::size_t kReadable = 100;      // characters of a constraint
constexpr std::size_t kMostNegated = 1000;  // pieces of a function that are tried for each constraint

}  // namespace

int AstReader::line_of(const Expression& piece) const {
  for (const auto& known : remembered_) {
    if (&known.piece.node() == &piece.node()) {
      return known.note.line;
    }
  }
  int first = 0;
  for (const auto& operand : piece.node().operands) {
    const int line = line_of(operand);
    first = line != 0 && (first == 0 || line < first) ? line : first;
  }
  return first;
}

AstReader::Note AstReader::note(const Expression& piece) const {
  const std::string text = piece.text();
  const auto condition = conditions_.find(text);
  for (const auto& known : remembered_) {
    if (&known.piece.node() == &piece.node() && !known.note.text.empty()) {
      return condition == conditions_.end() ? known.note : Note{condition->second.line, known.note.text, condition->second.comment};
    }
  }
  if (condition != conditions_.end()) {
    return condition->second;
  }
  // What was turned around is told in its new form, unless inlined functions have made that unreadable.
  Note derived{line_of(piece), text, {}};
  for (const auto& known : remembered_) {
    if (text.size() < kReadable || known.note.text.empty() || remembered_.size() > kMostNegated) {
      continue;
    }
    const auto negated = Expression::make(Operator::kNot, {known.piece}).conjuncts();
    if (std::ranges::any_of(negated, [&](const Expression& conjunct) { return conjunct.text() == text; })) {
      derived = {known.note.line, fmt::format("!({})", known.note.text), {}};
    }
  }
  const auto beside = std::ranges::find_if(
      remembered_, [&](const Remembered& known) { return known.note.line == derived.line && !known.note.comment.empty(); });
  derived.comment = beside == remembered_.end() ? std::string{} : beside->note.comment;
  return derived;
}

/// What must hold after a statement: `written` is its part of the source. Inlined functions may make a condition unreadable: then it is
/// told as written.
void AstReader::remember_condition(CXCursor statement, CXCursor written, const Expression& condition, const Frame& frame) {
  if (!frame.is_list) {
    return;
  }
  const std::size_t begin = unit_.offset(written), end = unit_.end_offset(written);
  std::string source(unit_.file_text(written).substr(begin, end - begin));
  if (unit_.kind(statement) == CXCursor_IfStmt) {
    source = fmt::format("!({})", source);
  }
  const int line = static_cast<int>(unit_.location(statement).line);
  for (const Expression& piece : condition.conjuncts()) {
    const std::string text = piece.text();
    conditions_.try_emplace(text, Note{line, text.size() < kReadable ? text : source, comment_of(unit_, statement)});
  }
}

void AstReader::remember(CXCursor e, const Form& form, const Frame& frame) {
  if (!frame.outermost || form.is_record || form.scalar.is_constant()) {
    return;
  }
  const bool known =
      std::any_of(remembered_.begin(), remembered_.end(), [&](const Remembered& r) { return &r.piece.node() == &form.scalar.node(); });
  if (!known) {
    remembered_.push_back({form.scalar, {static_cast<int>(unit_.location(e).line), unit_.source(e), comment_of(unit_, e)}});
  }
}

}  // namespace hone::kernel
