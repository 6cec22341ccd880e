// What outputs may be beside the reference's answer: tolerances, and functions that accept a result.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/reader/mark_items.hpp"

namespace hone::kernel {
namespace {

using BoundNames = ItemNames<Bound>;
constexpr std::array<BoundNames::Flag, 1> kBoundFlags{{{"set", &Bound::set}}};
constexpr std::array<BoundNames::Number, 5> kBoundNumbers{{{"absolute", &Bound::absolute},
                                                           {"relative", &Bound::relative},
                                                           {"ulps", &Bound::ulps},
                                                           {"fraction", &Bound::fraction},
                                                           {"group", &Bound::group}}};
constexpr BoundNames kBoundNames{kBoundFlags, kBoundNumbers,
                                 "is not a tolerance: those are .absolute = , .relative = , .ulps = , .fraction = , .set and .group ="};
constexpr std::string_view kExpected = "expected_";

}  // namespace

/// The TOLERANCE marks of a reference or kernel.
void KernelReader::read_tolerances(CXCursor function, const Scope& scope) {
  for (const Mark& mark : marks_of(unit_, file_, function)) {
    if (mark.kind != "tolerance") {
      continue;
    }
    std::vector<Mark> items = items_of(mark);
    const std::string target = take_argument(items.front());
    const auto known = std::ranges::find(spec_.arguments, target, &Argument::name);
    if (known == spec_.arguments.end() || (known->direction != Direction::kOut && known->direction != Direction::kInOut) ||
        items.size() == 1) {
      throw BadKernel(diagnostic(
          mark.where, fmt::format("TOLERANCE names an output and its allowed error, as in TOLERANCE(y, .ulps = 1): '{}'", mark.text)));
    }
    known->bound = read_items(items, scope, static_cast<std::size_t>(known - spec_.arguments.begin()), &Argument::bound, kBoundNames);
  }
}

void KernelReader::read_acceptances() {
  for (const CXCursor acceptance : found_.acceptances) {
    attempt([&] { read_acceptance(acceptance); });
  }
}

void KernelReader::read_acceptance(CXCursor function) {
  std::vector<CXCursor> parameters;
  const Shape shape = shape_of_answer(function, "a function that accepts results", parameters);
  if (unit_.clang().getCanonicalType(unit_.clang().getCursorResultType(function)).kind != CXType_Bool) {
    unit_.fail(function, "ACCEPT must be followed by a function that returns bool: whether the result is correct at this index");
  }
  Acceptance acceptance;
  acceptance.function = unit_.spelling(function);
  bool judges = false;
  for (std::size_t i = 1; i < parameters.size(); ++i) {
    if (is_struct(parameters[i], "Problem")) {
      acceptance.arguments.push_back(kProblemParameter);
      continue;
    }
    const std::string name = unit_.spelling(parameters[i]);
    const auto output = std::ranges::find_if(spec_.arguments, [&](const Argument& argument) {
      return (argument.direction == Direction::kOut || argument.direction == Direction::kInOut) &&
             name == std::string(kExpected) + argument.name;
    });
    if (output != spec_.arguments.end()) {
      acceptance.arguments.push_back(spec_.expected(static_cast<int>(output - spec_.arguments.begin())));
      continue;
    }
    const int index = named_argument(parameters[i], "a function that accepts results");
    const Argument& argument = spec_.arguments[static_cast<std::size_t>(index)];
    check_flat_element(parameters[i], shape, argument);
    judges = judges || argument.direction == Direction::kOut || argument.direction == Direction::kInOut;
    acceptance.arguments.push_back(index);
  }
  if (!judges) {
    unit_.fail(function, fmt::format("'{}' takes no output of the kernel, so it has nothing to accept", acceptance.function));
  }
  const Mark mark = *find_mark(marks_of(unit_, file_, function), "accept");
  if (mark.text.find_first_not_of(" \t\n") == std::string::npos) {
    throw BadKernel(diagnostic(mark.where, "ACCEPT needs its number of indices, as in ACCEPT(p.rows)"));
  }
  const std::size_t id = texts_.add_extent(mark, shape.scope, fmt::format("the extent of '{}'", acceptance.function));
  later_.emplace_back([this, id, number = spec_.acceptances.size()] { spec_.acceptances[number].extent = texts_.extent(id); });
  spec_.acceptances.push_back(std::move(acceptance));
}

}  // namespace hone::kernel
