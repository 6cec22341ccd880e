#include "engine/reader/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "engine/kernel/standard_headers.hpp"
#include "engine/kernel/static_fields.hpp"
#include "engine/reader/comments.hpp"
#include "engine/reader/flags.hpp"
#include "engine/reader/hints.hpp"
#include "engine/reader/kernel_file.hpp"
#include "engine/reader/source_hash.hpp"
#include "engine/reader/tuned_macros.hpp"

namespace hone::kernel {
namespace {

/// A construct may span lines; in a message and a report it is one.
std::string one_line(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!space || (!result.empty() && result.back() != ' ')) {
      result += space ? ' ' : c;
    }
  }
  return result;
}

std::optional<std::string> read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in || std::filesystem::is_directory(path)) {
    return std::nullopt;
  }
  return std::string(std::istreambuf_iterator<char>(in), {});
}

/// The headers of the user's own that the file includes, as it names them. A name is all that device compilers have of a header.
std::vector<std::pair<std::string, std::string>> own_includes(const Unit& unit) {
  std::vector<std::pair<std::string, std::string>> includes;
  std::map<std::string, std::filesystem::path> files;
  for (const CXCursor child : unit.top_level()) {
    if (unit.kind(child) != CXCursor_InclusionDirective) {
      continue;
    }
    CXFile file = unit.clang().getIncludedFile(child);
    const std::string path = file == nullptr ? std::string{} : unit.clang().take(unit.clang().getFileName(file));
    std::string name = unit.spelling(child);
    if (path.empty() || path.starts_with(kHeaderRoot) || is_cuda_header(name)) {
      continue;
    }
    const auto [known, added] = files.try_emplace(name, std::filesystem::weakly_canonical(path));
    if (!added) {
      if (known->second != std::filesystem::weakly_canonical(path)) {
        unit.fail(child, fmt::format("'{}' names two files, {} and {}: give one of them another name", name, known->second.string(), path));
      }
      continue;
    }
    if (auto text = read_text(path)) {
      includes.emplace_back(std::move(name), std::move(*text));
    }
  }
  return includes;
}

/// The same with the names of enumerators where the parameters of an enumeration are compared with them.
Expression with_labels(const Expression& e, const std::vector<Parameter>& parameters) {
  std::vector<Expression> operands = e.node().operands;
  for (Expression& operand : operands) {
    operand = with_labels(operand, parameters);
  }
  for (std::size_t i = 0; operands.size() == 2 && i < 2; ++i) {
    const auto named = std::ranges::find(parameters, operands[i].node().name, [](const Parameter& p) { return "c." + p.name; });
    Expression& other = operands[1 - i];
    if (named == parameters.end() || named->labels.empty() || !other.is_constant()) {
      continue;
    }
    const auto value = std::ranges::find(named->values, Value(other.node().value.integer()));
    if (value != named->values.end()) {
      other = Expression::variable(named->labels.at(static_cast<std::size_t>(value - named->values.begin())));
    }
  }
  return operands.empty() ? e : Expression::make(e.node().op, std::move(operands));
}

Error bad_kernel(const std::vector<std::string>& errors) {
  std::vector<std::string> unique;
  for (const auto& e : errors) {
    if (std::find(unique.begin(), unique.end(), e) == unique.end()) {
      unique.push_back(e);
    }
  }
  constexpr std::size_t kMost = 8;  // the rest mostly follows from these
  if (unique.size() > kMost + 1) {
    const std::size_t more = unique.size() - kMost;
    unique.resize(kMost);
    unique.push_back(fmt::format("... and {} more errors", more));
  }
  return {ErrorCode::kBadKernel, fmt::format("{}", fmt::join(unique, "\n"))};
}

}  // namespace

void KernelReader::attempt(const std::function<void()>& step) {
  try {
    step();
  } catch (const BadKernel& bad) {
    errors_.emplace_back(bad.what());
  }
}

/// Clang drops KERNEL from a declaration that comes behind the definition, but not the marks of its parameters.
bool KernelReader::declares_kernel(CXCursor function) const {
  const std::vector<CXCursor> parts = unit_.children(function);
  return find_mark(marks_of(unit_, file_, function), "kernel") != nullptr || std::ranges::any_of(parts, [&](CXCursor part) {
           return unit_.kind(part) == CXCursor_ParmDecl && !marks_of(unit_, file_, part).empty();
         });
}

/// A declaration and the definition it is of are one: the marks are on the first.
void KernelReader::add_kernel(CXCursor function) {
  const std::string name = unit_.spelling(function);
  if (std::ranges::none_of(found_.kernels, [&](CXCursor known) { return unit_.spelling(known) == name; })) {
    found_.kernels.push_back(function);
  }
}

