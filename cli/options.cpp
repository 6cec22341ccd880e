#include "cli/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <istream>
#include <iterator>
#include <vector>

#include "cli/number.hpp"
#include "cli/operations.hpp"
#include "cli/registry.hpp"
#include "cli/session_devices.hpp"
#include "engine/kernel/builtin_kernels.hpp"
#include "engine/store/store_server.hpp"
#include "engine/worker/worker.hpp"

namespace hone::cli {
namespace {

/// The pseudo kernel of a recorded space: its parameters, and no source.
KernelSpec recorded_spec(const RecordedSpace& recorded, const std::string& file, std::string source_hash) {
  KernelSpec spec;
  spec.name = recorded.name();
  spec.file = file;
  spec.source_hash = std::move(source_hash);
  spec.dtypes = {DType::kF32};
  spec.parameters = recorded.space().parameters();
  return spec;
}

/// An option that may be given several times, each time with any text: a comma in a macro's value is a part of it.
struct Texts {
  std::vector<std::string> all;
};
std::istream& operator>>(std::istream& in, Texts& texts) {
  texts.all.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  in.clear();
  return in;
}

bool is_recorded(const std::string& kernel) { return kernel.ends_with(".json") || kernel.ends_with(".json.gz"); }

}  // namespace

std::string without_blanks(std::string text) {
  std::erase(text, ' ');
  return text;
}

void add_problem_options(cxxopts::Options& options) {
  options.add_options()("kernel", "a built-in kernel, or a kernel file", cxxopts::value<std::string>())(
      "device", "cuda:0, cpu, ... (default: the best present); tune: also several of one product, cuda:0,cuda:1 or \"cuda:*\"",
      cxxopts::value<std::string>(),
      "ID")("dtype", "f32, f16, e4m3, i8, ..., or In=e4m3,Out=bf16 (default: f32, or the kernel's only one)", cxxopts::value<std::string>(),
            "TYPE")("shape", "extents, e.g. rows=512,cols=2048 (others keep the kernel's defaults)",
                    cxxopts::value<std::string>()->default_value(""), "SHAPE");
  add_flag_options(options);
  options.parse_positional({"kernel"});
  options.positional_help("KERNEL\n\n  KERNEL: a built-in kernel (hone kernels lists them), or the path of your own kernel file");
}

void add_flag_options(cxxopts::Options& options) {
  options.add_options()("I,include", "a folder with headers that the kernel file includes (repeatable)", cxxopts::value<Texts>(), "DIR")(
      "D,define", "a macro for the kernel file, NAME or NAME=VALUE (repeatable)", cxxopts::value<Texts>(), "MACRO")(
      "flag", "an option of CUDA's compiler, e.g. --flag --use_fast_math (repeatable)", cxxopts::value<Texts>(), "OPTION")(
      "cuda-include",
      "a folder with headers of CUDA, CCCL or CUTLASS, searched before the default ones (repeatable; also HONE_CUDA_INCLUDE)",
      cxxopts::value<Texts>(), "DIR");
}

ReadOptions find_flags(const cxxopts::ParseResult& arguments) {
  const auto given = [&](const std::string& option) {
    return arguments.count(option) > 0 ? arguments[option].as<Texts>().all : std::vector<std::string>{};
  };
  ReadOptions options;
  for (const auto& [option, dash] : {std::pair{"include", "-I"}, std::pair{"define", "-D"}}) {
    for (const std::string& value : given(option)) {
      options.flags.emplace_back(fmt::format("{}'{}'", dash, value));
    }
  }
  for (const std::string& flag : given("flag")) {
    options.flags.push_back(flag);
  }
  std::string folders = fmt::format("{}", fmt::join(given("cuda-include"), ":"));
  if (const char* const before = std::getenv("HONE_CUDA_INCLUDE"); before != nullptr && !folders.empty()) {
    folders += fmt::format(":{}", before);
  }
  if (!folders.empty()) {
    ::setenv("HONE_CUDA_INCLUDE", folders.c_str(), 1);
  }
  return options;
}

void add_store_option(cxxopts::Options& options) {
  options.add_options()("store",
                        fmt::format("the store: a file, or postgres://USER@HOST/DATABASE (default: {})", store_name(default_store_path())),
                        cxxopts::value<std::string>(), "FILE|URL");
}

void add_fix_option(cxxopts::Options& options, const std::string& help) {
  options.add_options()("fix", help, cxxopts::value<std::vector<std::string>>(), "NAME=VALUE");
}

Result<Restriction> find_restriction(const cxxopts::ParseResult& arguments) {
  const auto given = arguments.count("fix") > 0 ? arguments["fix"].as<std::vector<std::string>>() : std::vector<std::string>();
  return parse_restriction(without_blanks(fmt::format("{}", fmt::join(given, ","))));
}

void add_timing_options(cxxopts::Options& options) {
  const MeasureSettings usual;
  options.add_options()("graph-below", "kernels faster than this are timed as calls of a graph, if the device has graphs; 0: never",
                        cxxopts::value<Number>()->default_value(fmt::format("{}", usual.graph_below_us)), "MICROSECONDS")(
      "timing-seconds", "how long one configuration is timed at most, where its times vary too much to end earlier",
      cxxopts::value<Number>()->default_value(fmt::format("{}", usual.maximum_seconds)), "SECONDS");
}

void add_accuracy_option(cxxopts::Options& options) {
  options.add_options()("max-error",
                        "allowed error of float results: this share of the answer plus the answers' root mean square, in addition to "
                        "rounding. Each bound has its own records",
                        cxxopts::value<Number>(), "SHARE");
}

Result<double> find_accuracy(const cxxopts::ParseResult& arguments) {
  const double most = arguments.count("max-error") > 0 ? arguments["max-error"].as<Number>().value : 0.0;
  if (arguments.count("max-error") > 0 && !(most > 0.0 && most < 1.0)) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("--max-error is a share above 0 and below 1, e.g. 1e-3; it cannot be {}", most)};
  }
  return most;
}

