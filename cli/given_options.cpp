#include "cli/given_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace hone::cli {

namespace {

Result<std::map<std::string, std::filesystem::path>> named_files(const cxxopts::ParseResult& arguments, const std::string& option) {
  std::map<std::string, std::filesystem::path> files;
  if (arguments.count(option) == 0) {
    return files;
  }
  for (const std::string& text : arguments[option].as<std::vector<std::string>>()) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("'{}' is not of the form --{} ARGUMENT=FILE.npy", text, option)};
    }
    if (!files.emplace(text.substr(0, equals), text.substr(equals + 1)).second) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("--{} names '{}' twice", option, text.substr(0, equals))};
    }
  }
  return files;
}

}  // namespace

void add_given_options(cxxopts::Options& options) {
  options.add_options()("input", "an input's elements, from a .npy file (repeatable); its shape determines extents that --shape omits",
                        cxxopts::value<std::vector<std::string>>(), "ARGUMENT=FILE.npy")(
      "expect", "an output's correct elements, from a .npy file, instead of the reference's (repeatable)",
      cxxopts::value<std::vector<std::string>>(), "ARGUMENT=FILE.npy");
}

Result<Given> find_given(const cxxopts::ParseResult& arguments, const KernelSpec& spec) {
  HONE_ASSIGN(const auto inputs, named_files(arguments, "input"));
  HONE_ASSIGN(const auto answers, named_files(arguments, "expect"));
  return hone::find_given(spec, inputs, answers);
}

Result<Shape> with_given_fields(Shape shape, const KernelSpec& spec, const Given& given) {
  HONE_ASSIGN(const auto told, given_fields(spec, given));
  for (const auto& [field, extent] : told) {
    const auto asked = std::ranges::find(shape, field, [](const auto& one) { return one.first; });
    if (asked != shape.end() && asked->second != extent) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("--shape has {}={}, but the given arrays have {}={}", field, asked->second, field, extent)};
    }
    if (asked == shape.end()) {
      shape.emplace_back(field, extent);
    }
  }
  return shape;
}

Json given_json(const Given& given) {
  return given.empty() ? Json() : Json{{"inputs", given.inputs}, {"answers", given.answers}, {"digest", given.digest}};
}

std::string given_text(const Given& given) {
  std::string lines;
  for (const auto& [name, file] : given.inputs) {
    lines += fmt::format("given    {} from {}\n", name, file);
  }
  for (const auto& [name, file] : given.answers) {
    lines += fmt::format("given    the answer {} from {}\n", name, file);
  }
  return given.empty() ? lines : lines + fmt::format("given    as {}: these arrays have their own records\n", given.digest);
}

}  // namespace hone::cli
