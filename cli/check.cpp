#include "engine/tune/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/embedding.hpp"
#include "cli/interrupt.hpp"
#include "cli/operations.hpp"
#include "cli/options.hpp"
#include "cli/present.hpp"
#include "cli/registry.hpp"
#include "cli/verbs.hpp"
#include "engine/kernel/against.hpp"
#include "engine/kernel/builtin_kernels.hpp"

namespace hone::cli {
namespace {

// Where no shape is given: what a sanitized kernel on the host's cores gets through in seconds.
constexpr std::int64_t kMostElements = 1 << 16;
constexpr double kMostOperations = 1 << 24;

/// "a, f(b, c)" -> {"a", "f(b, c)"}: commas within parentheses do not separate.
std::vector<std::string> split_list(const std::string& list) {
  std::vector<std::string> parts;
  int depth = 0;
  std::string part;
  const auto end_part = [&] {
    const auto first = part.find_first_not_of(' ');
    parts.push_back(first == std::string::npos ? "" : part.substr(first, part.find_last_not_of(' ') - first + 1));
    part.clear();
  };
  for (const char c : list) {
    depth += c == '(' || c == '<' ? 1 : c == ')' || c == '>' ? -1 : 0;
    if (c == ',' && depth == 0) {
      end_part();
    } else {
      part += c;
    }
  }
  end_part();
  return parts;
}

std::string given_text(const cxxopts::ParseResult& arguments, const std::string& option) {
  return arguments.count(option) > 0 ? arguments[option].as<std::string>() : "";
}

/// A file's own reference is not asked for.
Result<KernelSpec> read_checked(const std::string& kernel, const ReadOptions& options) {
  if (is_file(kernel)) {
    HONE_ASSIGN(KernelSpec spec, read_kernel_file(kernel, options));
    print_warnings(spec);
    return spec;
  }
  if (std::optional<Error> operation = not_an_operation(kernel)) {
    return *std::move(operation);
  }
  HONE_ASSIGN(const KernelSpec* const builtin, find_builtin_kernel(kernel));
  return *builtin;
}

Result<KernelSpec> checked_kernel(const std::string& kernel, const ReadOptions& options, const cxxopts::ParseResult& arguments) {
  HONE_ASSIGN(KernelSpec spec, read_checked(kernel, options));
  return is_file(kernel) ? implementation_beside_files(std::move(spec), arguments) : std::move(spec);
}

Result<PlainKernel> plain_kernel(const cxxopts::ParseResult& arguments) {
  PlainKernel plain;
  plain.file = arguments["kernel"].as<std::string>();
  plain.entry = given_text(arguments, "entry");
  for (const auto& [option, extents] : {std::pair{"grid", &plain.grid}, std::pair{"block", &plain.block}}) {
    if (arguments.count(option) == 0) {
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format(
              "{} is not a Hone kernel file; to say how it is launched, give --grid and --block, e.g. --grid \"p.rows\" --block 256",
              plain.file.string())};
    }
    *extents = split_list(given_text(arguments, option));
  }
  if (arguments.count("shared") > 0) {
    plain.shared = given_text(arguments, "shared");
  }
  if (arguments.count("arguments") > 0) {
    plain.arguments = split_list(given_text(arguments, "arguments"));
  }
  return plain;
}

/// What is checked: the file by its own reference, or held against another kernel's.
Result<KernelSpec> checked_spec(const cxxopts::ParseResult& arguments) {
  if (arguments.count("kernel") == 0) {
    return Error{ErrorCode::kInvalidArgument, "which kernel? Give the path of a .cu file, or a built-in kernel's name"};
  }
  const auto kernel = arguments["kernel"].as<std::string>();
  const std::string against = given_text(arguments, "against");
  bool plain = false;
  if (is_file(kernel)) {
    HONE_ASSIGN(plain, is_plain(kernel));
  }
  if (plain && against.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} has none of Hone's marks, so it does not say what it computes; give --against KERNEL", kernel)};
  }
  if (against.empty()) {
    return checked_kernel(kernel, find_flags(arguments), arguments);
  }
  HONE_ASSIGN(const KernelSpec judge, checked_kernel(against, {}, arguments));
  if (plain) {
    HONE_ASSIGN(const PlainKernel described, plain_kernel(arguments));
    return wrapped(described, judge);
  }
  HONE_ASSIGN(KernelSpec subject, read_checked(kernel, find_flags(arguments)));
  return held_against(std::move(subject), judge);
}

