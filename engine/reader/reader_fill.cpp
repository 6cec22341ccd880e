// What inputs are: what their marks say, and generators.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/reader/mark_items.hpp"

namespace hone::kernel {
namespace {

using FillNames = ItemNames<Fill>;
constexpr std::array<FillNames::Flag, 4> kFillFlags{
    {{"sorted", &Fill::sorted}, {"distinct", &Fill::distinct}, {"permutation", &Fill::permutation}, {"normal", &Fill::normal}}};
constexpr std::array<FillNames::Number, 3> kFillNumbers{{{"low", &Fill::low}, {"below", &Fill::below}, {"zeros", &Fill::zeros}}};
constexpr FillNames kFillNames{kFillFlags, kFillNumbers,
                               "is not an item of an input's mark: those are .low = , .below = , .zeros = , .sorted, .distinct, "
                               ".permutation and .normal"};

/// What contradicts itself, as a sentence; empty if nothing does. The elements may be integers, real numbers or, if they are T, both.
std::string contradiction(const Fill& fill, bool may_be_integers, bool may_be_real) {
  const bool ranged = fill.low || fill.below;
  if (fill.permutation && (ranged || fill.zeros || fill.sorted || fill.normal)) {
    return "a .permutation holds 0 to N - 1 in any order: it takes no other item";
  }
  if (fill.normal && (ranged || fill.distinct)) {
    return ".normal numbers have no range, and may be equal";
  }
  if (fill.low && !fill.below) {
    return ".low needs .below, the end of the range";
  }
  if (fill.distinct && !fill.below) {
    return ".distinct elements need a range, as in .below = p.rows";
  }
  if (fill.distinct && fill.zeros) {
    return ".distinct elements cannot have a share of .zeros";
  }
  if ((fill.distinct || fill.permutation) && !may_be_integers) {
    return ".distinct and .permutation are for integers";
  }
  if (fill.normal && !may_be_real) {
    return ".normal is for real numbers";
  }
  return "";
}

}  // namespace

/// Items behind the extent; of passes that share the argument the first that says something counts.
void KernelReader::read_fill(const std::vector<Mark>& items, const Shape& shape, int index) {
  if (items.size() == 1) {
    return;
  }
  const Argument& argument = spec_.arguments[static_cast<std::size_t>(index)];
  if (argument.direction != Direction::kIn && argument.direction != Direction::kInOut) {
    throw BadKernel(diagnostic(items[1].where,
                               fmt::format("argument '{}' is not an input: its mark takes only the number of elements", argument.name)));
  }
  Scope scope = shape.scope;
  scope.config.clear();  // inputs are the same for all configurations
  Fill fill = read_items(items, scope, static_cast<std::size_t>(index), &Argument::fill, kFillNames);
  const bool whole = is_integer(argument.dtype), is_t = argument.element_is_t;
  if (const std::string why = contradiction(fill, whole || is_t, !whole || is_t); !why.empty()) {
    throw BadKernel(diagnostic(items[1].where, fmt::format("argument '{}': {}", argument.name, why)));
  }
  spec_.arguments[static_cast<std::size_t>(index)].fill = std::move(fill);
}

void KernelReader::read_generators() {
  for (const CXCursor generator : found_.generators) {
    attempt([&] { read_generator(generator); });
  }
}

void KernelReader::read_generator(CXCursor function) {
  std::vector<CXCursor> parameters;
  const Shape shape = shape_of_answer(function, "a generator", parameters);
  Mark mark = *find_mark(marks_of(unit_, file_, function), "input");
  const std::string target = take_argument(mark);
  const auto known = std::ranges::find(spec_.arguments, target, &Argument::name);
  if (known == spec_.arguments.end() || (known->direction != Direction::kIn && known->direction != Direction::kInOut)) {
    throw BadKernel(diagnostic(
        mark.where, fmt::format("INPUT names the input that it fills, as in INPUT(x, p.n): '{}' is not an input of the kernel", target)));
  }
  if (known->fill.given()) {
    throw BadKernel(diagnostic(mark.where, fmt::format("input '{}' has a generator and a mark with items: use only one of them", target)));
  }
  Generator generator;
  generator.function = unit_.spelling(function);
  generator.target = static_cast<int>(known - spec_.arguments.begin());
  const std::string result = unit_.type_name(unit_.clang().getCanonicalType(unit_.clang().getCursorResultType(function)));
  generator.returns_element = result != "void";
  for (std::size_t i = 1; i < parameters.size(); ++i) {
    const CXType type = unit_.type(parameters[i]);
    const CXType refers = type.kind == CXType_LValueReference ? unit_.clang().getPointeeType(type) : type;
    if (unit_.type_name(unit_.clang().getCanonicalType(refers)) == "Random") {
      generator.arguments.push_back(kRandomParameter);
    } else if (is_struct(parameters[i], "Problem")) {
      generator.arguments.push_back(kProblemParameter);
    } else {
      const int index = named_argument(parameters[i], "a generator");
      const Argument& argument = spec_.arguments[static_cast<std::size_t>(index)];
      if (argument.direction != Direction::kIn && argument.direction != Direction::kInOut && argument.direction != Direction::kScalar) {
        unit_.fail(parameters[i],
                   fmt::format("'{}' is not an input: a generator takes inputs, scalars, `Random&` and the Problem", argument.name));
      }
      check_flat_element(parameters[i], shape, argument);
      generator.arguments.push_back(index);
    }
  }
  const std::size_t number = spec_.generators.size();
  if (!mark.text.empty()) {
    const std::size_t id = texts_.add_extent(mark, shape.scope, fmt::format("the extent of '{}'", generator.function));
    later_.emplace_back([this, id, number] { spec_.generators[number].extent = texts_.extent(id); });
  }
  spec_.generators.push_back(std::move(generator));
}

}  // namespace hone::kernel
