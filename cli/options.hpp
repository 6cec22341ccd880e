#pragma once
// What the verbs share: options, what they mean, and how a verb ends.

#include <cxxopts.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/kernel/kernel_problem.hpp"
#include "engine/kernel/kernel_spec.hpp"
#include "engine/measure/given.hpp"
#include "engine/measure/measure.hpp"
#include "engine/plugin/registry.hpp"
#include "engine/replay/recorded_space.hpp"
#include "engine/space/restriction.hpp"
#include "engine/store/store.hpp"

namespace hone::cli {

using Json = nlohmann::ordered_json;

/// What a verb has to say: JSON for --json, text otherwise.
struct Output {
  Json json;
  std::string text;
  int exit_code = 0;
};

/// Parses the arguments with `options` (--json and --help are added), runs `body`, prints its output or its error. Returns the exit code:
/// 0, 2 for bad input or something missing, 1 for a failure of the device, the disk or a worker and for output that could not be written,
/// 130 if it was interrupted.
int run_verb(cxxopts::Options& options, int argc, char** argv, const std::function<Result<Output>(const cxxopts::ParseResult&)>& body);

/// Whether --json is among the arguments.
bool wants_json(int argc, char** argv);
/// Says what went wrong, for people and with `json` for programs too, and returns `code`.
int fail(std::string_view who, bool json, const std::string& message, int code);

/// For lists that people write with blanks: "rows=512, cols=2048".
std::string without_blanks(std::string text);

/// --device, --dtype, --shape: the options that name a problem on a device.
void add_problem_options(cxxopts::Options& options);
void add_store_option(cxxopts::Options& options);
/// --fix: values that a search is kept to.
void add_fix_option(cxxopts::Options& options, const std::string& help);
Result<Restriction> find_restriction(const cxxopts::ParseResult& arguments);

/// --max-error: accuracy as a constraint, and a part of a record's key.
void add_accuracy_option(cxxopts::Options& options);
Result<double> find_accuracy(const cxxopts::ParseResult& arguments);
/// --input, --expect: arrays in place of drawn inputs and of the reference's answers.
void add_given_options(cxxopts::Options& options);
/// Nothing where the verb has no such options.
Result<Given> find_given(const cxxopts::ParseResult& arguments, const KernelSpec& spec);
/// The shape with the fields that given arrays tell. Errors: a field of which it says something else.
Result<Shape> with_given_fields(Shape shape, const KernelSpec& spec, const Given& given);
/// What is known of given arrays, as a verb reports it.
Json given_json(const Given& given);
std::string given_text(const Given& given);

/// --graph-below, --timing-seconds: up to which time calls are timed as a graph, and how long a configuration is timed.
void add_timing_options(cxxopts::Options& options);
Result<MeasureSettings> find_timing(const cxxopts::ParseResult& arguments);

/// -I, -D, --flag, --cuda-include: what a kernel file is read and compiled with.
void add_flag_options(cxxopts::Options& options);
/// Makes the folders of --cuda-include known to this process's workers, too.
ReadOptions find_flags(const cxxopts::ParseResult& arguments);

/// A kernel, by the name of a built-in one or by the path of a file (.cu, or a recorded space: .json, .json.gz).
struct Subject {
  KernelSpec spec;
  std::unique_ptr<RecordedSpace> recorded;
};
Result<Subject> find_subject(const cxxopts::ParseResult& arguments);
/// Deprecated names in a user's file, on stderr.
void print_warnings(const KernelSpec& spec);

/// --device, `otherwise` where it is not given, else the best that is here. Errors: it is unknown, or missing; it names several.
Result<Registry::Found> find_device(const cxxopts::ParseResult& arguments, const std::string& otherwise = "");
/// The same for sessions: one, or several of one product ("cuda:0,cuda:1", "cuda:*").
Result<std::vector<Registry::Found>> find_devices(const cxxopts::ParseResult& arguments, const std::string& otherwise = "");

struct Target {
  Registry::Found device;
  std::vector<DeviceInfo> more_devices = {};  ///< of a session
  Problem problem;
};
Result<Problem> find_problem(const cxxopts::ParseResult& arguments, const Subject& subject);
Result<Target> find_target(const cxxopts::ParseResult& arguments, const Subject& subject);
/// What a session is to run on.
Result<Target> find_session_target(const cxxopts::ParseResult& arguments, const Subject& subject);

std::filesystem::path store_path(const cxxopts::ParseResult& arguments);
/// A store, for reading: one of an older Hone is read as it is.
Result<std::unique_ptr<Store>> open_to_read(const std::filesystem::path& path, Trust trust = Trust::kOwn);
/// The store, for reading; null if there is none.
Result<std::unique_ptr<Store>> open_existing_store(const cxxopts::ParseResult& arguments, Trust trust = Trust::kOwn);

}  // namespace hone::cli
