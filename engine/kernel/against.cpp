#include "engine/kernel/against.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/names.hpp"

namespace hone {
namespace {

std::string_view direction_name(const Argument& argument) {
  switch (argument.direction) {
    case Direction::kIn:
      return "IN";
    case Direction::kOut:
      return argument.zeroed ? "OUT_ZEROED" : "OUT";
    case Direction::kInOut:
      return "INOUT";
    case Direction::kWorkspace:
      return "WORKSPACE";
    case Direction::kScalar:
      return "SCALAR";
  }
  return "";
}

/// One may see as vectors what the other sees as their elements.
bool alike(const Argument& a, const Argument& b) {
  const bool same_element = a.element_is_t ? b.element_is_t && a.type_parameter == b.type_parameter : !b.element_is_t && a.dtype == b.dtype;
  return a.direction == b.direction && a.zeroed == b.zeroed && same_element;
}

class Matcher {
 public:
  Matcher(KernelSpec subject, const KernelSpec& judge) : subject_(std::move(subject)), judge_(judge) {}

  Result<KernelSpec> run() && {
    if (std::ranges::any_of(judge_.reference, [](const ReferencePass& pass) { return !pass.fields.empty(); })) {
      return mismatch(fmt::format("the correct answer of {} depends on its own configuration", judge_.name));
    }
    HONE_TRY(match_problem());
    HONE_TRY(match_dtypes());
    HONE_TRY(match_arguments());
    subject_.cost = {judge_.cost.flops.substitute(lacking_), judge_.cost.bytes.substitute(lacking_),
                     judge_.cost.sum_length.substitute(lacking_)};
    subject_.reference = judge_.reference;
    subject_.generators = {};
    subject_.acceptances = {};
    subject_.judge = std::make_shared<const KernelSpec>(judge_);
    return std::move(subject_);
  }

 private:
  [[nodiscard]] Error mismatch(const std::string& what) const {
    return {ErrorCode::kInvalidArgument, fmt::format("{} cannot be compared with {}: {}", subject_.file, judge_.name, what)};
  }

  Result<void> match_problem() {
    std::vector<std::string> known;
    for (const ProblemField& field : judge_.problem) {
      known.push_back(field.name);
      if (std::ranges::find(subject_.problem, field.name, &ProblemField::name) == subject_.problem.end()) {
        lacking_.emplace("p." + field.name, Value(field.default_value));
      }
    }
    for (ProblemField& field : subject_.problem) {
      const auto theirs = std::ranges::find(judge_.problem, field.name, &ProblemField::name);
      if (theirs == judge_.problem.end()) {
        return mismatch(fmt::format("in its Problem, {}", unknown_name("field", field.name, known)));
      }
      field.default_value = theirs->default_value;
    }
    return {};
  }

  Result<void> match_dtypes() {
    std::erase_if(subject_.dtypes, [this](const DTypes& dtype) { return std::ranges::find(judge_.dtypes, dtype) == judge_.dtypes.end(); });
    return subject_.dtypes.empty() ? Result<void>(mismatch("they have no dtype in common")) : Result<void>();
  }

  /// By name; what is left, in order.
  Result<void> match_arguments() {
    std::vector<Argument*> left;
    std::vector<const Argument*> theirs;
    for (const Argument& argument : judge_.arguments) {
      if (argument.direction == Direction::kWorkspace) {
        continue;
      }
      const auto mine = std::ranges::find(subject_.arguments, argument.name, &Argument::name);
      if (mine == subject_.arguments.end() || mine->direction == Direction::kWorkspace) {
        theirs.push_back(&argument);
      } else {
        HONE_TRY(take(*mine, argument));
      }
    }
    for (Argument& argument : subject_.arguments) {
      const auto same = std::ranges::find(judge_.arguments, argument.name, &Argument::name);
      if (argument.direction != Direction::kWorkspace && same == judge_.arguments.end()) {
        left.push_back(&argument);
      }
    }
    if (left.size() != theirs.size()) {
      return mismatch(fmt::format("{} takes {}; it lacks {}{}", judge_.name, described(all_of_judge()), described(theirs),
                                  left.empty() ? "" : fmt::format(", and also takes {}", described({left.begin(), left.end()}))));
    }
    for (std::size_t i = 0; i < left.size(); ++i) {
      HONE_TRY(take(*left[i], *theirs[i]));
      left[i]->name = theirs[i]->name;
    }
    return {};
  }

  Result<void> take(Argument& mine, const Argument& theirs) {
    if (!alike(mine, theirs)) {
      return mismatch(fmt::format("its argument '{}' is {} of {}; '{}' of {} is {} of {}", mine.name, direction_name(mine),
                                  element_name(subject_, mine), theirs.name, judge_.name, direction_name(theirs),
                                  element_name(judge_, theirs)));
    }
    mine.extent = theirs.extent.substitute(lacking_);
    mine.scalar_default = theirs.scalar_default;
    mine.fill = theirs.fill;
    mine.bound = theirs.bound;
    for (std::optional<Expression>* part : {&mine.fill.low, &mine.fill.below, &mine.fill.zeros, &mine.bound.absolute, &mine.bound.relative,
                                            &mine.bound.ulps, &mine.bound.fraction, &mine.bound.group}) {
      *part = *part ? std::optional((*part)->substitute(lacking_)) : std::nullopt;
    }
    mine.exact = theirs.exact;
    return {};
  }

  [[nodiscard]] std::vector<const Argument*> all_of_judge() const {
    std::vector<const Argument*> all;
    for (const Argument& argument : judge_.arguments) {
      if (argument.direction != Direction::kWorkspace) {
        all.push_back(&argument);
      }
    }
    return all;
  }

  [[nodiscard]] std::string described(const std::vector<const Argument*>& arguments) const {
    std::vector<std::string> parts;
    for (const Argument* argument : arguments) {
      parts.push_back(fmt::format("{} {} {}", direction_name(*argument), element_name(judge_, *argument), argument->name));
    }
    return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
  }

  KernelSpec subject_;
  const KernelSpec& judge_;
  Bindings lacking_;  ///< fields that the subject's Problem has not
};

}  // namespace

Result<KernelSpec> held_against(KernelSpec subject, const KernelSpec& judge) { return Matcher(std::move(subject), judge).run(); }

Problem judged_problem(const KernelSpec& judge, const Problem& problem) {
  Problem judged{problem.dtype, {}};
  for (const ProblemField& field : judge.problem) {
    const auto given = std::ranges::find(problem.shape, field.name, &Shape::value_type::first);
    judged.shape.emplace_back(field.name, given == problem.shape.end() ? field.default_value : given->second);
  }
  return judged;
}

}  // namespace hone
