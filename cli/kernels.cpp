#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "cli/operations.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/present.hpp"
#include "cli/verbs.hpp"
#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/configuration_text.hpp"

namespace hone::cli {
namespace {

std::vector<std::string> dtype_names(const KernelSpec& spec) {
  std::vector<std::string> names;
  for (const DTypes& dtype : spec.dtypes) {
    names.emplace_back(name(dtype));
  }
  return names;
}

/// As SHAPES gives them.
Json shapes_json(const KernelSpec& spec) {
  Json list = Json::array();
  for (const Shape& shape : spec.shapes) {
    list.push_back(json(shape));
  }
  return list;
}

Shape default_shape(const KernelSpec& spec) {
  Shape shape;
  for (const ProblemField& field : spec.problem) {
    shape.emplace_back(field.name, field.default_value);
  }
  return shape;
}

/// Fields that are compiled in.
std::vector<std::string> static_names(const KernelSpec& spec) {
  std::vector<std::string> names;
  for (const ProblemField& field : spec.problem) {
    if (field.is_static()) {
      names.push_back(field.name);
    }
  }
  return names;
}

std::vector<std::string> value_names(const Parameter& parameter) {
  std::vector<std::string> names;
  for (const Value& value : parameter.values) {
    names.push_back(text(parameter, value));
  }
  return names;
}

std::string_view direction_name(const Argument& argument) {
  constexpr std::array<std::string_view, 5> kDirections{"in", "out", "inout", "workspace", "scalar"};
  return argument.capacity ? "constant" : kDirections.at(static_cast<std::size_t>(argument.direction));
}

Json conditions_json(const std::vector<Constraint>& conditions) {
  Json list = Json::array();
  for (const Constraint& condition : conditions) {
    list.push_back(
        {{"text", condition.text}, {"condition", condition.condition.text()}, {"line", condition.line}, {"comment", condition.comment}});
  }
  return list;
}

std::string conditions_text(const char* title, const std::vector<Constraint>& conditions) {
  std::string lines = conditions.empty() ? "" : fmt::format("\n{}\n", title);
  std::string_view last;
  for (const Constraint& condition : conditions) {
    if (condition.text != last) {  // of one `if` may come several
      lines += fmt::format("  {}{}{}\n", condition.text, condition.comment.empty() ? "" : "  // ", condition.comment);
    }
    last = condition.text;
  }
  return lines;
}

/// The families of devices that can run it, as far as the file tells.
std::vector<std::string> runs_on(const KernelSpec& spec) {
  return spec.cuda_headers.empty() && spec.library.empty() ? std::vector<std::string>{"cuda", "cpu"} : std::vector<std::string>{"cuda"};
}

Json arguments_json(const KernelSpec& spec, bool with_workspaces) {
  Json arguments = Json::array();
  for (std::size_t i = 0; i < spec.arguments.size(); ++i) {
    const Argument& argument = spec.arguments[i];
    if (argument.direction == Direction::kWorkspace && !with_workspaces) {
      continue;  // the kernel's own
    }
    arguments.push_back({{"name", argument.name},
                         {"direction", direction_name(argument)},
                         {"element", element_name(spec, argument)},
                         {"extent", argument.extent.text()},
                         {"filled", fill_text(spec, static_cast<int>(i))},
                         {"judged", bound_text(spec, static_cast<int>(i))}});
  }
  return arguments;
}

Json describe_json(const KernelSpec& spec) {
  Json parameters = Json::array();
  for (const Parameter& parameter : spec.parameters) {
    parameters.push_back({{"name", parameter.name},
                          {"values", value_names(parameter)},
                          {"default", text(parameter, parameter.default_value)},
                          {"comment", parameter.comment}});
  }
  return {{"name", spec.name},
          {"operation", operation_of(spec)},
          {"summary", spec.summary},
          {"file", spec.file},
          {"source_hash", spec.source_hash},
          {"dtypes", dtype_names(spec)},
          {"shape", json(default_shape(spec))},
          {"static", static_names(spec)},
          {"parameters", parameters},
          {"constraints", conditions_json(spec.constraints)},
          {"arguments", arguments_json(spec, true)},
          {"expectations", conditions_json(spec.expectations)},
          {"runs_on", runs_on(spec)},
          {"cuda_headers", spec.cuda_headers},
          {"flags", spec.flags},
          {"shapes", shapes_json(spec)}};
}

/// What a caller passes.
std::string arguments_text(const KernelSpec& spec) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < spec.arguments.size(); ++i) {
    const Argument& argument = spec.arguments[i];
    if (argument.direction == Direction::kWorkspace) {
      continue;  // Hone's own
    }
    const std::string fill = fill_text(spec, static_cast<int>(i)), bound = bound_text(spec, static_cast<int>(i));
    const bool scalar = argument.direction == Direction::kScalar;
    rows.push_back({"  " + argument.name, std::string(direction_name(argument)), element_name(spec, argument),
                    scalar ? "default " + argument.scalar_default.text() : argument.extent.text() + " elements",
                    fmt::format("{}{}{}", fill.empty() ? "" : "filled: " + fill, fill.empty() || bound.empty() ? "" : "; ", bound)});
  }
  return rows.empty() ? "" : "\nlaunch with\n" + table(rows);
}

