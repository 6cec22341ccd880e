#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "cli/options.hpp"
#include "cli/present.hpp"
#include "cli/verbs.hpp"
#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/operation.hpp"

namespace hone::cli {
namespace {

struct WhichRecords {
  std::vector<std::int64_t> ids;
  std::vector<std::string> kernels;
  [[nodiscard]] bool has(const RecordInfo& record) const {
    return (ids.empty() && kernels.empty()) || std::ranges::find(ids, record.id) != ids.end() ||
           std::ranges::find(kernels, record.kernel) != kernels.end();
  }
};

WhichRecords find_records(const cxxopts::ParseResult& arguments) {
  WhichRecords which_records;
  if (arguments.count("which") == 0) {
    return which_records;
  }
  for (const std::string& which : arguments["which"].as<std::vector<std::string>>()) {
    std::int64_t id = 0;
    const auto [end, failure] = std::from_chars(which.data(), which.data() + which.size(), id);
    if (failure == std::errc() && end == which.data() + which.size()) {
      which_records.ids.push_back(id);
      continue;
    }
    which_records.kernels.push_back(which);  // also beside an operation: a kernel of one's own may have its name
    if (const Result<Operation> operation = find_operation(which)) {
      std::ranges::transform(operation->implementations, std::back_inserter(which_records.kernels), &KernelSpec::name);
    }
  }
  return which_records;
}

Json record_json(const RecordInfo& record) {
  return {{"record", record.id},
          {"generation", record.generation},
          {"state", name(record.state)},
          {"served", record.served},
          {"kernel", record.kernel},
          {"source_hash", record.source_hash},
          {"dtype", record.dtypes},
          {"shape", json(record.shape)},
          {"bound", record.accuracy_bound},
          {"input_profile", record.input_profile},
          {"product", record.product},
          {"configuration", record.configuration},
          {"time_us", record.median_us},
          {"default_us", record.default_us},
          {"session", record.session},
          {"created_at", record.created_at}};
}

/// Of kernels and numbers that were named, the first that the store knows nothing of.
Result<void> check_known(const std::vector<RecordInfo>& records, const WhichRecords& which_records) {
  for (const std::int64_t id : which_records.ids) {
    if (std::ranges::find(records, id, &RecordInfo::id) == records.end()) {
      return Error{ErrorCode::kNotFound, fmt::format("there is no record {} (hone records --all lists them)", id)};
    }
  }
  for (const std::string& kernel : which_records.kernels) {
    if (!find_builtin_kernel(kernel) && !find_operation(kernel) &&
        std::ranges::find(records, kernel, &RecordInfo::kernel) == records.end()) {
      return Error{ErrorCode::kNotFound, fmt::format("there is no record of '{}' (hone records --all lists them)", kernel)};
    }
  }
  return {};
}

/// Served ones; with `all` also earlier, withdrawn and, of approved ones only, unapproved ones.
Result<Output> list_records(Store& store, const WhichRecords& which_records, const StoreView& view, bool all) {
  HONE_ASSIGN(const std::vector<RecordInfo> records, store.record_history(view));
  HONE_ASSIGN(const std::int64_t generation, store.generation());
  if (view.generation != StoreView::kNewest && (view.generation < 0 || view.generation > generation)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("the store has no generation {}: the newest is {} (hone records --log)", view.generation, generation)};
  }
  HONE_TRY(check_known(records, which_records));
  Output output{.json = {{"generation", std::min(generation, view.generation)}, {"records", Json::array()}}, .text = ""};
  std::vector<std::vector<std::string>> rows{
      {"id", "generation", "state", "kernel", "dtype", "shape", "product", "time", "default", "session", "created", "configuration"}};
  for (const RecordInfo& record : records) {
    if (!which_records.has(record) || (!all && !record.served)) {
      continue;
    }
    output.json["records"].push_back(record_json(record));
    rows.push_back({std::to_string(record.id), std::to_string(record.generation),
                    fmt::format("{}{}", name(record.state), record.served && all ? ", served" : ""), record.kernel, record.dtypes,
                    text(record.shape), record.product, duration(record.median_us),
                    record.default_us > 0.0 ? duration(record.default_us) : "-", std::to_string(record.session), record.created_at,
                    record.configuration});
  }
  const bool is_any_hidden = std::ranges::any_of(records, [&](const RecordInfo& one) { return which_records.has(one); });
  output.text = rows.size() > 1 ? table(rows) : is_any_hidden ? "no record that is served; --all lists the others\n" : "no record\n";
  output.text += fmt::format("generation {}\n", std::min(generation, view.generation));
  return output;
}

Result<Output> list_changes(Store& store) {
  HONE_ASSIGN(const std::vector<Change> changes, store.changes());
  Output output{.json = {{"changes", Json::array()}}, .text = ""};
  for (const Change& change : changes) {
    output.json["changes"].push_back({{"generation", change.generation}, {"what", change.what}, {"created_at", change.created_at}});
    output.text += fmt::format("{:>6}  {}  {}\n", change.generation, change.created_at, change.what);
  }
  output.text += changes.empty() ? "nothing has changed yet\n" : "";
  return output;
}

Result<Output> changed(std::int64_t generation) { return Output{{{"generation", generation}}, fmt::format("generation {}\n", generation)}; }

/// The same of what changes the store.
Result<Output> change_records(const cxxopts::ParseResult& arguments, const WhichRecords& which_records) {
  const std::string reason = arguments.count("reason") > 0 ? arguments["reason"].as<std::string>() : "";
  const bool sets = arguments.count("set") > 0;
  if (sets == (arguments.count("roll-back") > 0)) {
    return Error{ErrorCode::kInvalidArgument, "--set and --roll-back are two changes: make one after the other"};
  }
  if (sets && (which_records.ids.empty() || !which_records.kernels.empty())) {
    return Error{ErrorCode::kInvalidArgument,
                 "which records? --set takes their numbers: hone records 12 13 --set approved (hone records lists them)"};
  }
  if (!sets && (!which_records.ids.empty() || !which_records.kernels.empty())) {
    return Error{ErrorCode::kInvalidArgument,
                 "--roll-back is of the whole store and takes no records: --set withdrawn takes one back, --set pinned chooses one"};
  }
  HONE_ASSIGN(const RecordState state, sets ? parse_record_state(arguments["set"].as<std::string>()) : RecordState::kCandidate);
  HONE_TRY(open_to_read(store_path(arguments)));  // a store that is not there is not made
  HONE_ASSIGN(const std::unique_ptr<Store> store, open_store(store_path(arguments), StoreMode::kReadWrite));
  HONE_ASSIGN(const std::int64_t generation, sets ? store->set_record_state(which_records.ids, state, reason)
                                                  : store->roll_back(arguments["roll-back"].as<std::int64_t>(), reason));
  return changed(generation);
}

}  // namespace

