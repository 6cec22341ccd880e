#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/report/data.hpp"
#include "cli/report/page.hpp"
#include "cli/verbs.hpp"
#include "engine/kernel/builtin_kernels.hpp"
#include "engine/report/session_study.hpp"

namespace hone::cli {
namespace {

namespace fs = std::filesystem;

using report::SessionSource;
using report::SessionStudy;

/// The kernels of the sessions, as far as they are at hand.
struct Kernels {
  std::vector<Subject> given;
  std::set<const Subject*> used;

  static Result<Kernels> load(const cxxopts::ParseResult& arguments) {
    Kernels kernels;
    if (arguments.count("kernel") > 0) {
      for (const std::string& file : arguments["kernel"].as<std::vector<std::string>>()) {
        HONE_ASSIGN(Subject subject, find_subject(file, arguments));
        kernels.given.push_back(std::move(subject));
      }
    }
    return kernels;
  }

  /// Null where neither a given nor a built-in kernel is the one that was tuned.
  void find(SessionSource& source) {
    const SessionInfo& session = source.session;
    for (const Subject& subject : given) {
      if (subject.spec.name == session.kernel && subject.spec.source_hash == session.source_hash) {
        source.spec = &subject.spec;
        source.recorded = subject.recorded.get();
        used.insert(&subject);
        return;
      }
    }
    const Result<const KernelSpec*> builtin = find_builtin_kernel(session.kernel);
    if (builtin && (*builtin)->source_hash == session.source_hash) {
      source.spec = *builtin;
    }
  }

