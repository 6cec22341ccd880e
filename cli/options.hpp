#pragma once
// The options that several verbs have, and what they mean.

#include <cxxopts.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/given_options.hpp"
#include "cli/run_verb.hpp"
#include "engine/kernel/kernel_problem.hpp"
#include "engine/kernel/kernel_spec.hpp"
#include "engine/measure/measure.hpp"
#include "engine/plugin/registry.hpp"
#include "engine/replay/recorded_space.hpp"
#include "engine/space/restriction.hpp"
#include "engine/store/lookup.hpp"
#include "engine/store/store.hpp"

namespace hone::cli {

/// For lists that people write with blanks: "rows=512, cols=2048".
std::string without_blanks(std::string text);

/// --device, --dtype, --shape: the options that name a problem on a device.
void add_problem_options(cxxopts::Options& options);
void add_store_option(cxxopts::Options& options);
/// --fix: values that a search is kept to.
void add_fix_option(cxxopts::Options& options, const std::string& help);
Result<Restriction> find_restriction(const cxxopts::ParseResult& arguments);

/// --objective, a part of a record's key, too.
void add_objective_option(cxxopts::Options& options);
Result<Objective> find_objective(const cxxopts::ParseResult& arguments);
/// What records are looked up for: the objective, the accuracy and the given arrays.
Result<Purpose> find_purpose(const cxxopts::ParseResult& arguments, const Given& given);
/// --max-error: accuracy as a constraint, and a part of a record's key.
void add_accuracy_option(cxxopts::Options& options);
Result<double> find_accuracy(const cxxopts::ParseResult& arguments);
/// --graph-below, --timing-seconds: up to which time calls are timed as a graph, and how long a configuration is timed.
void add_timing_options(cxxopts::Options& options);
Result<MeasureSettings> find_timing(const cxxopts::ParseResult& arguments);

/// -I, -D, --flag, --cuda-include: what a kernel file is read and compiled with.
void add_flag_options(cxxopts::Options& options);
/// Makes the folders of --cuda-include known to this process's workers, too.
ReadOptions find_flags(const cxxopts::ParseResult& arguments);

/// Whether what was given for a kernel is the path of a file.
bool is_file(const std::string& kernel);
/// A kernel, by the name of a built-in one or by the path of a file (.cu, or a recorded space: .json, .json.gz).
struct Subject {
  KernelSpec spec;
  std::unique_ptr<RecordedSpace> recorded = nullptr;
  std::optional<Choice> choice = {};  ///< what serves the problem, where an operation was asked for it
};
Result<Subject> find_subject(const cxxopts::ParseResult& arguments);
/// Of this name or path; `arguments` have the flags for reading a file.
Result<Subject> find_subject(const std::string& kernel, const cxxopts::ParseResult& arguments);
/// Deprecated names in a user's file, on stderr.
void print_warnings(const KernelSpec& spec);

/// --device, `otherwise` where it is not given, else the best that is here. Errors: it is unknown, or missing; it names several.
Result<Registry::Found> find_device(const cxxopts::ParseResult& arguments, const std::string& otherwise = "");
/// The same for sessions: one, or several of one product ("cuda:0,cuda:1", "cuda:*").
Result<std::vector<Registry::Found>> find_devices(const cxxopts::ParseResult& arguments, const std::string& otherwise = "");

struct Target {
  Registry::Found device;
  std::vector<DeviceInfo> more_devices = {};  ///< of a session
  std::optional<std::string> workers = {};    ///< of a session: the store whose workers take part
  bool own_devices = true;                    ///< false: `device` is what they have
  Problem problem;
};
/// What --dtype and --shape say; without a dtype, f32 where the kernel has it, or the only one there is.
Result<Problem> problem_of(const KernelSpec& spec, const std::string& dtype, const std::string& shape);
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
