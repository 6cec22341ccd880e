#include "engine/reader/marks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace hone::kernel {
namespace {

constexpr std::string_view kPrefix = "hone:";

/// Where the parenthesis opened just before `begin` closes; strings and comments are passed over.
std::size_t closing_parenthesis(std::string_view text, std::size_t begin) {
  int depth = 1;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '"' || text[i] == '\'') {
      const char quote = text[i];
      for (++i; i < text.size() && text[i] != quote; ++i) {
        i += text[i] == '\\' ? 1 : 0;
      }
    } else if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.substr(i, 2) == "/*") {
      i = std::min(text.find("*/", i), text.size());
    } else if (text[i] == '(') {
      ++depth;
    } else if (text[i] == ')' && --depth == 0) {
      return i;
    }
  }
  return std::string_view::npos;
}

/// Whether the file has the mark itself at `offset`, as in TENSOR_MAP for "tensor_map", or a macro that expands to it.
bool is_written(std::string_view text, std::size_t offset, std::string_view kind) {
  const auto same = [](char written, char lower) { return std::tolower(static_cast<unsigned char>(written)) == lower; };
  const std::string_view name = text.substr(std::min(offset, text.size()), kind.size());
  const std::size_t behind = offset + kind.size();
  return std::equal(name.begin(), name.end(), kind.begin(), kind.end(), same) && behind < text.size() &&
         (text[behind] == ' ' || text[behind] == '(');
}

/// The preprocessor squeezes the text of a mark; the file has it as it was written, and knows the column.
void take_text_as_written(const SourceFile& main, std::size_t mark_offset, Mark& mark) {
  const std::string_view text = main.text;
  if (!is_written(text, mark_offset, mark.kind)) {
    return;
  }
  std::size_t open = mark_offset;
  while (open < text.size() && (std::isalnum(static_cast<unsigned char>(text[open])) != 0 || text[open] == '_' || text[open] == ' ')) {
    ++open;
  }
  const auto close = open < text.size() && text[open] == '(' ? closing_parenthesis(text, open + 1) : std::string_view::npos;
  if (close == std::string_view::npos) {
    return;
  }
  mark.text = text.substr(open + 1, close - open - 1);
  mark.where.column += static_cast<unsigned>(open + 1 - mark_offset);
}

}  // namespace

std::vector<Mark> marks_of(const Unit& unit, const SourceFile& main, CXCursor declaration) {
  std::vector<Mark> marks;
  for (const CXCursor child : unit.children(declaration)) {
    const std::string annotation = unit.kind(child) == CXCursor_AnnotateAttr ? unit.spelling(child) : std::string{};
    if (!annotation.starts_with(kPrefix)) {
      continue;
    }
    const auto colon = std::min(annotation.find(':', kPrefix.size()), annotation.size());
    Mark mark{annotation.substr(kPrefix.size(), colon - kPrefix.size()), annotation.substr(std::min(colon + 1, annotation.size())),
              unit.location(child), unit.location(child)};
    if (unit.physical_file(child) == main.path && mark.kind != "option" && mark.kind != "kernel") {
      take_text_as_written(main, unit.offset(child), mark);
    }
    marks.push_back(std::move(mark));
  }
  return marks;
}

namespace {

/// Moves the text's begin, and its place with it.
void drop_front(Mark& mark, std::size_t count) {
  for (const char c : mark.text.substr(0, count)) {
    mark.where.line += c == '\n' ? 1 : 0;
    mark.where.column = c == '\n' ? 1 : mark.where.column + 1;
  }
  mark.text.erase(0, count);
}

void drop_space(Mark& mark) { drop_front(mark, std::min(mark.text.find_first_not_of(" \t\n"), mark.text.size())); }

/// Where a comma outside of all brackets is followed by `.name`; the text's end if nowhere.
std::size_t end_of_item(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' || text[i] == '{' || text[i] == '[' ? 1 : text[i] == ')' || text[i] == '}' || text[i] == ']' ? -1 : 0;
    const std::size_t next = text.find_first_not_of(" \t\n", i + 1);
    const bool named = next != std::string_view::npos && text[next] == '.' && next + 1 < text.size() &&
                       (std::isalpha(static_cast<unsigned char>(text[next + 1])) != 0);
    if (text[i] == ',' && depth == 0 && named) {
      return i;
    }
  }
  return text.size();
}

}  // namespace

std::vector<Mark> items_of(const Mark& mark) {
  std::vector<Mark> items;
  for (Mark rest = mark; !rest.text.empty() || items.empty();) {
    const std::size_t end = end_of_item(rest.text);
    Mark item = rest;
    item.text.resize(end);
    drop_front(rest, std::min(end + 1, rest.text.size()));
    if (!items.empty()) {
      drop_space(item);
    }
    items.push_back(std::move(item));
  }
  return items;
}

std::string take_argument(Mark& mark) {
  drop_space(mark);
  const std::size_t comma = std::min(mark.text.find(','), mark.text.size());
  std::string name = mark.text.substr(0, comma);
  name.resize(name.find_last_not_of(" \t\n") + 1);
  drop_front(mark, std::min(comma + 1, mark.text.size()));
  return name;
}

std::string take_name(Mark& item) {
  drop_space(item);
  std::size_t end = 1;
  while (end < item.text.size() && (std::isalnum(static_cast<unsigned char>(item.text[end])) != 0 || item.text[end] == '_')) {
    ++end;
  }
  std::string taken = item.text.substr(std::min<std::size_t>(1, item.text.size()), end - 1);
  drop_front(item, std::min(end, item.text.size()));
  drop_space(item);
  if (item.text.starts_with('=')) {
    drop_front(item, 1);
  }
  return taken;
}