  Result<void> check_used(const std::vector<SessionInfo>& sessions) const {
    for (const Subject& subject : given) {
      if (!used.contains(&subject)) {
        return Error{
            ErrorCode::kInvalidArgument,
            fmt::format("--kernel {}: none of the sessions is of this kernel as it is now (session {} is of {}); without --kernel the "
                        "report says what it can",
                        subject.spec.file, sessions.front().id, sessions.front().kernel)};
      }
    }
    return {};
  }
};

Result<std::vector<SessionInfo>> find_sessions(Store& store, const std::vector<std::int64_t>& ids) {
  HONE_ASSIGN(const std::vector<SessionInfo> all, store.sessions());
  std::vector<SessionInfo> found;
  for (const std::int64_t id : ids) {
    const auto one = std::ranges::find(all, id, &SessionInfo::id);
    if (one == all.end()) {
      return Error{ErrorCode::kNotFound, fmt::format("the store has no session {}; hone sessions lists them", id)};
    }
    if (std::ranges::find(found, id, &SessionInfo::id) == found.end()) {
      found.push_back(*one);
    }
  }
  return found;
}

/// Numbers in their order: the store names values in the order in which they were tried.
void sort_values(std::vector<Parameter>& parameters) {
  for (Parameter& parameter : parameters) {
    if (parameter.labels.empty()) {
      std::ranges::sort(parameter.values, {}, [](const Value& value) { return value.real(); });
    }
  }
}

Result<SessionStudy> study_of(Store& store, const SessionInfo& session, const std::vector<DeviceInfo>& devices,
                              const std::vector<RecordInfo>& history, Kernels& kernels) {
  SessionSource source{.session = session, .parameters = {}, .trials = {}};
  kernels.find(source);
  if (source.spec != nullptr) {
    source.parameters = source.spec->parameters;
  } else {
    HONE_ASSIGN(source.parameters, store.parameters_of(session.id));
    sort_values(source.parameters);
  }
  HONE_ASSIGN(source.trials, store.trials(session.id, source.parameters));
  for (const RecordInfo& record : history) {
    if (record.session == session.id) {
      source.record = record.configuration;
    }
  }
  const auto device = std::ranges::find_if(devices, [&](const DeviceInfo& one) {
    return one.product == session.product && one.mig_profile == session.mig_profile && one.share == session.share;
  });
  source.device = device == devices.end() ? nullptr : &*device;
  if (source.device != nullptr) {
    HONE_ASSIGN(source.peaks, roofline::find_peaks(*source.device, store));
  }
  return report::study(std::move(source));
}

Result<void> make_folder(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  return failed ? Result<void>(Error{ErrorCode::kIo, fmt::format("folder {} cannot be created: {}", folder.string(), failed.message())})
                : Result<void>();
}

/// Writes what was asked for; the names of the files.
Result<std::vector<std::string>> write_files(const cxxopts::ParseResult& arguments, const std::vector<SessionStudy>& studies) {
  std::vector<std::string> files;
  if (arguments.count("out") > 0) {
    files.push_back(arguments["out"].as<std::string>());
    HONE_TRY(write_file(files.back(), std::string_view(page::report_page(studies))));
  }
  if (arguments.count("csv") > 0) {
    files.push_back(arguments["csv"].as<std::string>());
    HONE_TRY(write_file(files.back(), std::string_view(page::csv(studies))));
  }
  if (arguments.count("svg") > 0) {
    const fs::path folder = arguments["svg"].as<std::string>();
    HONE_TRY(make_folder(folder));
    for (const auto& [name, text] : page::picture_files(studies)) {
      files.push_back((folder / (name + ".svg")).string());
      HONE_TRY(write_file(files.back(), std::string_view(text)));
    }
  }
  return files;
}

Result<Output> make_report(const cxxopts::ParseResult& arguments) {
  if (arguments.count("session") == 0) {
    return Error{ErrorCode::kInvalidArgument, "which sessions? hone report SESSION... --out FILE.html (hone sessions lists them)"};
  }
  HONE_ASSIGN(const auto store, open_to_read(store_path(arguments)));
  HONE_ASSIGN(const std::vector<SessionInfo> sessions, find_sessions(*store, arguments["session"].as<std::vector<std::int64_t>>()));
  HONE_ASSIGN(Kernels kernels, Kernels::load(arguments));
  HONE_ASSIGN(const std::vector<DeviceInfo> devices, store->devices());
  HONE_ASSIGN(const std::vector<RecordInfo> history, store->record_history(StoreView()));
  std::vector<SessionStudy> studies;
  Output output{.json = {{"sessions", Json::array()}}, .text = ""};
  for (const SessionInfo& session : sessions) {
    HONE_ASSIGN(SessionStudy study, study_of(*store, session, devices, history, kernels));
    output.json["sessions"].push_back(page::json(study));
    output.text += (output.text.empty() ? "" : "\n") + page::summary_text(study);
    studies.push_back(std::move(study));
  }
  HONE_TRY(kernels.check_used(sessions));
  HONE_ASSIGN(const std::vector<std::string> files, write_files(arguments, studies));
  output.json["files"] = files;
  output.text += files.empty() ? "\n--out FILE.html writes a page with pictures; hone report --help\n" : "\n";
  for (const std::string& file : files) {
    output.text += file + "\n";
  }
  return output;
}

}  // namespace

int report_sessions(int argc, char** argv) {
  cxxopts::Options options(
      "hone report", "Reports what sessions found, and why: a page with pictures (--out), tables, or both. docs/report.md explains it.");
  add_store_option(options);
  options.add_options()("session", "session ids, e.g. 3, or 3 5 8: several are compared", cxxopts::value<std::vector<std::int64_t>>(),
                        "ID")("out", "the page to write: one HTML file that needs nothing else", cxxopts::value<std::string>(),
                              "FILE.html")("svg", "write each picture into a folder", cxxopts::value<std::string>(), "DIR")(
      "csv", "write every trial into a table", cxxopts::value<std::string>(), "FILE.csv")(
      "kernel", "the file of a kernel that is not built in, or the recorded space that was replayed; may be repeated",
      cxxopts::value<std::vector<std::string>>(), "FILE");
  options.parse_positional({"session"});
  options.positional_help("ID...");
  return run_verb(options, argc, argv, make_report);
}

}  // namespace hone::cli
