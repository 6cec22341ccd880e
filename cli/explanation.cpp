#include "cli/explanation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/present.hpp"

namespace hone::cli {
namespace {

Json optional_json(const std::optional<Count>& count) { return count ? json(*count) : Json(); }
std::string optional_text(const std::optional<Count>& count) { return count ? text(*count) : "?"; }
std::string place(int line) { return line > 0 ? fmt::format("line {}", line) : "-"; }

Json expectations_json(const SpaceExplanation& explanation, const Evidence& evidence) {
  Json list = Json::array();
  for (std::size_t i = 0; i < explanation.expectations.size(); ++i) {
    const ConstraintEffect& effect = explanation.expectations[i];
    list.push_back({{"text", effect.text},
                    {"line", effect.line},
                    {"comment", effect.comment},
                    {"ties", effect.parameters},
                    {"removes_alone", optional_json(effect.removes_alone)},
                    {"removes_last", optional_json(effect.removes_last)}});
    if (evidence) {
      const ExpectationEvidence& known = (*evidence)[i];
      list.back()["evidence"] = {
          {"problems", known.problems}, {"contrary", known.against}, {"factor", known.factor}, {"where", known.where}};
    }
  }
  return list;
}

Json explanation_json(const SpaceExplanation& explanation, const Evidence& evidence) {
  Json effects = Json::array(), conflict = Json::array();
  for (const ConstraintEffect& effect : explanation.effects) {
    effects.push_back({{"text", effect.text},
                       {"line", effect.line},
                       {"ties", effect.parameters},
                       {"removes_alone", optional_json(effect.removes_alone)},
                       {"removes_last", optional_json(effect.removes_last)}});
  }
  for (const std::size_t i : explanation.conflict) {
    conflict.push_back({{"text", explanation.effects[i].text}, {"line", explanation.effects[i].line}});
  }
  Json object{{"constraints", effects},
              {"likely_size", optional_json(explanation.likely)},
              {"expectations", expectations_json(explanation, evidence)}};
  if (explanation.valid == Count{0}) {
    object["contradiction"] = {{"constraints", conflict}, {"smallest", explanation.conflict_is_smallest}};
  }
  return object;
}

bool is_uncounted(const ConstraintEffect& effect) { return !effect.removes_alone || !effect.removes_last; }

std::string against_text(const ExpectationEvidence& known) {
  if (known.problems == 0) {
    return "-";
  }
  const std::string worst = known.against == 0 ? "" : fmt::format(": {:.3f}x, {}", known.factor, known.where);
  return fmt::format("{} of {}{}", known.against, known.problems, worst);
}

std::string expectations_text(const SpaceExplanation& explanation, const Evidence& evidence) {
  if (explanation.expectations.empty()) {
    return "";
  }
  std::vector<std::vector<std::string>> rows{{"leaves", "takes alone", "beside the others", "where", "against", "expectation"}};
  for (std::size_t i = 0; i < explanation.expectations.size(); ++i) {
    const ConstraintEffect& effect = explanation.expectations[i];
    const bool counted = explanation.valid && effect.removes_alone;
    rows.push_back({optional_text(counted ? std::optional(*explanation.valid - *effect.removes_alone) : std::nullopt),
                    optional_text(effect.removes_alone), optional_text(effect.removes_last), place(effect.line),
                    evidence ? against_text((*evidence)[i]) : "-",
                    fmt::format("{}{}{}", effect.text, effect.comment.empty() ? "" : "  // ", effect.comment)});
  }
  std::string lines = fmt::format("\n{} of the valid combinations are likely\n", optional_text(explanation.likely)) + table(rows) +
                      "leaves, takes: of the valid combinations, as the only expectation; beside the others: of those that meet all "
                      "others\nagainst: problems of the store on this device whose fastest configuration breaks it, and the largest factor "
                      "over the fastest one that meets it\n";
  if (!explanation.disagreement.empty()) {
    lines += "no valid combination meets all of these, so all count as likely\n";
    for (const std::size_t i : explanation.disagreement) {
      lines += fmt::format("  {}: {}\n", place(explanation.expectations[i].line), explanation.expectations[i].text);
    }
  }
  return lines;
}

std::string explanation_text(const SpaceExplanation& explanation) {
  std::vector<std::vector<std::string>> rows{{"removes alone", "beside the others", "where", "ties", "constraint"}};
  for (const ConstraintEffect& effect : explanation.effects) {
    rows.push_back({optional_text(effect.removes_alone), optional_text(effect.removes_last), place(effect.line),
                    effect.parameters.empty() ? "nothing" : fmt::format("{}", fmt::join(effect.parameters, " ")), effect.text});
  }
  std::string lines =
      explanation.effects.empty()
          ? "there are no constraints\n"
          : table(rows) +
                "removes alone: of all combinations, as the only constraint; beside the others: of those that satisfy all others\n";
  if (std::ranges::any_of(explanation.effects, is_uncounted)) {
    lines += "?: not countable in bounded memory\n";
  }
  if (explanation.valid == Count{0}) {
    lines += explanation.conflict_is_smallest ? "a smallest contradiction: no smaller set of constraints is contradictory\n"
                                              : "a contradiction: all of these are needed (a smaller set of others may exist)\n";
    for (const std::size_t i : explanation.conflict) {
      lines += fmt::format("  {}: {}\n", place(explanation.effects[i].line), explanation.effects[i].text);
    }
  }
  return lines;
}

}  // namespace

Output explanation_output(const std::string& called, const std::string& name, const SpaceExplanation& explanation,
                          const Evidence& evidence) {
  Output output;
  output.json = {{called, name}, {"cartesian", json(explanation.cartesian)}, {"valid", optional_json(explanation.valid)}};
  output.json.update(explanation_json(explanation, evidence));
  output.text = fmt::format("{}: {} of {} combinations are valid\n", name, optional_text(explanation.valid), text(explanation.cartesian));
  output.text += explanation_text(explanation) + expectations_text(explanation, evidence);
  return output;
}

}  // namespace hone::cli