void KernelReader::find_declarations() {
  for (const CXCursor child : unit_.top_level()) {
    const auto kind = unit_.kind(child);
    const bool function = kind == CXCursor_FunctionDecl || kind == CXCursor_FunctionTemplate;
    if (kind == CXCursor_VarDecl && unit_.is_users(child)) {
      const std::vector<Mark> marks = marks_of(unit_, file_, child);
      if (find_mark(marks, "shapes") != nullptr) {
        found_.shapes.push_back(child);
      } else if (find_mark(marks, "operation") != nullptr) {
        found_.operations.push_back(child);
      }
    }
    if ((!function && kind != CXCursor_StructDecl) || !unit_.is_users(child)) {
      continue;
    }
    const std::string name = unit_.spelling(child);
    if (unit_.clang().isCursorDefinition(child) == 0) {
      if (function && declares_kernel(child)) {
        add_kernel(child);
      }
      continue;
    }
    if (kind == CXCursor_StructDecl) {
      if (name == "Problem" || name == "Config") {
        (name == "Problem" ? found_.problem : found_.config) = child;
        (name == "Problem" ? found_.has_problem : found_.has_config) = true;
      }
      continue;
    }
    const auto marks = marks_of(unit_, file_, child);
    if (find_mark(marks, "kernel") != nullptr) {
      add_kernel(child);
    } else if (find_mark(marks, "reference") != nullptr) {
      found_.references.push_back(child);
    } else if (find_mark(marks, "input") != nullptr) {
      found_.generators.push_back(child);
    } else if (find_mark(marks, "accept") != nullptr) {
      found_.acceptances.push_back(child);
    } else if (name == "valid" || name == "likely" || name == "launch" || name == "cost" || name.starts_with("launch_")) {
      if (!found_.functions.emplace(name, child).second) {
        error(child, fmt::format("a second '{}'; a file has only one", name));
      }
    }
  }
}

/// `valid` and `likely`, in the same language: a condition for each conjunct.
void KernelReader::read_conditions(const std::string& function, std::vector<Constraint>& conditions) {
  const auto found = found_.functions.find(function);
  if (found == found_.functions.end()) {
    return;
  }
  AstReader reader(unit_, fmt::format("'{}'", function), spec_.type_names);
  const Form form = reader.function(found->second);
  if (form.is_record) {
    unit_.fail(found->second, fmt::format("'{}' must return bool", function));
  }
  const int line = static_cast<int>(unit_.location(found->second).line);
  for (const Expression& conjunct : form.scalar.conjuncts()) {
    const auto note = reader.note(conjunct);
    conditions.push_back({conjunct, one_line(note.text), note.line == 0 ? line : note.line, note.comment});
  }
  later_.emplace_back([this, &conditions] {  // labels come with the values
    for (Constraint& condition : conditions) {
      if (condition.text == condition.condition.text()) {
        condition.text = with_labels(condition.condition, spec_.parameters).text();
      }
    }
  });
}

std::optional<CXCursor> KernelReader::expectations() const {
  const auto found = found_.functions.find("likely");
  return found == found_.functions.end() ? std::nullopt : std::optional(found->second);
}

void KernelReader::read_cost() {
  spec_.cost.sum_length = Expression::constant(1.0);
  const auto cost = found_.functions.find("cost");
  if (cost == found_.functions.end()) {
    return;
  }
  const Form form = AstReader(unit_, "'cost'", spec_.type_names).function(cost->second);
  if (form.field("flops") == nullptr) {
    unit_.fail(cost->second, "'cost' must return a Cost");
  }
  spec_.cost = {form.field("flops")->scalar, form.field("bytes")->scalar, form.field("sum_length")->scalar};
}

void KernelReader::read(const std::vector<std::string>& arguments) {
  attempt([this] { spec_.includes = own_includes(unit_); });
  find_declarations();
  if (!found_.has_problem || !found_.has_config) {
    errors_.push_back(diagnostic({spec_.file, 1, 1}, found_.has_problem ? "no `struct Config`: it holds the parameters the tuner chooses"
                                                                        : "no `struct Problem`: it holds the extents the caller fixes"));
    return;
  }
  read_problem();
  read_config();
  read_operation();
  const std::size_t before = errors_.size();
  read_kernels();
  read_constants();
  if (errors_.size() == before) {  // a reference is held against arguments that could be read
    read_generators();
    read_acceptances();
    read_references();
  }
  attempt([&] { read_conditions("valid", spec_.constraints); });
  attempt([&] { read_conditions("likely", spec_.expectations); });
  attempt([&] { read_cost(); });
  read_shapes();
  if (auto parsed = texts_.parse(file_, arguments, spec_.file); !parsed) {
    errors_.push_back(parsed.error().message);
    return;
  }
  for (const auto& step : later_) {
    attempt(step);
  }
}

}  // namespace hone::kernel