Result<std::vector<Problem>> checked_problems(const cxxopts::ParseResult& arguments, const KernelSpec& spec, const Given& given,
                                              const DeviceInfo& device) {
  std::vector<DTypes> dtypes = given_dtypes(spec, given);
  if (arguments.count("dtype") > 0) {
    HONE_ASSIGN(const DTypes one, choose_dtypes(spec, without_blanks(given_text(arguments, "dtype"))));
    dtypes = {one};
  }
  std::vector<Problem> problems;
  for (const DTypes& dtype : dtypes) {
    HONE_ASSIGN(const Shape asked, parse_shape(spec, without_blanks(given_text(arguments, "shape"))));
    HONE_ASSIGN(const Shape shape, with_given_fields(asked, spec, given));
    HONE_ASSIGN(Problem problem, make_problem(spec, dtype, shape));
    const bool on_host = device.properties.at("compute_capability") == 0;
    problems.push_back(shape.empty() && given.empty() && on_host ? reduced_problem(spec, dtype, kMostElements, kMostOperations)
                                                                 : std::move(problem));
  }
  return problems;
}

Json check_json(const CheckRequest& request, const CheckReport& report, const std::string& against) {
  const auto problem_json = [](const Problem& problem) { return Json{{"dtype", name(problem.dtype)}, {"shape", json(problem.shape)}}; };
  Json object{{"kernel", request.spec.name},
              {"file", request.spec.file},
              {"against", against.empty() ? Json() : Json(against)},
              {"device", request.device.info.id},
              {"product", request.device.info.product},
              {"seed", request.seed},
              {"given", given_json(request.given)},
              {"right", report.wrong() == 0},
              {"wrong", report.wrong()},
              {"checked", Json::array()},
              {"not_run", Json::array()},
              {"notes", report.notes},
              {"without_configuration", report.without_configuration}};
  for (const Checked& one : report.checked) {
    Json entry = problem_json(one.problem);
    entry["sanitizer"] = one.sanitizer.empty() ? Json() : Json(one.sanitizer);
    entry["config"] = json(request.spec.parameters, one.configuration);
    entry["outcome"] = name(one.outcome);
    entry["detail"] = one.detail;
    entry["max_error"] = one.max_error;
    object["checked"].push_back(std::move(entry));
  }
  for (const NotRun& part : report.not_run) {
    Json entry = problem_json(part.problem);
    entry["sanitizer"] = part.sanitizer;
    entry["reason"] = part.why;
    object["not_run"].push_back(std::move(entry));
  }
  return object;
}

std::string check_text(const CheckRequest& request, const CheckReport& report, const std::string& against) {
  std::string lines = fmt::format("{}{} on {} ({})\n", request.spec.name, against.empty() ? "" : " compared with " + against,
                                  request.device.info.id, request.device.info.product);
  lines += cli::given_text(request.given);
  std::vector<std::vector<std::string>> rows;
  for (const Checked& one : report.checked) {
    rows.push_back({fmt::format("{} {}", name(one.problem.dtype), text(one.problem.shape)), one.sanitizer.empty() ? "gate" : one.sanitizer,
                    one.wrong() || one.outcome == Outcome::kOk ? std::string(name(one.outcome)) : "not launchable",
                    text(request.spec.parameters, one.configuration)});
    if (one.outcome != Outcome::kOk) {
      rows.back().back() += "\n    " + one.detail;
    }
  }
  lines += table(rows);
  for (const std::string& note : report.notes) {
    lines += fmt::format("note: {}\n", note);
  }
  for (const std::string& value : report.without_configuration) {
    lines += fmt::format("no valid configuration has {}\n", value);
  }
  for (const NotRun& part : report.not_run) {
    lines += fmt::format("not run: {} for {} {}: {}\n", part.sanitizer, name(part.problem.dtype), text(part.problem.shape), part.why);
  }
  return lines + fmt::format("{} of {} checks wrong{}\n", report.wrong(), report.checked.size(),
                             report.not_run.empty() ? "" : fmt::format(", {} parts not run", report.not_run.size()));
}

