#include "python/src/space.hpp"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cxxopts.hpp>

#include "cli/options.hpp"
#include "engine/space/space_description.hpp"
#include "engine/tune/session.hpp"
#include "python/src/errors.hpp"

namespace nb = nanobind;

namespace hone::python {
namespace {

nb::object value_of(const Parameter& parameter, const Value& value) {
  if (!parameter.labels.empty()) {
    return nb::cast(text(parameter, value));
  }
  switch (value.kind()) {
    case Value::Kind::kBoolean:
      return nb::cast(value.boolean());
    case Value::Kind::kReal:
      return nb::cast(value.real());
    default:
      return nb::cast(value.integer());
  }
}

/// The place of a value in the list of its parameter; nothing: it is not there.
std::optional<std::uint16_t> digit_of(const Parameter& parameter, const nb::handle& value) {
  for (std::size_t i = 0; i < parameter.values.size(); ++i) {
    if (value_of(parameter, parameter.values[i]).equal(value)) {
      return static_cast<std::uint16_t>(i);
    }
  }
  return {};
}

/// Raises KeyError for a parameter that is missing or unknown; nothing for a value that is not listed.
std::optional<Digits> digits_of(const SearchSpace& space, const nb::dict& configuration) {
  Digits digits;
  for (const Parameter& parameter : space.parameters()) {
    if (!configuration.contains(parameter.name.c_str())) {
      throw nb::key_error(parameter.name.c_str());
    }
    const std::optional<std::uint16_t> digit = digit_of(parameter, configuration[parameter.name.c_str()]);
    if (!digit) {
      return {};
    }
    digits.push_back(*digit);
  }
  if (configuration.size() != digits.size()) {
    throw nb::key_error("the configuration has a parameter that the space does not have");
  }
  return digits;
}

Count checked(const Space& space, const nb::handle& position) {
  const Count at = to_count(position);
  if (at >= space.legal->size()) {
    throw nb::index_error(fmt::format("position {}; the space has {}", text(at), text(space.legal->size())).c_str());
  }
  return at;
}

nb::list positions(const std::vector<Count>& found) {
  nb::list all;
  for (const Count one : found) {
    all.append(to_python(one));
  }
  return all;
}

nb::object optional_position(const std::optional<Count>& found) { return found ? nb::object(to_python(*found)) : nb::none(); }

nb::object index(const Space& space, const nb::dict& configuration) {
  const std::optional<Digits> digits = digits_of(*space.legal, configuration);
  return optional_position(digits ? space.legal->index(std::span<const std::uint16_t>(*digits)) : std::nullopt);
}

nb::list sample(const Space& space, std::size_t count, std::uint64_t seed, bool likely) {
  std::mt19937_64 random(seed);
  if (!likely || space.likely == nullptr) {
    return positions(space.legal->sample(random, count));
  }
  std::vector<Count> found = space.likely->likely()->sample(random, count);
  for (Count& one : found) {
    one = space.likely->to_legal(one);
  }
  return positions(found);
}

nb::dict parameters(const Space& space) {
  nb::dict all;
  for (const Parameter& parameter : space.legal->parameters()) {
    nb::list values;
    for (const Value& value : parameter.values) {
      values.append(value_of(parameter, value));
    }
    all[parameter.name.c_str()] = values;
  }
  return all;
}

/// A space as text describes it (docs/spaces.md).
Space described(std::string json, const std::string& name) {
  std::vector<SpaceDescription> all = value_or_raise(parse_space_descriptions(std::move(json), name));
  if (all.size() != 1) {
    raise({ErrorCode::kInvalidArgument, fmt::format("{} describes {} spaces; give one", name, all.size())});
  }
  SpaceDescription& one = all.front();
  auto built = value_or_raise(SearchSpace::build(std::move(one.parameters), one.constraints, {}));
  return {std::make_shared<const SearchSpace>(std::move(built)), nullptr, one.name};
}

/// A kernel's space for a problem on a device: the arguments of `hone space`.
Space of_kernel(std::vector<std::string> arguments) {
  cxxopts::Options options("space");
  cli::add_problem_options(options);
  cli::add_fix_option(options, "");
  arguments.insert(arguments.begin(), "space");
  std::vector<char*> words;
  for (std::string& word : arguments) {
    words.push_back(word.data());
  }
  TuneRequest request;
  const auto build = [&]() -> Result<LikelySpace> {
    const cxxopts::ParseResult parsed = options.parse(static_cast<int>(words.size()), words.data());
    HONE_ASSIGN(cli::Subject subject, cli::find_subject(parsed));
    HONE_ASSIGN(cli::Target target, cli::find_target(parsed, subject));
    HONE_ASSIGN(request.restriction, cli::find_restriction(parsed));
    request.recorded = subject.recorded.get();
    request.spec = std::move(subject.spec);
    request.device = std::move(target.device);
    request.problem = std::move(target.problem);
    return likely_space_of(request);
  };
  std::optional<Result<LikelySpace>> built;
  {
    const nb::gil_scoped_release released;
    built = build();
  }
  auto likely = std::make_shared<const LikelySpace>(value_or_raise(*std::move(built)));
  return {likely->legal(), likely, request.spec.name};
}

nb::tuple broken(const Space& space, const nb::handle& position) {
  nb::list texts;
  if (space.likely != nullptr) {
    for (const std::size_t i : space.likely->broken(space.legal->at(checked(space, position)))) {
      texts.append(space.likely->expectations()[i].text);
    }
  }
  return nb::tuple(texts);
}

}  // namespace

nb::int_ to_python(Count count) {
  const auto high = static_cast<std::uint64_t>(count >> 64), low = static_cast<std::uint64_t>(count);
  return high == 0 ? nb::int_(low) : nb::int_((nb::int_(high) << nb::int_(64)) | nb::int_(low));
}

Count to_count(const nb::handle& number) {
  const std::uint64_t low = PyLong_AsUnsignedLongLong(number.ptr());
  if (PyErr_Occurred() == nullptr) {
    return low;
  }
  if (PyErr_ExceptionMatches(PyExc_OverflowError) == 0) {
    throw nb::python_error();
  }
  PyErr_Clear();
  const nb::object mask = nb::cast(std::numeric_limits<std::uint64_t>::max());
  const nb::object whole = nb::borrow(number), high = whole >> nb::int_(64), rest = whole & mask;
  const std::uint64_t upper = PyLong_AsUnsignedLongLong(high.ptr());
  const std::uint64_t lower = PyLong_AsUnsignedLongLong(rest.ptr());
  if (PyErr_Occurred() != nullptr) {
    throw nb::python_error();
  }
  return Count{upper} << 64 | lower;
}

nb::dict to_python(const std::vector<Parameter>& parameters, const Configuration& configuration) {
  nb::dict all;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    all[parameters[i].name.c_str()] = value_of(parameters[i], configuration.values[i]);
  }
  return all;
}

