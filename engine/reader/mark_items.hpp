#pragma once
// Items of a mark behind its first: `.sorted`, `.below = p.rows`.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/reader/reader.hpp"

namespace hone::kernel {

/// What may be said: flags, and expressions over the Problem.
template <class Of>
struct ItemNames {
  struct Flag {
    std::string_view name;
    bool Of::*member;
  };
  struct Number {
    std::string_view name;
    std::optional<Expression> Of::*member;
  };
  std::span<const Flag> flags;
  std::span<const Number> numbers;
  std::string_view wrong;  ///< of an item that is neither, behind its text: "is not a tolerance: ..."
};

template <class Of>
Of KernelReader::read_items(const std::vector<Mark>& items, const Scope& scope, std::size_t index, Of Argument::*part,
                            const ItemNames<Of>& names) {
  Of read = spec_.arguments[index].*part;
  for (std::size_t i = 1; i < items.size(); ++i) {
    Mark item = items[i];
    const std::string name = take_name(item);
    const auto flag = std::ranges::find(names.flags, name, &ItemNames<Of>::Flag::name);
    const auto number = std::ranges::find(names.numbers, name, &ItemNames<Of>::Number::name);
    if (flag != names.flags.end()) {
      read.*flag->member = item.text.find("false") == std::string::npos;
    } else if (number != names.numbers.end() && item.text.find_first_not_of(" \t\n") != std::string::npos) {
      const std::size_t id = texts_.add_number(item, scope, fmt::format(".{} of '{}'", name, spec_.arguments[index].name));
      read.*number->member = Expression::constant(0.0);  // something, until the text is read
      later_.emplace_back([this, id, index, part, member = number->member] { spec_.arguments[index].*part.*member = texts_.extent(id); });
    } else {
      throw BadKernel(diagnostic(items[i].where, fmt::format("'{}' {}", items[i].text, names.wrong)));
    }
  }
  return read;
}

}  // namespace hone::kernel