std::string describe_text(const KernelSpec& spec) {
  std::string lines =
      fmt::format("{}{}{}\n\ndtypes  {}\nshape   {}\nruns on {}{}\n", spec.name, spec.summary.empty() ? "" : ": ", spec.summary,
                  fmt::join(dtype_names(spec), ", "), text(default_shape(spec)), fmt::join(runs_on(spec), ", "),
                  spec.cuda_headers.empty() ? "" : fmt::format(" (includes {})", fmt::join(spec.cuda_headers, ", ")));
  lines += spec.operation.empty() ? "" : fmt::format("implements {}\n", spec.operation);
  lines += static_names(spec).empty() ? "" : fmt::format("static  {}\n", fmt::join(static_names(spec), ", "));
  lines += spec.flags.empty() ? "" : fmt::format("flags   {}\n", fmt::join(spec.flags, " "));
  for (std::size_t i = 0; i < spec.shapes.size(); ++i) {
    lines += fmt::format("{:<8}{}\n", i == 0 ? "also on" : "", text(spec.shapes[i]));
  }
  lines += "\nparameters\n";
  std::vector<std::vector<std::string>> rows;
  for (const Parameter& parameter : spec.parameters) {
    rows.push_back({"  " + parameter.name,
                    fmt::format("{} (default {})", fmt::join(value_names(parameter), " "), text(parameter, parameter.default_value)),
                    parameter.comment});
  }
  lines += table(rows) + conditions_text("constraints", spec.constraints) + conditions_text("expectations", spec.expectations);
  return lines + arguments_text(spec);
}

/// Ends at a full stop; that of an ellipsis ("x[0] + ... + x[i]") is none.
std::string first_sentence(const std::string& summary) {
  const std::string line = summary.substr(0, summary.find('\n'));
  std::size_t end = line.find(". ");
  while (end != std::string::npos && end > 0 && line[end - 1] == '.') {
    end = line.find(". ", end + 1);
  }
  return line.substr(0, end);
}

/// What a library is, or where it was looked for.
std::string library_text(const LibraryKernel& library) {
  const Result<LibraryVersion> version = library.version();
  return version ? fmt::format("version {}, {}", version->number, version->path) : version.error().message;
}

Json libraries_json(const Operation& operation) {
  Json libraries = Json::array();
  for (const LibraryKernel* const library : libraries_for(operation.name)) {
    libraries.push_back({{"kernel", library->name()},
                         {"summary", library->summary()},
                         {"found", library->version().ok()},
                         {"what", library_text(*library)}});
  }
  return libraries;
}