void bind_space(nb::module_& module) {
  nb::class_<Space>(module, "Space", "The valid configurations of a kernel for a problem, by position: never a list.")
      .def_ro("name", &Space::name)
      .def_prop_ro(
          "size", [](const Space& space) { return to_python(space.legal->size()); },
          "the number of positions; of valid configurations where `exact`, else an upper bound")
      .def_prop_ro(
          "likely_size",
          [](const Space& space) { return to_python(space.likely != nullptr ? space.likely->likely()->size() : space.legal->size()); },
          "of these, how many meet what the kernel's author expects")
      .def_prop_ro(
          "cartesian", [](const Space& space) { return to_python(space.legal->cartesian()); }, "all combinations of values")
      .def_prop_ro("exact", [](const Space& space) { return space.legal->exact(); })
      .def_prop_ro("parameters", parameters, "{parameter: [values]}")
      .def(
          "at",
          [](const Space& space, const nb::handle& position) {
            return to_python(space.legal->parameters(), space.legal->at(checked(space, position)));
          },
          nb::arg("position"), "The configuration at a position, as {parameter: value}. Raises IndexError.")
      .def("index", index, nb::arg("configuration"), "The position of a configuration; None if it is not valid. Raises KeyError.")
      .def(
          "digits",
          [](const Space& space, const nb::handle& position) { return nb::tuple(nb::cast(space.legal->digits(checked(space, position)))); },
          nb::arg("position"), "The places of a configuration's values in their lists.")
      .def(
          "from_digits",
          [](const Space& space, const Digits& digits) {
            return optional_position(digits.size() == space.legal->parameters().size()
                                         ? space.legal->index(std::span<const std::uint16_t>(digits))
                                         : std::nullopt);
          },
          nb::arg("digits"), "The position of such places; None if the configuration is not valid.")
      .def(
          "nearest", [](const Space& space, const Digits& digits) { return to_python(space.legal->nearest(digits)); }, nb::arg("digits"),
          "The position of the valid configuration nearest to places that need not be valid.")
      .def("sample", sample, nb::arg("count"), nb::arg("seed") = 0, nb::arg("likely") = false,
           "Up to `count` distinct positions, uniform; `likely`: of those that meet the author's expectations.")
      .def(
          "neighbours",
          [](const Space& space, const nb::handle& position, bool adjacent) {
            return positions(
                space.legal->neighbours(checked(space, position), adjacent ? Neighbourhood::kAdjacent : Neighbourhood::kHamming));
          },
          nb::arg("position"), nb::arg("adjacent") = false,
          "Valid configurations that differ in one parameter; `adjacent`: by one step in its list of values.")
      .def(
          "is_likely",
          [](const Space& space, const nb::handle& position) {
            return space.likely == nullptr || space.likely->to_likely(checked(space, position)).has_value();
          },
          nb::arg("position"))
      .def("broken", broken, nb::arg("position"), "The texts of the expectations that a configuration breaks.");
  module.def("describe_space", described, nb::arg("json"), nb::arg("name"));
  module.def("kernel_space", of_kernel, nb::arg("arguments"));
}

}  // namespace hone::python
