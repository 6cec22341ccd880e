// Where the pieces of an expression stand in the source: what messages and reports say of a constraint.

#include <fmt/format.h>

#include <algorithm>

#include "engine/kernel/ast_expression.hpp"
#include "engine/kernel/comments.hpp"

namespace hone::kernel {
namespace {

constexpr std::size_t kReadable = 100;  // characters of a constraint
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
  for (const auto& known : remembered_) {
    if (&known.piece.node() == &piece.node() && !known.note.text.empty()) {
      return known.note;
    }
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
