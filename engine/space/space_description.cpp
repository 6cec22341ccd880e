#include "engine/space/space_description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "engine/base/json_depth.hpp"

namespace hone {
namespace {

using Json = nlohmann::ordered_json;

Error invalid(const std::string& where, const std::string& what) {
  return {ErrorCode::kInvalidArgument, fmt::format("{}: {}", where, what)};
}

constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();

bool is_t1(const Json& space) { return space.contains("ConfigurationSpace"); }
bool is_description(const Json& space) {
  return space.is_object() &&
         (is_t1(space) || (space.contains("parameters") && space["parameters"].is_object() && !space.contains("results")));
}

Result<Parameter> make_parameter(const std::string& where, const std::string& name, const Json& values) {
  Parameter parameter;
  parameter.name = name;
  if (!values.is_array() || values.empty()) {
    return invalid(where, fmt::format("parameter '{}' has no list of values", name));
  }
  const auto all = [&](auto is) { return std::all_of(values.begin(), values.end(), is); };
  const bool reals = all([](const Json& v) { return v.is_number(); }) && !all([](const Json& v) { return v.is_number_integer(); });
  const bool texts = all([](const Json& v) { return v.is_string(); });
  for (const Json& value : values) {
    if (texts) {
      parameter.values.emplace_back(static_cast<std::int64_t>(parameter.values.size()));
      parameter.labels.push_back(value.get<std::string>());
    } else if (value.is_number_unsigned() && value.get<std::uint64_t>() > kLargest) {
      return invalid(where, fmt::format("parameter '{}': {} needs more than 64 bits", name, value.dump()));
    } else if (value.is_boolean()) {
      parameter.values.emplace_back(value.get<bool>());
    } else if (reals) {
      parameter.values.emplace_back(value.get<double>());
    } else if (value.is_number_integer()) {
      parameter.values.emplace_back(value.get<std::int64_t>());
    } else {
      return invalid(where, fmt::format("parameter '{}': {} is not a number, boolean or string like the others", name, value.dump()));
    }
  }
  const bool booleans = all([](const Json& v) { return v.is_boolean(); });
  parameter.kind = texts      ? ParameterKind::kEnumeration
                   : reals    ? ParameterKind::kReal
                   : booleans ? ParameterKind::kBoolean
                              : ParameterKind::kInteger;
  parameter.default_value = parameter.values.front();
  return parameter;
}

/// The values of a T1 parameter: a list, or the text of one.
Json t1_values(const Json& parameter) {
  Json values = parameter.value("Values", Json());
  if (!values.is_string()) {
    return values;
  }
  std::string text = values.get<std::string>();
  std::ranges::replace(text, '\'', '"');
  return json_depth(text) > kDeepestJson ? Json() : Json::parse(text, nullptr, false);
}

/// Name and values of each parameter.
std::vector<std::pair<std::string, Json>> listed_parameters(const Json& space) {
  std::vector<std::pair<std::string, Json>> listed;
  if (is_t1(space)) {
    for (const Json& parameter : space["ConfigurationSpace"].value("TuningParameters", Json::array())) {
      listed.emplace_back(parameter.value("Name", ""), t1_values(parameter));
    }
  } else {
    for (const auto& [name, values] : space["parameters"].items()) {
      listed.emplace_back(name, values);
    }
  }
  return listed;
}

Result<std::vector<std::string>> listed_constraints(const std::string& where, const Json& space) {
  std::vector<std::string> listed;
  const Json& list = is_t1(space) ? space["ConfigurationSpace"] : space;
  for (const char* key : {"constraint", "Constraints", "condition", "restrictions"}) {
    if (list.contains(key)) {  // a space without its constraints would be counted without a word
      return invalid(where, fmt::format("'{}' is not supported; list them under 'constraints' (or 'Conditions')", key));
    }
  }
  for (const char* key : {"constraints", "Conditions", "conditions"}) {
    for (const Json& constraint : list.value(key, Json::array())) {
      if (!constraint.is_string() && !(constraint.is_object() && constraint.contains("Expression"))) {
        return invalid(where, fmt::format("constraint {} is neither a text nor an object with \"Expression\"", listed.size() + 1));
      }
      listed.push_back(constraint.is_object() ? constraint["Expression"].get<std::string>() : constraint.get<std::string>());
    }
  }
  return listed;
}

std::string name_of(const Json& space, const std::filesystem::path& file) {
  const Json general = space.value("General", Json::object());
  return space.value("name", general.value("BenchmarkName", file.stem().string()));
}

class Reader {
 public:
  Reader(const std::filesystem::path& file, std::string text) : file_(file), text_(std::move(text)) {}