Json operation_json(const Operation& operation) {
  const KernelSpec& definition = *operation.definition;
  Json implementations = Json::array();
  for (const KernelSpec* const spec : operation.implementations) {
    implementations.push_back({{"kernel", spec->name},
                               {"file", spec->file},
                               {"summary", spec->summary},
                               {"dtypes", dtype_names(*spec)},
                               {"runs_on", runs_on(*spec)}});
  }
  return {{"operation", operation.name},
          {"definition", definition.name},
          {"shape", json(default_shape(definition))},
          {"static", static_names(definition)},
          {"arguments", arguments_json(definition, false)},
          {"implementations", implementations},
          {"libraries", libraries_json(operation)}};
}

std::string operation_text(const Operation& operation) {
  const KernelSpec& definition = *operation.definition;
  std::string lines =
      fmt::format("{}: {}\n\nshape   {}\n", operation.name, first_sentence(definition.summary), text(default_shape(definition)));
  for (const ProblemField& field : definition.problem) {
    lines += field.comment.empty() ? "" : fmt::format("        {}: {}\n", field.name, field.comment);
  }
  lines += "\nkernels that implement it; where nothing was measured, the first that is legal serves\n";
  std::vector<std::vector<std::string>> rows;
  for (const KernelSpec* const spec : operation.implementations) {
    rows.push_back({"  " + spec->name, fmt::format("{}", fmt::join(dtype_names(*spec), " ")), first_sentence(spec->summary)});
  }
  lines += table(rows);
  rows.clear();
  for (const LibraryKernel* const library : libraries_for(operation.name)) {
    rows.push_back({"  " + std::string(library->name()), library->version() ? "here" : "missing",
                    fmt::format("{} ({})", library->summary(), library_text(*library))});
  }
  lines += rows.empty() ? "" : "\nlibraries that are tuned beside them and serve where they won\n" + table(rows);
  return lines + arguments_text(definition);
}

/// Those of several kernels.
Result<Output> list_kernels() {
  Output output{.json = {{"kernels", Json::array()}, {"operations", Json::array()}}, .text = ""};
  std::vector<std::vector<std::string>> rows;
  for (const hone::KernelSpec* const kernel : builtin_kernels()) {
    const hone::KernelSpec& spec = *kernel;
    output.json["kernels"].push_back(describe_json(spec));
    rows.push_back(
        {spec.name, fmt::format("{}", fmt::join(dtype_names(spec), " ")), text(default_shape(spec)), first_sentence(spec.summary)});
  }
  output.text = table(rows);
  rows.clear();
  for (const std::string& name : builtin_operations()) {
    HONE_ASSIGN(const Operation operation, find_operation(name));
    output.json["operations"].push_back(operation_json(operation));
    rows.push_back({name, fmt::format("one of {}", implementations_text(operation))});
  }
  output.text += rows.empty() ? "" : "\noperations\n" + table(rows);
  return output;
}

}  // namespace

int kernels(int argc, char** argv) {
  cxxopts::Options options("hone kernels",
                           "Lists the built-in kernels and the operations that several of them implement, or describes one (a name, or the "
                           "path of a kernel file).");
  options.add_options()("kernel", "the kernel or operation to describe", cxxopts::value<std::string>())(
      "spec", "write the parsed kernel to a file: an application that passes its text to Engine::add_kernel_spec needs no libclang",
      cxxopts::value<std::string>(), "FILE");
  add_with_option(options);
  add_flag_options(options);
  options.parse_positional({"kernel"});
  options.positional_help("[KERNEL]");
  return run_verb(options, argc, argv, [](const cxxopts::ParseResult& arguments) -> Result<Output> {
    HONE_ASSIGN(const std::unique_ptr<OperationSubject> operation, find_operation_subject(arguments));
    if (operation) {
      return Output{operation_json(operation->operation), operation_text(operation->operation)};
    }
    if (arguments.count("kernel") > 0) {
      HONE_ASSIGN(const Subject subject, find_subject(arguments));
      if (arguments.count("spec") > 0) {
        HONE_TRY(write_file(arguments["spec"].as<std::string>(), subject.spec.serialize()));
      }
      return Output{describe_json(subject.spec), describe_text(subject.spec)};
    }
    return list_kernels();
  });
}

}  // namespace hone::cli