int records(int argc, char** argv) {
  cxxopts::Options options("hone records",
                           "Lists the records that the store serves, and changes which these are. Nothing is deleted: every change is a\n"
                           "generation, to which a store can be rolled back and a program can be held (docs/records.md).");
  add_store_option(options);
  options.add_options()("which", "names of kernels or of built-in operations, or numbers of records",
                        cxxopts::value<std::vector<std::string>>(), "KERNEL|ID")("all", "also earlier and withdrawn records")(
      "at", "as of this generation", cxxopts::value<std::int64_t>(), "GENERATION")(
      "approved", "only records that were approved or pinned are served")("log", "list the generations")(
      "set", "give the records a state: candidate, approved, pinned, withdrawn", cxxopts::value<std::string>(), "STATE")(
      "roll-back", "serve what was served in an earlier generation", cxxopts::value<std::int64_t>(), "GENERATION")(
      "reason", "with --set and --roll-back: noted in the log", cxxopts::value<std::string>(), "TEXT");
  options.parse_positional({"which"});
  options.positional_help("[KERNEL|ID...]");
  return run_verb(options, argc, argv, [](const cxxopts::ParseResult& arguments) -> Result<Output> {
    const WhichRecords which_records = find_records(arguments);
    if (arguments.count("set") + arguments.count("roll-back") > 0) {
      return change_records(arguments, which_records);
    }
    if (arguments.count("reason") > 0) {
      return Error{ErrorCode::kInvalidArgument, "--reason belongs to --set or --roll-back"};
    }
    HONE_ASSIGN(const auto store, open_to_read(store_path(arguments)));
    if (arguments.count("log") > 0 && arguments.count("which") + arguments.count("at") > 0) {
      return Error{ErrorCode::kInvalidArgument, "--log lists all generations: it takes no records and no --at"};
    }
    if (arguments.count("log") > 0) {
      return list_changes(*store);
    }
    StoreView view{.generation = StoreView::kNewest, .approved_only = arguments.count("approved") > 0};
    if (arguments.count("at") > 0) {
      view.generation = arguments["at"].as<std::int64_t>();
    }
    return list_records(*store, which_records, view, arguments.count("all") > 0);
  });
}

}  // namespace hone::cli
