#pragma once
// Search spaces as other tuners write them: JSON with parameters and constraint strings.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/kernel/kernel_spec.hpp"

namespace hone {

struct SpaceDescription {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<Constraint> constraints;
  std::optional<std::string> valid;  ///< how many configurations the file says there are, as digits
};

/// Whether the file is JSON that describes spaces; a recorded space, which lists results, does not.
bool describes_spaces(const std::filesystem::path& file);

/// One object or a list of them: {"name", "parameters": {NAME: [VALUES]}, "constraints": [TEXTS], "valid"}, or the T1 form of the
/// auto-tuning community: {"General", "ConfigurationSpace": {"TuningParameters": [{"Name", "Values"}], "Conditions": [{"Expression"}]}}.
/// Errors: kNotFound, kIo; kInvalidArgument (names the space, the constraint and the place in it).
Result<std::vector<SpaceDescription>> read_space_descriptions(const std::filesystem::path& file);

/// The same from the text of a file; `file` is its name, for messages.
Result<std::vector<SpaceDescription>> parse_space_descriptions(std::string text, const std::filesystem::path& file);

/// Reads a condition as Python and C write it: and or not && || !, chained comparisons, in [..], + - * / // % ** << >> & | ^ with Python's
/// precedence, min max abs, x if y else z, numbers, True and False, texts of parameters that list texts. Arithmetic is Python's: `/`
/// divides as real numbers, `//` rounds down, `%` has the divisor's sign; what may need more than 64 bits is an error. A remainder of a
/// quotient can be compared with 0. Errors also bound what it costs to read: nesting, operators, operands repeated by abs, min, max and **.
Result<Expression> parse_condition(std::string_view text, const std::vector<Parameter>& parameters);

}  // namespace hone