void add_objective_option(cxxopts::Options& options) {
  options.add_options()(
      "objective",
      "what is minimized: time, p99 (or another percentile of time), energy (of a run), edp (energy times time). Each has "
      "its own records (hone help objectives)",
      cxxopts::value<std::string>()->default_value("time"), "NAME");
}

Result<Objective> find_objective(const cxxopts::ParseResult& arguments) {
  return parse_objective(arguments["objective"].as<std::string>());
}

Result<Purpose> find_purpose(const cxxopts::ParseResult& arguments, const Given& given) {
  HONE_ASSIGN(const double max_error, find_accuracy(arguments));
  HONE_ASSIGN(const Objective objective, find_objective(arguments));
  return purpose_within(max_error, given.digest, objective);
}

Result<MeasureSettings> find_timing(const cxxopts::ParseResult& arguments) {
  constexpr double kMostTimingSeconds = 3600.0;
  const double below = arguments["graph-below"].as<Number>().value;
  if (!(below >= 0.0)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("--graph-below is a time in microseconds, or 0 for never; it cannot be {}", below)};
  }
  const double seconds = arguments["timing-seconds"].as<Number>().value;
  if (!(seconds > 0.0 && seconds <= kMostTimingSeconds)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("--timing-seconds is a time above 0 and up to {}; it cannot be {}", kMostTimingSeconds, seconds)};
  }
  return MeasureSettings{.maximum_seconds = seconds, .graph_below_us = below};
}

void print_warnings(const KernelSpec& spec) {
  for (const std::string& warning : spec.warnings) {
    fmt::print(stderr, "{}\n", warning);
  }
}

Result<Subject> find_subject(const cxxopts::ParseResult& arguments) {
  if (arguments.count("kernel") == 0) {
    return Error{ErrorCode::kInvalidArgument, "which kernel? Give a name (hone kernels lists them) or the path of a .cu file"};
  }
  return find_subject(arguments["kernel"].as<std::string>(), arguments);
}

bool is_file(const std::string& kernel) { return kernel.ends_with(".cu") || kernel.find('/') != std::string::npos; }

Result<Subject> find_subject(const std::string& kernel, const cxxopts::ParseResult& arguments) {
  Subject subject;
  if (is_recorded(kernel)) {
    HONE_ASSIGN(RecordedSpace recorded, RecordedSpace::load(kernel));
    subject.recorded = std::make_unique<RecordedSpace>(std::move(recorded));
    subject.spec = recorded_spec(*subject.recorded, kernel, subject.recorded->digest());
    return subject;
  }
  if (is_file(kernel)) {
    HONE_ASSIGN(KernelSpec read, read_kernel_file_in_worker(kernel, find_flags(arguments)));
    print_warnings(read);
    HONE_ASSIGN(subject.spec, implementation_beside_files(std::move(read), arguments));
    return subject;
  }
  if (std::optional<Error> operation = not_an_operation(kernel)) {
    return *std::move(operation);
  }
  const Result<const KernelSpec*> builtin = find_builtin_kernel(kernel);
  if (!builtin) {
    return Error{builtin.error().code,
                 fmt::format("{}; give your own kernel by its file{}", builtin.error().message,
                             kernel.find('.') == std::string::npos ? fmt::format(": {}.cu", kernel) : ", which ends in .cu")};
  }
  subject.spec = **builtin;
  return subject;
}