bool take_elements(Mark& item) {
  Mark named = item;
  drop_space(named);
  if (!named.text.starts_with(".elements")) {
    return false;
  }
  take_name(named);
  item = std::move(named);
  return true;
}

const Mark* find_mark(const std::vector<Mark>& marks, std::string_view kind) {
  const auto found = std::find_if(marks.begin(), marks.end(), [&](const Mark& m) { return m.kind == kind; });
  return found == marks.end() ? nullptr : &*found;
}

std::size_t MarkTexts::add(const Mark& mark, std::string reading, std::string_view before, std::string_view after,
                           const std::vector<std::string>& types) {
  source_ += fmt::format("{}\n#line {} \"{}\"\n{}{}\n{}\n", before, mark.where.line, mark.where.file,
                         std::string(mark.where.column > 0 ? mark.where.column - 1 : 0, ' '), mark.text, after);
  texts_.push_back({fmt::format("hone_text_{}", texts_.size()), std::move(reading), types});
  return texts_.size() - 1;
}

/// "template <class T> constexpr RESULT hone_text_3(Problem p, Config c)"
std::string MarkTexts::head(std::string_view result, const Scope& scope) const {
  const std::string types = scope.types.empty() ? "" : fmt::format("template <class {}> ", fmt::join(scope.types, ", class "));
  const auto parameter = [](std::string_view type, const std::string& name) {
    return name.empty() ? "" : fmt::format("{} {}", type, name);
  };
  const std::string problem = parameter("Problem", scope.problem), config = parameter("Config", scope.config);
  return fmt::format("{}constexpr {} hone_text_{}({}{}{})", types, result, texts_.size(), problem,
                     problem.empty() || config.empty() ? "" : ", ", config);
}

std::size_t MarkTexts::add_extent(const Mark& mark, const Scope& scope, std::string reading) {
  return add(mark, std::move(reading), head("long", scope) + " { return (long)(", "); }", scope.types);
}

std::size_t MarkTexts::add_number(const Mark& mark, const Scope& scope, std::string reading) {
  return add(mark, std::move(reading), head("auto", scope) + " { return (", "); }", scope.types);
}

std::size_t MarkTexts::add_tensor_view(const Mark& mark, const Scope& scope, std::string reading) {
  return add(mark, std::move(reading), head("TensorView", scope) + " { return {", "}; }", scope.types);
}

std::size_t MarkTexts::add_values(const Mark& mark, const std::string& field, const std::string& type) {
  // Inside a struct derived from Config, so that enumerations declared in Config are in sight.
  const std::string before = fmt::format("struct hone_text_{} : Config {{ static constexpr {} values[] = {{", texts_.size(), type);
  return add(mark, fmt::format("a value of '{}'", field), before, "}; };");
}

std::size_t MarkTexts::add_constant(const Mark& mark, std::string reading) {
  return add(mark, std::move(reading), fmt::format("constexpr double hone_text_{} = (double)(", texts_.size()), ");");
}

std::size_t MarkTexts::add_problems(const Mark& mark, std::string reading) {
  return add(mark, std::move(reading), fmt::format("constexpr Problem hone_text_{}[] = {{", texts_.size()), "};");
}

Result<void> MarkTexts::parse(const SourceFile& user, const std::vector<std::string>& arguments, const std::string& shown_as) {
  const std::string absolute = std::filesystem::absolute(user.path).lexically_normal().string();
  const SourceFile texts{fmt::format("{}/marks.cpp", kHeaderRoot), fmt::format("#include \"{}\"\n{}", absolute, source_)};
  HONE_ASSIGN(unit_, Unit::parse(texts, {{absolute, user.text}}, arguments, absolute, shown_as));
  if (const auto errors = unit_->errors(); !errors.empty()) {
    return Error{ErrorCode::kBadKernel, fmt::format("{}", fmt::join(errors, "\n"))};
  }
  for (const CXCursor child : unit_->top_level()) {
    if (unit_->kind(child) >= CXCursor_FirstPreprocessing && unit_->kind(child) <= CXCursor_LastPreprocessing) {
      continue;
    }
    const std::string name = unit_->spelling(child);
    const auto text = std::find_if(texts_.begin(), texts_.end(), [&](const Text& t) { return t.name == name; });
    if (text != texts_.end()) {
      text->declaration = child;
    }
  }
  return {};
}

Expression MarkTexts::extent(std::size_t id) const { return tensor_view(id).scalar; }

Form MarkTexts::tensor_view(std::size_t id) const {
  return AstReader(*unit_, texts_[id].reading, texts_[id].types).function(texts_[id].declaration);
}

CXCursor MarkTexts::list(std::size_t id) const {
  for (const CXCursor child : unit_->children(texts_[id].declaration)) {
    if (unit_->kind(child) == CXCursor_VarDecl) {
      return unit_->expressions(child).back();
    }
  }
  unit_->fail(texts_[id].declaration, fmt::format("{} cannot be read", texts_[id].reading));
}

std::vector<Value> MarkTexts::values(std::size_t id) const {
  std::vector<Value> result;
  for (const CXCursor item : unit_->expressions(list(id))) {
    result.push_back(AstReader(*unit_, texts_[id].reading).constant(item));
  }
  return result;
}

std::vector<MarkTexts::Item> MarkTexts::problems(std::size_t id) const {
  std::vector<Item> items;
  for (const CXCursor item : unit_->expressions(unit_->expressions(texts_[id].declaration).back())) {
    items.push_back({AstReader(*unit_, texts_[id].reading).record(item), unit_->location(item)});
  }
  return items;
}

Value MarkTexts::constant(std::size_t id) const {
  return AstReader(*unit_, texts_[id].reading).constant(unit_->expressions(texts_[id].declaration).back());
}

}  // namespace hone::kernel
