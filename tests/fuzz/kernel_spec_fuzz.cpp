// A kernel's spec as JSON, and all that is done with a spec before a device is touched: problems, the space, the launch geometry,
// arguments, C++ text.

#include <algorithm>
#include <array>

#include "engine/kernel/instantiation.hpp"
#include "engine/kernel/small_problems.hpp"
#include "engine/runtime/launch_plan.hpp"
#include "engine/space/default_position.hpp"
#include "engine/space/likely_space.hpp"
#include "engine/space/search_space.hpp"
#include "engine/tune/session.hpp"
#include "tests/fuzz/mutate.hpp"
#include "tests/hopper.hpp"

namespace {

using hone::Count;
using hone::KernelSpec;
using hone::SearchSpace;
using hone::fuzz::require;

constexpr std::uint64_t kMostCombinations = 256;  // of spaces that are built: larger ones take longer than all the rest
constexpr std::size_t kMostText = 1000;           // of their constraints

hone::DeviceInfo device() { return hone::test::hopper("P"); }

bool is_small(const KernelSpec& spec) {
  std::uint64_t combinations = 1;
  for (const hone::Parameter& parameter : spec.parameters) {
    combinations *= std::min<std::uint64_t>(parameter.values.size(), 2 * kMostCombinations);
    if (combinations > kMostCombinations) {
      return false;
    }
  }
  std::size_t text = 0;
  for (const hone::Constraint& constraint : spec.constraints) {
    text += constraint.condition.serialize().size();
  }
  for (const hone::Constraint& expectation : spec.expectations) {
    text += expectation.condition.serialize().size();
  }
  return text <= kMostText;
}

void plan(const KernelSpec& spec, const hone::Problem& problem, const hone::Configuration& configuration, const hone::DeviceInfo& info) {
  for (const hone::Pass& pass : spec.passes) {
    static_cast<void>(hone::instantiation(spec, pass, problem.dtype, configuration));
  }
  static_cast<void>(hone::reference_options(spec));
  static_cast<void>(hone::compile_options(spec, configuration));
  static_cast<void>(hone::text(spec.parameters, configuration));
  const auto arguments = hone::launch_arguments(spec, problem, configuration);
  if (arguments) {
    for (const hone::LaunchArgument& argument : *arguments) {
      const std::int64_t elements = argument.direction == hone::Direction::kScalar ? 1 : argument.elements;
      require(elements >= 0 && argument.bytes / hone::size_of(argument.dtype) == static_cast<std::size_t>(elements),
              "the bytes of an argument hold its elements", argument.name);
    }
  }
  if (const auto passes = hone::plan_launch(spec, problem, configuration, info)) {
    if (hone::static_reject(*passes, {}, info).empty()) {
      for (const hone::PassLaunch& pass : *passes) {
        require(pass.block[0] >= 1 && pass.block[0] <= 1024 && pass.block[1] <= 1024 && pass.block[2] <= 64 &&
                    pass.block[0] * pass.block[1] * pass.block[2] <= 1024,
                "the static gate keeps the limit of threads");
      }
    }
  }
}

void check_likely(const KernelSpec& spec, const hone::Problem& problem, const hone::Bindings& fixed) {
  const auto space = hone::LikelySpace::build(spec.parameters, spec.constraints, spec.expectations, fixed);
  if (!space) {
    require(!space.error().message.empty(), "an error says what is wrong");
    return;
  }
  require(space->contradiction().empty() || !space->narrows(), "expectations that contradict one another take nothing away");
  for (const Count i : {Count{0}, space->likely()->size() / 2, space->likely()->size() - 1}) {
    const Count valid = space->likely()->next_valid(i), legal = space->to_legal(valid);
    require(space->to_likely(legal) == valid, "a likely position is that of a legal one");
    const hone::Configuration configuration = space->legal()->at(legal);
    require(!space->narrows() || space->broken(configuration).empty(), "what is likely breaks no expectation",
            hone::text(spec.parameters, configuration));
    require(hone::valid_for(spec, problem, device(), configuration), "what is likely is valid", hone::text(spec.parameters, configuration));
  }
}

void check_problem(const KernelSpec& spec, const hone::Problem& problem, bool with_space) {
  static const hone::DeviceInfo info = device();
  static_cast<void>(hone::plan_reference(spec, problem));
  plan(spec, problem, hone::default_configuration(spec), info);
  if (!with_space) {
    return;
  }
  hone::Bindings fixed = hone::bindings(problem);
  fixed.merge(hone::bindings(info));
  const auto space = SearchSpace::build(spec.parameters, spec.constraints, fixed);
  if (!space) {
    require(!space.error().message.empty(), "an error says what is wrong");
    return;
  }
  require(hone::default_position(*space, hone::default_configuration(spec)) < space->size(), "the default is brought into the space");
  check_likely(spec, problem, fixed);
  for (const Count i : {Count{0}, space->size() / 2, space->size() - 1}) {
    const Count valid = space->next_valid(i);
    const hone::Configuration configuration = space->at(valid);
    const auto back = space->index(configuration);
    require(back.has_value() && *back == valid, "a position's configuration has that position");
    require(hone::valid_for(spec, problem, info, configuration), "what the space holds is valid",
            hone::text(spec.parameters, configuration));
    plan(spec, problem, configuration, info);
  }
}

constexpr std::array<std::string_view, 53> kWords{"name",
                                                  "kind",
                                                  "values",
                                                  "labels",
                                                  "default",
                                                  "condition",
                                                  "arguments",
                                                  "passes",
                                                  "grid",
                                                  "block",
                                                  "cluster",
                                                  "shared_bytes",
                                                  "tensor_maps",
                                                  "swizzle",
                                                  "extent",
                                                  "reference",
                                                  "dtypes",
                                                  "problem",
                                                  "parameters",
                                                  "constraints",
                                                  "expectations",
                                                  "judge",
                                                  "compile_option",
                                                  "{}",
                                                  "--maxrregcount={}",
                                                  "T",
                                                  "f32",
                                                  "bf16",
                                                  "f64",
                                                  "$p.rows",
                                                  "$p.cols",
                                                  "$c.block",
                                                  "$c.vec",
                                                  "$d.warp_size",
                                                  "$sizeof(T)",
                                                  "* $p.rows $p.cols",
                                                  "% $p.cols $c.vec",
                                                  "/ $p.cols $c.vec",
                                                  "== % $p.cols $c.vec 0",
                                                  "<= * $c.block $c.vec 64",
                                                  "-1",
                                                  "0",
                                                  "1",
                                                  "9223372036854775807",
                                                  "-9223372036854775808",
                                                  "r0.5",
                                                  "r1e300",
                                                  "rnan",
                                                  "true",
                                                  "false",
                                                  "<< 1 $c.vec",
                                                  "? < $c.vec 2 r1.5 $c.block",
                                                  "neg $c.block"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto spec = hone::parse_kernel_spec(hone::fuzz::text_of(data, size));
  if (!spec) {
    require(!spec.error().message.empty(), "an error says what is wrong");
    return 0;
  }
  if (size % 8 == 0) {  // it takes as long as all the rest
    const std::string text = spec->serialize();
    const auto again = hone::parse_kernel_spec(text);
    require(again.ok() && again->serialize() == text, "a spec survives its JSON", again.ok() ? "" : again.error().message);
  }
  if (spec->dtypes.empty()) {
    return 0;
  }
  const auto problem = hone::make_problem(*spec, spec->dtypes.front(), {});
  if (!problem) {
    return 0;
  }
  check_problem(*spec, *problem, is_small(*spec));
  for (const hone::Problem& ragged : hone::ragged_problems(*spec, *problem, 1 << 16)) {
    check_problem(*spec, ragged, false);
  }
  for (const hone::Problem& given : hone::given_problems(*spec, *problem, 1 << 16)) {
    check_problem(*spec, given, false);
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  hone::fuzz::Random random(seed);
  return hone::fuzz::mutate_json_text(random, kWords, data, size, max_size, 8);
}