namespace {

/// What is given; else f32 where the kernel has it, or the only one there is.
Result<DTypes> dtypes_of(const KernelSpec& spec, const std::string& dtype) {
  const bool has_f32 = std::ranges::find(spec.dtypes, DTypes(DType::kF32)) != spec.dtypes.end();
  return dtype.empty() && has_f32 ? Result<DTypes>(DTypes(DType::kF32)) : choose_dtypes(spec, without_blanks(dtype));
}

Result<DTypes> find_dtypes(const cxxopts::ParseResult& arguments, const KernelSpec& spec, const Given& given) {
  if (const std::vector<DTypes> left = given_dtypes(spec, given); arguments.count("dtype") == 0 && left.size() == 1) {
    return left.front();
  }
  return dtypes_of(spec, arguments.count("dtype") == 0 ? "" : arguments["dtype"].as<std::string>());
}

}  // namespace

Result<Problem> problem_of(const KernelSpec& spec, const std::string& dtype, const std::string& shape) {
  HONE_ASSIGN(const DTypes dtypes, dtypes_of(spec, dtype));
  HONE_ASSIGN(const Shape asked, parse_shape(spec, without_blanks(shape)));
  return make_problem(spec, dtypes, asked);
}

Result<Problem> find_problem(const cxxopts::ParseResult& arguments, const Subject& subject) {
  HONE_ASSIGN(const Given given, find_given(arguments, subject.spec));
  HONE_ASSIGN(const DTypes dtype, find_dtypes(arguments, subject.spec, given));
  HONE_ASSIGN(const Shape asked, parse_shape(subject.spec, without_blanks(arguments["shape"].as<std::string>())));
  HONE_ASSIGN(const Shape shape, with_given_fields(asked, subject.spec, given));
  return make_problem(subject.spec, dtype, shape);
}

namespace {

Result<void> check_is_one(const cxxopts::ParseResult& arguments, std::size_t devices) {
  if (devices > 1) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("--device {} names {} devices; only hone tune uses several", arguments["device"].as<std::string>(), devices)};
  }
  return {};
}

Result<std::vector<Registry::Found>> as_list(Result<Registry::Found> one) {
  HONE_TRY(one);
  return std::vector<Registry::Found>{std::move(one).value()};
}

}  // namespace

Result<std::vector<Registry::Found>> find_devices(const cxxopts::ParseResult& arguments, const std::string& otherwise) {
  const std::string wanted = arguments.count("device") > 0 ? without_blanks(arguments["device"].as<std::string>()) : otherwise;
  Result<std::vector<Registry::Found>> found = wanted.empty() ? as_list(registry().best_device()) : registry().devices(wanted);
  if (!found) {
    return Error{found.error().code, fmt::format("{}; hone doctor reports what was found and what is missing", found.error().message)};
  }
  return found;
}

Result<Registry::Found> find_device(const cxxopts::ParseResult& arguments, const std::string& otherwise) {
  HONE_ASSIGN(std::vector<Registry::Found> found, find_devices(arguments, otherwise));
  HONE_TRY(check_is_one(arguments, found.size()));
  return std::move(found.front());
}

Result<Target> find_session_target(const cxxopts::ParseResult& arguments, const Subject& subject) {
  Target target;
  HONE_ASSIGN(target.problem, find_problem(arguments, subject));
  HONE_ASSIGN(const SessionDevices chosen, find_session_devices(arguments, subject.recorded ? "replay" : ""));
  target.workers = chosen.workers;
  target.own_devices = chosen.own;
  std::vector<Registry::Found> devices = chosen.devices;
  const bool replay = devices.front().info.plugin == "replay";
  if (replay != (subject.recorded != nullptr)) {
    return Error{ErrorCode::kInvalidArgument,
                 replay ? "--device replay answers from a recorded space: give its .json or .json.gz file in place of a kernel"
                        : "a recorded space is replayed: omit --device, or give --device replay"};
  }
  for (Registry::Found& device : devices) {
    if (replay) {
      device.info.product = subject.recorded->device_name();
    }
    if (&device != &devices.front()) {
      target.more_devices.push_back(device.info);
    }
  }
  target.device = std::move(devices.front());
  return target;
}

Result<Target> find_target(const cxxopts::ParseResult& arguments, const Subject& subject) {
  HONE_ASSIGN(Target target, find_session_target(arguments, subject));
  HONE_TRY(check_is_one(arguments, 1 + target.more_devices.size()));
  return target;
}

std::filesystem::path store_path(const cxxopts::ParseResult& arguments) {
  return arguments.count("store") > 0 ? std::filesystem::path(arguments["store"].as<std::string>()) : default_store_path();
}

Result<std::unique_ptr<Store>> open_to_read(const std::filesystem::path& path, Trust trust) {
  return open_store(path, StoreMode::kReadOnly, trust);
}

Result<std::unique_ptr<Store>> open_existing_store(const cxxopts::ParseResult& arguments, Trust trust) {
  if (!may_have_store(store_path(arguments))) {
    return std::unique_ptr<Store>();
  }
  Result<std::unique_ptr<Store>> store = open_to_read(store_path(arguments), trust);
  return !store && store.error().code == ErrorCode::kNotFound ? std::unique_ptr<Store>() : std::move(store);
}

}  // namespace hone::cli