namespace hone {
namespace {

/// One reading of the file, into `spec`, which has its text and flags.
Result<void> read_into(KernelSpec& spec, const kernel::SourceFile& source, const std::vector<std::string>& arguments) {
  HONE_ASSIGN(const auto unit, kernel::Unit::parse(source, {}, arguments, spec.file, spec.file));
  if (const auto errors = unit->errors(); !errors.empty()) {
    auto all = kernel::hints(source, errors);
    all.insert(all.end(), errors.begin(), errors.end());
    return kernel::bad_kernel(all);
  }
  spec.cuda_headers = unit->cuda_headers();
  spec.warnings = unit->warnings();
  kernel::KernelReader reader(*unit, source, spec);
  reader.read(arguments);
  if (!reader.errors().empty()) {
    return kernel::bad_kernel(reader.errors());
  }
  spec.source_hash = kernel::source_hash(spec, *unit, reader.expectations());
  return {};
}

/// Macros that are tuned are for bodies: what was read must be the same whatever their values.
Result<void> check_tuned_macros(const KernelSpec& spec, const kernel::SourceFile& source, const std::vector<std::string>& arguments) {
  for (const std::vector<std::string>& macros : kernel::other_macros(spec)) {
    KernelSpec other;
    other.file = spec.file;
    other.source = spec.source;
    std::vector<std::string> all = arguments;
    all.insert(all.end(), macros.begin(), macros.end());
    if (!read_into(other, source, all)) {
      continue;  // these values do not belong together: the device compiler will say so
    }
    if (const std::string found = kernel::difference(spec, other); !found.empty()) {
      return Error{ErrorCode::kBadKernel, fmt::format("{}:1:1: error: {} depends on a macro that an OPTION(\"-D...\") defines. Use tuned "
                                                      "macros only in kernel bodies; elsewhere write the parameter, as in c.tile",
                                                      spec.file, found)};
    }
  }
  return {};
}

/// Other values for all STATIC fields.
Shape other_values(const KernelSpec& spec) {
  Shape shape;
  for (const ProblemField& field : spec.problem) {
    if (!field.is_static()) {
      continue;
    }
    constexpr std::int64_t kLarge = 1 << 30;
    std::int64_t value = field.default_value > kLarge ? field.default_value / 2 : field.default_value == 0 ? 1 : 2 * field.default_value;
    if (field.kind == FieldKind::kFlag) {
      value = 1 - field.default_value;
    } else if (field.kind == FieldKind::kEnumeration) {
      value = field.labels.front().second == field.default_value ? field.labels.back().second : field.labels.front().second;
    } else if (field.most && value > *field.most) {
      value = field.least;
    }
    shape.emplace_back(field.name, value);
  }
  return shape;
}

/// What is read is read once, with p.* in it: a size of a type or an enumerator that a STATIC field went into would keep the default's
/// value.
Result<void> check_static_fields(const KernelSpec& spec, const kernel::SourceFile& source, const std::vector<std::string>& arguments) {
  const Shape values = other_values(spec);
  if (values.empty()) {
    return {};
  }
  KernelSpec other;
  other.file = spec.file;
  other.source = source_for(spec, values);
  if (!read_into(other, {source.path, other.source}, arguments)) {
    return {};  // these values do not belong together: the device compiler will say so
  }
  for (std::size_t i = 0; i < std::min(spec.problem.size(), other.problem.size()); ++i) {
    other.problem[i].default_value = spec.problem[i].default_value;
  }
  if (const std::string found = kernel::difference(spec, other); !found.empty()) {
    return Error{ErrorCode::kBadKernel, fmt::format("{}:1:1: error: {} depends on a STATIC field through the size of a type or an "
                                                    "enumerator: write it with the field itself, as in p.{}",
                                                    spec.file, found, values.front().first)};
  }
  return {};
}

}  // namespace

Result<KernelSpec> read_kernel_file(const std::filesystem::path& file, const ReadOptions& options) {
  HONE_TRY(check_kernel_file(file));
  auto text = kernel::read_text(file);
  if (!text) {
    return Error{ErrorCode::kIo, fmt::format("the kernel file {} cannot be read", file.string())};
  }
  KernelSpec spec;
  spec.file = file.string();
  spec.source = std::move(*text);
  spec.summary = kernel::leading_comment(spec.source);
  const kernel::SourceFile source{spec.file, spec.source};
  kernel::Flags flags;
  HONE_TRY(kernel::add_flags_of_file(source, flags));
  HONE_TRY(kernel::add_flags(options.flags, std::filesystem::current_path(), flags));
  spec.flags = flags.others;
  std::vector<std::string> arguments = flags.for_reading();
  const std::size_t given = arguments.size();
  HONE_ASSIGN(const std::vector<std::string> macros, kernel::tuned_macros(source, arguments));
  arguments.insert(arguments.end(), macros.begin(), macros.end());
  HONE_TRY(read_into(spec, source, arguments));
  HONE_TRY(check_static_fields(spec, source, arguments));
  if (!macros.empty()) {
    arguments.resize(given);
    HONE_TRY(check_tuned_macros(spec, source, arguments));
  }
  return spec;
}

}  // namespace hone