  Result<std::vector<SpaceDescription>> run() {
    const Json json = Json::parse(text_);
    std::vector<SpaceDescription> described;
    for (const Json& space : json.is_array() ? json : Json::array({json})) {
      if (!is_description(space)) {
        return invalid(file_.string(), fmt::format("entry {} has neither \"parameters\" nor \"ConfigurationSpace\"", described.size() + 1));
      }
      HONE_ASSIGN(SpaceDescription one, read(space));
      described.push_back(std::move(one));
    }
    return described;
  }

 private:
  Result<SpaceDescription> read(const Json& space) {
    SpaceDescription made;
    made.name = name_of(space, file_);
    const std::string where = fmt::format("{}: space '{}'", file_.string(), made.name);
    for (const auto& [name, values] : listed_parameters(space)) {
      HONE_ASSIGN(Parameter parameter, make_parameter(where, name, values));
      made.parameters.push_back(std::move(parameter));
    }
    HONE_ASSIGN(const std::vector<std::string> texts, listed_constraints(where, space));
    for (const std::string& text : texts) {
      Result<Expression> condition = parse_condition(text, made.parameters);
      if (!condition) {
        return invalid(where, condition.error().message);
      }
      made.constraints.push_back({std::move(*condition), text, line_of(text)});
    }
    if (space.contains("valid")) {
      made.valid = space["valid"].is_string() ? space["valid"].get<std::string>() : space["valid"].dump();
    }
    return made;
  }

  /// Constraints come in the order of the file.
  int line_of(const std::string& constraint) {
    const std::size_t found = text_.find(Json(constraint).dump(), at_);
    if (found == std::string::npos) {
      return 0;
    }
    line_ += static_cast<int>(
        std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_), text_.begin() + static_cast<std::ptrdiff_t>(found), '\n'));
    at_ = found + 1;
    return line_;
  }

  std::filesystem::path file_;
  std::string text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

Result<std::string> text_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    return Error{ErrorCode::kNotFound, fmt::format("{} cannot be read: does it exist?", file.string())};
  }
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

}  // namespace

bool describes_spaces(const std::filesystem::path& file) {
  const Result<std::string> text = text_of(file);
  const Json json = text && json_depth(*text) <= kDeepestJson ? Json::parse(*text, nullptr, false) : Json();
  return is_description(json) || (json.is_array() && !json.empty() && is_description(json.front()));
}

Result<std::vector<SpaceDescription>> read_space_descriptions(const std::filesystem::path& file) {
  HONE_ASSIGN(std::string text, text_of(file));
  return parse_space_descriptions(std::move(text), file);
}

Result<std::vector<SpaceDescription>> parse_space_descriptions(std::string text, const std::filesystem::path& file) {
  if (json_depth(text) > kDeepestJson) {
    return invalid(file.string(), fmt::format("it is nested more deeply than {} levels", kDeepestJson));
  }
  try {
    return Reader(file, std::move(text)).run();
  } catch (const nlohmann::json::parse_error& wrong) {
    return invalid(file.string(), fmt::format("this is not JSON: {}", wrong.what()));
  } catch (const nlohmann::json::exception& wrong) {
    return invalid(file.string(), fmt::format("an entry has another type than expected: {}", wrong.what()));
  }
}

}  // namespace hone
