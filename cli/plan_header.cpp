#include "cli/plan_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <map>

namespace hone::cli {
namespace {

std::string c_literal(std::string_view text) {
  std::string literal = "\"";
  for (const char character : text) {
    literal += character == '"' || character == '\\' || character == '?' ? fmt::format("\\{}", character)
               : static_cast<unsigned char>(character) < ' '             ? fmt::format("\\{:03o}", static_cast<unsigned char>(character))
                                                                         : std::string(1, character);
  }
  return literal + "\"";
}

std::string_view role_constant(Direction direction) {
  switch (direction) {
    case Direction::kIn:
      return "HONE_PLAN_IN";
    case Direction::kOut:
      return "HONE_PLAN_OUT";
    case Direction::kInOut:
      return "HONE_PLAN_INOUT";
    case Direction::kWorkspace:
      return "HONE_PLAN_WORKSPACE";
    case Direction::kScalar:
      break;
  }
  return "HONE_PLAN_SCALAR";
}

/// CUtensorMapDataType; types without one are moved as unsigned integers of their size.
int map_type(DType dtype) {
  switch (dtype) {
    case DType::kI32:
      return 3;
    case DType::kI64:
      return 5;
    case DType::kF16:
      return 6;
    case DType::kF32:
      return 7;
    case DType::kF64:
      return 8;
    case DType::kBF16:
      return 9;
    default:
      break;
  }
  constexpr std::array<int, 9> kUnsigned{0, 0, 1, 0, 2, 0, 0, 0, 4};
  return kUnsigned.at(size_of(dtype));
}

/// CUtensorMapSwizzle and CUtensorMapL2promotion: 0, then 1 for `first` bytes, 2 for twice as many.
int power_above(std::int64_t bytes, std::int64_t first) {
  return bytes == 0 ? 0 : std::countr_zero(static_cast<std::uint64_t>(bytes / first)) + 1;
}

/// One array of the header: its name is `identifier`_`what`, its elements are a line each; none is NULL.
class Arrays {
 public:
  explicit Arrays(std::string identifier) : identifier_(std::move(identifier)) {}
  std::string add(std::string_view type, const std::string& what, const std::vector<std::string>& elements) {
    if (elements.empty()) {
      return "NULL";
    }
    const std::string name = fmt::format("{}_{}", identifier_, what);
    text_ += fmt::format("static const {} {}[] = {{\n  {}\n}};\n", type, name, fmt::join(elements, ",\n  "));
    return name;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string identifier_, text_;
};

/// As words, which C aligns.
std::vector<std::string> word_lines(std::span<const std::byte> bytes) {
  constexpr std::size_t kLine = 8;
  std::vector<std::uint64_t> words((bytes.size() + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
  std::memcpy(words.data(), bytes.data(), bytes.size());
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < words.size(); i += kLine) {
    lines.push_back(fmt::format("{:#x}", fmt::join(std::span(words).subspan(i, std::min(kLine, words.size() - i)), ",")));
  }
  return lines;
}

/// Those of the code's functions that a pass launches, in the order of their symbols: (symbol, its place among them).
std::map<std::size_t, std::size_t> launched_functions(const LaunchPlan& plan) {
  std::map<std::size_t, std::size_t> places;
  for (const PassLaunch& pass : plan.passes) {
    places.emplace(pass.symbol, 0);
  }
  std::size_t next = 0;
  for (auto& [symbol, place] : places) {
    place = next++;
  }
  return places;
}

std::vector<std::string> argument_lines(const LaunchPlan& plan) {
  std::vector<std::string> lines;
  for (const LaunchArgument& argument : plan.arguments) {
    lines.push_back(fmt::format("{{{}, {}, {}, {}, {}, {}}}", c_literal(argument.name), c_literal(name(argument.dtype)),
                                role_constant(argument.direction), argument.zeroed ? 1 : 0, argument.elements, argument.bytes));
  }
  return lines;
}

std::vector<std::string> function_lines(const LaunchPlan& plan, const std::map<std::size_t, std::size_t>& places) {
  std::vector<std::string> lines;
  for (const auto& [symbol, place] : places) {
    std::int64_t shared = 0, cluster = 1;
    for (const PassLaunch& pass : plan.passes) {
      if (pass.symbol == symbol) {
        shared = std::max(shared, pass.shared_bytes);
        cluster = std::max(cluster, pass.cluster[0] * pass.cluster[1] * pass.cluster[2]);
      }
    }
    lines.push_back(fmt::format("{{{}, {}, {}}}", c_literal(plan.code.symbols.at(symbol)), shared, cluster));
  }
  return lines;
}

std::string map_line(const TensorMap& map) {
  return fmt::format("{{{}, {}, {}, {}, {}, {{{}}}, {{{}}}, {{{}}}, {}}}", map.argument, map_type(map.element), map.axes,
                     power_above(map.swizzle, 32), power_above(map.l2, 64), fmt::join(map.box, ", "), fmt::join(map.size, ", "),
                     fmt::join(map.stride_bytes.begin() + 1, map.stride_bytes.end(), ", "), map.offset_bytes);
}

std::string parameter_line(int index, const PassLaunch& pass, std::vector<std::string>& maps, std::size_t& next_map) {
  if (index == kProblemParameter) {
    return "{HONE_PLAN_PROBLEM, 0}";
  }
  if (index == kRunIndexParameter) {
    return fmt::format("{{HONE_PLAN_RUN_INDEX, {}}}", pass.run_index);
  }
  if (index == kTensorMapParameter) {
    maps.push_back(map_line(pass.tensor_maps.at(next_map++)));
    return fmt::format("{{HONE_PLAN_TENSOR_MAP, {}}}", maps.size() - 1);
  }
  return fmt::format("{{HONE_PLAN_ARGUMENT, {}}}", index);
}

std::string pass_line(const PassLaunch& pass, std::size_t function, const std::string& parameters) {
  return fmt::format("{{{}, {{{}}}, {{{}}}, {{{}}}, {}, {}, {}, {}, {}}}", function, fmt::join(pass.grid, ", "),
                     fmt::join(pass.block, ", "), fmt::join(pass.cluster, ", "), pass.shared_bytes, pass.cooperative ? 1 : 0,
                     pass.overlap ? 1 : 0, pass.arguments.size(), parameters);
}

}  // namespace

std::string c_identifier(std::string_view name) {
  std::string identifier(name);
  std::ranges::replace_if(
      identifier, [](unsigned char character) { return std::isalnum(character) == 0; }, '_');
  return identifier;
}

std::string plan_header(const PlanSubject& subject, const LaunchPlan& plan, const std::string& identifier) {
  Arrays arrays(identifier);
  const std::map<std::size_t, std::size_t> places = launched_functions(plan);
  std::vector<std::string> passes, maps, constants;
  std::map<std::vector<std::string>, std::string> parameters;  // runs of one pass often have the same
  for (const PassLaunch& pass : plan.passes) {
    std::vector<std::string> lines;
    std::size_t next_map = 0;
    for (const int index : pass.arguments) {
      lines.push_back(parameter_line(index, pass, maps, next_map));
    }
    const auto [at, added] = parameters.try_emplace(lines);
    if (added) {
      at->second = arrays.add("hone_plan_parameter", fmt::format("parameters_{}", parameters.size() - 1), lines);
    }
    passes.push_back(pass_line(pass, places.at(pass.symbol), at->second));
    for (const ConstantCopy& copy : pass.constants) {
      if (copy.bytes == 0) {
        continue;
      }
      constants.push_back(fmt::format("{{{}, {}, {}}}", c_literal(copy.symbol), copy.bytes, copy.argument));
    }
  }
  const std::vector<std::int64_t> words = packed(*subject.spec, *subject.problem);
  const std::string problem = arrays.add("uint64_t", "problem", word_lines(std::as_bytes(std::span(words))));
  const std::string code = arrays.add("uint64_t", "code", word_lines(plan.code.artifact->bytes));
  const std::vector<std::string> functions = function_lines(plan, places);
  const std::string argument_array = arrays.add("hone_plan_argument", "arguments", argument_lines(plan));
  const std::string function_array = arrays.add("hone_plan_function", "functions", functions);
  const std::string pass_array = arrays.add("hone_plan_pass", "passes", passes);
  const std::string constant_array = arrays.add("hone_plan_constant", "constants", constants);
  const std::string map_array = arrays.add("hone_plan_tensor_map", "tensor_maps", maps);
  const std::string shape = text(subject.problem->shape), configuration = text(subject.spec->parameters, plan.choice.configuration);
  return fmt::format(
      "/* {} {} {} for {}: {}\n * Written by hone export; launch it with hone_plan_launch. */\n"
      "#ifndef {}_H\n#define {}_H\n#include <hone/plan.h>\n\n#if HONE_PLAN_VERSION != 1\n#error \"this plan was written for version 1 of "
      "hone/plan.h\"\n#endif\n\n{}"
      "static const hone_plan {} = {{\n  {}, {}, {},\n  {},\n  {}, {}, {}, {},\n  {}, {}, {}, {}, {},\n  {}, {}, {}, {}, {}\n}};\n#endif\n",
      subject.spec->name, name(subject.problem->dtype), shape, subject.device->architecture, configuration, identifier, identifier,
      arrays.text(), identifier, c_literal(subject.spec->name), c_literal(name(subject.problem->dtype)), c_literal(shape),
      c_literal(configuration), c_literal(subject.device->architecture), code, plan.code.artifact->bytes.size(), problem,
      plan.arguments.size(), functions.size(), passes.size(), constants.size(), maps.size(), argument_array, function_array, pass_array,
      constant_array, map_array);
}

}  // namespace hone::cli
