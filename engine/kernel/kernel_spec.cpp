#include "engine/kernel/kernel_spec.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/names.hpp"

namespace hone {

const Parameter* KernelSpec::find_parameter(std::string_view parameter) const {
  const auto found = std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& p) { return p.name == parameter; });
  return found == parameters.end() ? nullptr : &*found;
}

namespace {

/// Joins what is said; each part is there or not.
class Words {
 public:
  void add(bool said, std::string_view what) { text_ += said ? (text_.empty() ? "" : ", ") + std::string(what) : ""; }
  void add(std::string_view before, const std::optional<Expression>& number, std::string_view behind) {
    add(number.has_value(), number ? std::string(before) + number->text() + std::string(behind) : "");
  }
  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string fill_text(const KernelSpec& spec, int argument) {
  Words words;
  for (const Generator& generator : spec.generators) {
    words.add(generator.target == argument, "by " + generator.function);
  }
  const Fill& fill = spec.arguments[static_cast<std::size_t>(argument)].fill;
  words.add("in [" + (fill.low ? fill.low->text() : "0") + ", ", fill.below, ")");
  words.add(fill.sorted, "sorted");
  words.add(fill.distinct, "distinct");
  words.add(fill.permutation, "a permutation of 0 to N - 1");
  words.add(fill.normal, "normal");
  words.add("a share of ", fill.zeros, " is zero");
  return std::move(words).text();
}

std::string bound_text(const KernelSpec& spec, int argument) {
  Words words;
  for (const Acceptance& acceptance : spec.acceptances) {
    const bool judges = std::ranges::find(acceptance.arguments, argument) != acceptance.arguments.end();
    const Direction direction = spec.arguments[static_cast<std::size_t>(argument)].direction;
    words.add(judges && (direction == Direction::kOut || direction == Direction::kInOut), "judged by " + acceptance.function);
  }
  const Bound& bound = spec.arguments[static_cast<std::size_t>(argument)].bound;
  words.add("off by at most ", bound.absolute, "");
  words.add("off by a share of at most ", bound.relative, "");
  words.add("off by at most ", bound.ulps, " steps of its type");
  words.add("a share of ", bound.fraction, " right");
  words.add(bound.set && !bound.group, "in any order");
  words.add("any order among ", bound.group, " that follow each other");
  return std::move(words).text();
}

bool KernelSpec::is_accepted(int argument) const {
  return !arguments[static_cast<std::size_t>(argument)].bound.gives_distance() &&
         std::ranges::any_of(acceptances, [=](const Acceptance& acceptance) {
           return std::ranges::find(acceptance.arguments, argument) != acceptance.arguments.end();
         });
}

}  // namespace hone
