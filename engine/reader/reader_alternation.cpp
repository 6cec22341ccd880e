// Passes that repeat: an input that is, from the second run on, what the run before wrote.

#include <fmt/format.h>

#include <algorithm>

#include "engine/reader/reader.hpp"

namespace hone::kernel {

/// Takes `.then = y` out of the items of an input's mark.
void KernelReader::take_then(std::vector<Mark>& items, int index) {
  for (std::size_t i = 1; i < items.size(); ++i) {
    Mark item = items[i];
    if (take_name(item) != "then") {
      continue;
    }
    const Direction direction = spec_.arguments[static_cast<std::size_t>(index)].direction;
    if (direction != Direction::kIn && direction != Direction::kWorkspace) {
      throw BadKernel(diagnostic(items[i].where, ".then is for an IN, or a WORKSPACE that an earlier pass wrote: the first run reads it"));
    }
    if (spec_.arguments[static_cast<std::size_t>(index)].capacity) {
      throw BadKernel(
          diagnostic(items[i].where, ".then is for memory that a kernel writes: constant memory is copied once, before the first pass"));
    }
    thens_.push_back({spec_.passes.size(), index, take_argument(item), items[i]});
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

/// Behind all arguments of the file's kernels: the memory that the runs alternate with.
void KernelReader::add_alternation(const Then& then) {
  Pass& pass = spec_.passes.at(then.pass);
  const auto known = std::ranges::find(spec_.arguments, then.result, &Argument::name);
  const auto result = static_cast<int>(known - spec_.arguments.begin());
  if (known == spec_.arguments.end() || std::ranges::find(pass.arguments, result) == pass.arguments.end()) {
    throw BadKernel(diagnostic(then.item.where, fmt::format(".then names the output of the previous run: '{}' is not an argument of {}",
                                                            then.result, pass.function)));
  }
  const Argument& first = spec_.arguments[static_cast<std::size_t>(then.first)];
  if (known->direction != Direction::kOut || known->zeroed || Element::of(*known) != Element::of(first)) {
    throw BadKernel(diagnostic(
        then.item.where, fmt::format("'{}' must be an OUT with the elements of '{}': each run reads what the previous run wrote there",
                                     then.result, first.name)));
  }
  if (std::ranges::any_of(pass.alternations, [&](const Alternation& a) { return a.result == result; })) {
    throw BadKernel(diagnostic(then.item.where, fmt::format("two inputs cannot both continue with '{}'", then.result)));
  }
  Argument spare = *known;
  spare.name = then.result + ".spare";  // no name of C++: it cannot be one of the kernel's
  spare.direction = Direction::kWorkspace;
  spare.bound = {};
  auto place = std::ranges::find(spec_.arguments, spare.name, &Argument::name);
  if (place == spec_.arguments.end()) {
    spec_.arguments.push_back(std::move(spare));
    has_extent_.push_back(true);
    place = spec_.arguments.end() - 1;
  }
  pass.alternations.push_back({then.first, result, static_cast<int>(place - spec_.arguments.begin())});
  later_.emplace_back([this, then, alternation = pass.alternations.back()] { finish_alternation(then, alternation); });
}

void KernelReader::finish_alternation(const Then& then, const Alternation& alternation) {
  const auto extent_of = [&](int argument) -> Expression& { return spec_.arguments[static_cast<std::size_t>(argument)].extent; };
  const Expression& elements = extent_of(alternation.result);
  if (elements.text() != extent_of(alternation.first).text()) {
    throw BadKernel(diagnostic(
        then.item.where, fmt::format("'{}' has {} elements and this argument has {}: they must be equal, because one replaces the other",
                                     then.result, elements.text(), extent_of(alternation.first).text())));
  }
  const Expression& repeat = spec_.passes[then.pass].repeat;
  const bool asks_device = std::ranges::any_of(repeat.variables(), [](const std::string& name) { return name.starts_with("d."); });
  const Expression once = Expression::make(Operator::kLess, {repeat, Expression::constant(2)});
  extent_of(alternation.spare) = asks_device ? elements : Expression::make(Operator::kSelect, {once, Expression::constant(0), elements});
}

}  // namespace hone::kernel
