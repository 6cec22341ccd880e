#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/options.hpp"
#include "cli/present.hpp"
#include "cli/verbs.hpp"
#include "hone/configuration.hpp"

namespace hone::cli {
namespace {

std::vector<std::string> dtype_names(const KernelSpec& spec) {
  std::vector<std::string> names;
  for (const DType dtype : spec.dtypes) {
    names.emplace_back(name(dtype));
  }
  return names;
}

Shape default_shape(const KernelSpec& spec) {
  Shape shape;
  for (const ProblemField& field : spec.problem) {
    shape.emplace_back(field.name, field.default_value);
  }
  return shape;
}

std::vector<std::string> value_names(const Parameter& parameter) {
  std::vector<std::string> names;
  for (const Value& value : parameter.values) {
    names.push_back(text(parameter, value));
  }
  return names;
}

Json describe_json(const KernelSpec& spec) {
  Json parameters = Json::array();
  for (const Parameter& parameter : spec.parameters) {
    parameters.push_back({{"name", parameter.name}, {"values", value_names(parameter)}, {"default", text(parameter, parameter.default_value)}, {"comment", parameter.comment}});
  }
  Json constraints = Json::array();
  for (const Constraint& constraint : spec.constraints) {
    constraints.push_back({{"text", constraint.text}, {"condition", constraint.condition.text()}, {"line", constraint.line}, {"comment", constraint.comment}});
  }
  Json arguments = Json::array();
  constexpr std::array<std::string_view, 5> kDirections{"in", "out", "inout", "workspace", "scalar"};
  for (const Argument& argument : spec.arguments) {
    arguments.push_back({{"name", argument.name}, {"direction", kDirections.at(static_cast<std::size_t>(argument.direction))},
                         {"element", argument.element_is_t ? "T" : name(argument.dtype)}, {"extent", argument.extent.text()}});
  }
  return {{"name", spec.name},           {"summary", spec.summary},         {"file", spec.file},
          {"source_hash", spec.source_hash}, {"dtypes", dtype_names(spec)},     {"shape", json(default_shape(spec))},
          {"parameters", parameters},    {"constraints", constraints},      {"arguments", arguments}};
}

std::string describe_text(const KernelSpec& spec) {
  std::string lines = fmt::format("{}: {}\n\ndtypes  {}\nshape   {}\n\nparameters\n", spec.name, spec.summary,
                                  fmt::join(dtype_names(spec), ", "), text(default_shape(spec)));
  std::vector<std::vector<std::string>> rows;
  for (const Parameter& parameter : spec.parameters) {
    rows.push_back({"  " + parameter.name, fmt::format("{} (default {})", fmt::join(value_names(parameter), " "), text(parameter, parameter.default_value)), parameter.comment});
  }
  lines += table(rows) + (spec.constraints.empty() ? "" : "\nconstraints\n");
  std::string_view last;
  for (const Constraint& constraint : spec.constraints) {
    if (constraint.text != last) {  // of one `if` may come several
      lines += fmt::format("  {}{}{}\n", constraint.text, constraint.comment.empty() ? "" : "  // ", constraint.comment);
    }
    last = constraint.text;
  }
  lines += "\nlaunch with\n";
  for (const Argument& argument : spec.arguments) {
    if (argument.direction != Direction::kWorkspace) {
      lines += fmt::format("  {} ({} elements)\n", argument.name, argument.extent.text());
    }
  }
  return lines;
}

}  // namespace

int kernels(int argc, char** argv) {
  cxxopts::Options options("hone kernels", "Lists the built-in kernels, or describes one (a name, or the path of a kernel file).");
  options.add_options()("kernel", "the kernel to describe", cxxopts::value<std::string>());
  options.parse_positional({"kernel"});
  options.positional_help("[KERNEL]");
  return run_verb(options, argc, argv, [](const cxxopts::ParseResult& arguments) -> Result<Output> {
    if (arguments.count("kernel") > 0) {
      HONE_ASSIGN(const Subject subject, find_subject(arguments));
      return Output{describe_json(subject.spec), describe_text(subject.spec)};
    }
    Output output{.json = {{"kernels", Json::array()}}, .text = ""};
    std::vector<std::vector<std::string>> rows;
    for (const KernelSpec& spec : builtin_kernels()) {
      output.json["kernels"].push_back(describe_json(spec));
      rows.push_back({spec.name, fmt::format("{}", fmt::join(dtype_names(spec), " ")), text(default_shape(spec)), spec.summary.substr(0, spec.summary.find('\n'))});
    }
    output.text = table(rows);
    return output;
  });
}

}  // namespace hone::cli
