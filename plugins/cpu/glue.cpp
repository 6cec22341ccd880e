#include "plugins/cpu/glue.hpp"

#include <fmt/format.h>

#include <iterator>

#include "engine/kernel/instantiation.hpp"
#include "engine/kernel/static_fields.hpp"
#include "plugins/cpu/dynamic_shared.hpp"

namespace hone::cpu {
namespace {

constexpr std::string_view kExport = "extern \"C\" __attribute__((visibility(\"default\"))) void ";

std::string string_literal(std::string_view text) {
  std::string escaped = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      escaped += '\\';
    }
    escaped += c;
  }
  return escaped + "\"";
}

/// The kernel file as it is, under its own name; then the rest under ours. Variables need not be visible outside: functions are.
std::string preamble(const KernelSpec& spec, const std::string& source) {
  std::string text = fmt::format("#line 1 {}\n{}\n#line 1 \"{}\"\n#include <hone/kernel.h>\n", string_literal(spec.file),
                                 with_dynamic_shared(source), kGlueName);
  for (const Argument& argument : spec.arguments) {
    if (argument.capacity) {
      fmt::format_to(std::back_inserter(text),
                     "extern \"C\" __attribute__((visibility(\"default\"))) void* {}() {{ return (void*)&{}; }}\n",
                     constant_symbol(argument.name), argument.name);
    }
  }
  return text;
}

std::string problem_statement(const KernelSpec& spec) {
  std::string statement = "Problem hone_p{};";
  for (std::size_t i = 0; i < spec.problem.size(); ++i) {
    statement += spec.problem[i].is_static()
                     ? ""
                     : fmt::format(" hone_p.{} = (decltype(hone_p.{}))hone_problem[{}];", spec.problem[i].name, spec.problem[i].name, i);
  }
  return statement;
}

/// `run_index`: where among the arguments that of a repeated pass lies.
std::string call_arguments(const std::vector<int>& arguments, std::size_t run_index) {
  std::string joined;
  for (const int argument : arguments) {
    joined += joined.empty() ? "" : ", ";
    joined += argument == kProblemParameter ? "hone_p"
              : argument == kTensorMapParameter
                  ? "TensorMap{}"
                  : fmt::format("HoneCpuArgument{{hone_arguments[{}]}}",
                                argument == kRunIndexParameter ? run_index : static_cast<std::size_t>(argument));
  }
  return joined;
}

}  // namespace

std::string pass_symbol(std::size_t configuration, std::size_t pass) { return fmt::format("hone_k{}_{}", configuration, pass); }

std::string reference_symbol(std::size_t pass) { return fmt::format("hone_reference_{}", pass); }

std::string constant_symbol(std::string_view variable) { return fmt::format("hone_constant_{}", variable); }

std::string configurations_source(const KernelSpec& spec, const DTypes& dtypes, const Shape& shape,
                                  std::span<const Configuration> configurations) {
  std::string source = preamble(spec, source_for(spec, shape));
  for (std::size_t i = 0; i < configurations.size(); ++i) {
    for (std::size_t pass = 0; pass < spec.passes.size(); ++pass) {
      if (!can_run(spec, spec.passes[pass], configurations[i])) {
        continue;
      }
      fmt::format_to(std::back_inserter(source), "{}{}(void* const* hone_arguments, const long* hone_problem) {{ {} {}({}); }}\n", kExport,
                     pass_symbol(i, pass), problem_statement(spec), instantiation(spec, spec.passes[pass], dtypes, configurations[i]),
                     call_arguments(spec.passes[pass].arguments, spec.arguments.size()));
    }
  }
  return source;
}

std::string reference_source(const KernelSpec& spec, const DTypes& dtypes, const Shape& shape) {
  const std::string type = spec.templated_on_type ? fmt::format("<{}>", type_arguments(dtypes)) : "";
  const AnswerCode code = answer_code(spec, shape);
  std::string source = preamble(spec, code.source);
  for (std::size_t pass = 0; pass < code.passes.size(); ++pass) {
    const std::string arguments = call_arguments(code.passes[pass].arguments, spec.arguments.size());
    fmt::format_to(std::back_inserter(source),
                   "{}{}(long hone_begin, long hone_end, void* const* hone_arguments, const long* hone_problem) {{ {}\n"
                   "for (long hone_i = hone_begin; hone_i < hone_end; ++hone_i) {{ {}{}(hone_i{}{}); }} }}\n",
                   kExport, reference_symbol(pass), problem_statement(spec), code.passes[pass].function, type,
                   arguments.empty() ? "" : ", ", arguments);
  }
  return source;
}

}  // namespace hone::cpu