Result<CheckRequest> make_check_request(const cxxopts::ParseResult& arguments) {
  CheckRequest request;
  HONE_ASSIGN(request.spec, checked_spec(arguments));
  HONE_ASSIGN(request.device,
              arguments.count("device") == 0 ? registry().best_device() : registry().device(given_text(arguments, "device")));
  HONE_ASSIGN(request.given, find_given(arguments, request.spec));
  HONE_ASSIGN(request.problems, checked_problems(arguments, request.spec, request.given, request.device.info));
  request.configurations = arguments["configurations"].as<std::uint16_t>();
  request.seed = arguments["seed"].as<std::uint64_t>();
  if (const std::string wanted = given_text(arguments, "tools"); wanted == "all") {
    request.sanitizers = request.device.plugin->sanitizers();
  } else if (!wanted.empty()) {
    request.sanitizers = split_list(wanted);
  }
  if (shows_progress()) {
    request.on_progress = [](const std::string& what) { fmt::print(stderr, "\r\033[K{}", what); };
  }
  return request;
}

void add_check_options(cxxopts::Options& options) {
  options.add_options()("kernel", "a kernel file, or a built-in kernel", cxxopts::value<std::string>())(
      "device", "cuda:0, cpu, ... (default: the best present)", cxxopts::value<std::string>(), "ID")(
      "dtype", "f32, f16, bf16, ... (default: all that the kernel has)", cxxopts::value<std::string>(), "TYPE")(
      "shape", "extents (default: the kernel's, reduced on the cpu device)", cxxopts::value<std::string>(), "SHAPE")(
      "configurations",
      "number of random configurations, in addition to the default and to those that cover every value of every parameter",
      cxxopts::value<std::uint16_t>()->default_value("8"),
      "N")("seed", "seed of the sample and of the inputs", cxxopts::value<std::uint64_t>()->default_value("0"), "N")(
      "tools", "sanitizers, or all; on a GPU: memcheck, racecheck, synccheck, initcheck (default: the first one of the device)",
      cxxopts::value<std::string>(), "LIST");
  options.add_options("against")("against", "compare FILE with the reference of this kernel instead of its own",
                                 cxxopts::value<std::string>(), "KERNEL")(
      "entry", "for a file without marks: the kernel, with template arguments if needed", cxxopts::value<std::string>(), "NAME")(
      "grid", "for a file without marks: blocks, one to three expressions over p.*", cxxopts::value<std::string>(), "EXPR,...")(
      "block", "the same: threads", cxxopts::value<std::string>(), "EXPR,...")(
      "shared", "for a file without marks: bytes of dynamic shared memory", cxxopts::value<std::string>(), "EXPR")(
      "arguments",
      "for a file without marks: values of its parameters in order: arguments of KERNEL, p.*, numbers (default: matched by name)",
      cxxopts::value<std::string>(), "LIST");
  add_given_options(options);
  add_with_option(options);
  add_flag_options(options);
  options.parse_positional({"kernel"});
  options.positional_help("FILE");
}

}  // namespace

int check(int argc, char** argv) {
  cxxopts::Options options("hone check",
                           "Compiles and validates a sample of a kernel's configurations, then runs it again under sanitizers: the "
                           "compiler's on\nthe cpu device, compute-sanitizer on a GPU. Exit code 1 if anything is wrong.");
  add_check_options(options);
  add_plugin_option(options);
  return run_verb(options, argc, argv, [](const cxxopts::ParseResult& arguments) -> Result<Output> {
    HONE_TRY(load_plugins(arguments));
    HONE_ASSIGN(CheckRequest request, make_check_request(arguments));
    const Interrupt interrupt;
    request.stop = interrupt.token();
    const Result<CheckReport> report = hone::check(request);
    if (request.on_progress) {
      fmt::print(stderr, "\r\033[K");
    }
    if (!report) {
      return report.error();
    }
    const std::string against = given_text(arguments, "against");
    return Output{check_json(request, *report, against), check_text(request, *report, against), report->wrong() == 0 ? 0 : 1};
  });
}

}  // namespace hone::cli
