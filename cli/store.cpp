#include <fmt/format.h>

#include "cli/options.hpp"
#include "cli/present.hpp"
#include "cli/verbs.hpp"
#include "engine/store/store_server.hpp"
#include "engine/store/store_upkeep.hpp"

namespace hone::cli {
namespace {

using Paths = std::vector<std::filesystem::path>;

std::string size_text(std::int64_t bytes) {
  const auto amount = static_cast<double>(bytes);
  return bytes < 1 << 20 ? fmt::format("{:.1f} KiB", amount / (1 << 10)) : fmt::format("{:.1f} MiB", amount / (1 << 20));
}

Result<Output> info_of(const std::filesystem::path& store) {
  HONE_ASSIGN(const StoreFacts facts, store_facts(store));
  return Output{{{"store", facts.name},
                 {"database", facts.database},
                 {"schema", facts.schema},
                 {"generation", facts.generation},
                 {"session_count", facts.sessions},
                 {"unfinished_count", facts.unfinished},
                 {"trials", facts.trials},
                 {"record_count", facts.records},
                 {"portfolio_count", facts.portfolios},
                 {"artifact_count", facts.artifacts},
                 {"code_bytes", facts.artifact_bytes},
                 {"bytes", facts.bytes}},
                fmt::format("store       {}\ndatabase    {}, schema {}\ngeneration  {}\nsessions    {} ({} unfinished)\ntrials      {}\n"
                            "records     {}, of all generations\nportfolios  {}\ncode        {} artifacts, {}\nsize        {}\n",
                            facts.name, facts.database, facts.schema, facts.generation, facts.sessions, facts.unfinished, facts.trials,
                            facts.records, facts.portfolios, facts.artifacts, size_text(facts.artifact_bytes), size_text(facts.bytes))};
}

constexpr int kFaulty = 1;

Result<Output> check_of(const std::filesystem::path& store) {
  HONE_ASSIGN(const std::vector<std::string> faults, check_store(store));
  Output output{
      {{"store", store_name(store)}, {"faults", faults}}, faults.empty() ? "no fault was found\n" : "", faults.empty() ? 0 : kFaulty};
  for (const std::string& fault : faults) {
    output.text += fault + "\n";
  }
  return output;
}

Result<Output> prune(const std::filesystem::path& store) {
  HONE_ASSIGN(const Pruned pruned, prune_store(store));
  return Output{{{"store", store_name(store)}, {"artifact_count", pruned.artifacts}, {"code_bytes", pruned.bytes}},
                fmt::format("removed {} pieces of compiled code, {}\n", pruned.artifacts, size_text(pruned.bytes))};
}

Result<Output> copy(const std::filesystem::path& store, const std::filesystem::path& file, CopyWhat what) {
  HONE_TRY(copy_store(store, file, what));
  HONE_ASSIGN(const StoreFacts facts, store_facts(file));
  return Output{{{"store", store_name(store)},
                 {"file", facts.name},
                 {"generation", facts.generation},
                 {"record_count", facts.records},
                 {"trials", facts.trials},
                 {"bytes", facts.bytes}},
                fmt::format("{}: generation {}, {} records, {} trials, {}\n", facts.name, facts.generation, facts.records, facts.trials,
                            size_text(facts.bytes))};
}

/// What is damaged is copied as it is: better than nothing, and not to be taken for a backup.
Result<Output> back_up(const std::filesystem::path& store, const std::filesystem::path& file) {
  HONE_ASSIGN(Output output, copy(store, file, CopyWhat::kAll));
  HONE_ASSIGN(const std::vector<std::string> faults, check_store(file));
  output.json["faults"] = faults;
  for (const std::string& fault : faults) {
    output.text += "damaged, as the store is: " + fault + "\n";
  }
  output.exit_code = faults.empty() ? 0 : kFaulty;
  return output;
}

Result<Output> merge(const Paths& from, const std::filesystem::path& into) {
  Output output{{{"store", store_name(into)}, {"merged", Json::array()}}, ""};
  for (const std::filesystem::path& one : from) {
    HONE_ASSIGN(const Merged merged, merge_store(one, into));
    output.json["merged"].push_back({{"from", store_name(one)},
                                     {"session_count", merged.sessions},
                                     {"trials", merged.trials},
                                     {"record_count", merged.records},
                                     {"portfolio_count", merged.portfolios},
                                     {"unfinished_count", merged.unfinished},
                                     {"foreign_count", merged.foreign},
                                     {"generation", merged.generation}});
    output.text += fmt::format("{}: added {} sessions with {} trials, {} records, {} portfolios; generation {}\n", store_name(one),
                               merged.sessions, merged.trials, merged.records, merged.portfolios, merged.generation);
    if (merged.unfinished > 0) {
      output.text += fmt::format("  {} unfinished sessions were left: they go on where they are\n", merged.unfinished);
    }
    if (merged.foreign > 0) {
      output.text += fmt::format(
          "  {} records came without their code, which is not yours, into a store that you trust: it is compiled anew\n", merged.foreign);
    }
  }
  return output;
}

Result<std::filesystem::path> out_of(const cxxopts::ParseResult& arguments, std::string_view what) {
  if (arguments.count("out") == 0) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("hone store {} writes a file: give --out FILE", what)};
  }
  return std::filesystem::path(arguments["out"].as<std::string>());
}

Result<Output> run_word(const std::string& word, const Paths& from, const cxxopts::ParseResult& arguments) {
  const std::filesystem::path store = store_path(arguments);
  const bool merges = word == "merge" || word == "push";
  if (!from.empty() && !merges) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("hone store {} takes no stores but --store", word)};
  }
  if (arguments.count("out") > 0 && word != "pull" && word != "backup") {
    return Error{ErrorCode::kInvalidArgument, "--out belongs to hone store pull and hone store backup"};
  }
  if (word == "info") {
    return info_of(store);
  }
  if (word == "check") {
    return check_of(store);
  }
  if (word == "prune") {
    return prune(store);
  }
  if (word == "pull" || word == "backup") {
    HONE_ASSIGN(const std::filesystem::path file, out_of(arguments, word));
    return word == "pull" ? copy(store, file, CopyWhat::kServed) : back_up(store, file);
  }
  if (merges && from.empty()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("which stores? hone store {} FILE... --store {}", word,
                                                          word == "push" ? "postgres://USER@HOST/DATABASE" : "FILE")};
  }
  if (word == "push" && !is_store_server(store)) {
    return Error{ErrorCode::kInvalidArgument,
                 "hone store push brings files to a server: give --store postgres://USER@HOST/DATABASE (of files: hone store merge)"};
  }
  if (merges) {
    return merge(from, store);
  }
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("unknown word '{}' after hone store (known: info, check, prune, backup, pull, push, merge)", word)};
}

}  // namespace

int store_upkeep(int argc, char** argv) {
  cxxopts::Options options("hone store",
                           "Looks after stores, files and servers alike.\n"
                           "  info            what there is, and how much room it takes\n"
                           "  check           looks for damage (exit code 1: there is some)\n"
                           "  prune           removes compiled code that no record needs; trials and times stay\n"
                           "  backup          makes a file with all that is in the store (--out)\n"
                           "  pull            makes a file for applications: records, their code and history, portfolios (--out)\n"
                           "  push STORE...   adds what files have to the server --store\n"
                           "  merge STORE...  adds what stores have to --store: finished sessions, and records that are faster\n"
                           "docs/stores.md says what each keeps.");
  add_store_option(options);
  options.add_options()("word", "info, check, prune, backup, pull, push or merge", cxxopts::value<std::string>())(
      "from", "stores", cxxopts::value<std::vector<std::string>>())("out", "the file to make", cxxopts::value<std::string>(), "FILE");
  options.parse_positional({"word", "from"});
  options.positional_help("WORD [STORE...]");
  return run_verb(options, argc, argv, [](const cxxopts::ParseResult& arguments) -> Result<Output> {
    if (arguments.count("word") == 0) {
      return Error{ErrorCode::kInvalidArgument, "what of the store? hone store info, check, prune, backup, pull, push or merge"};
    }
    Paths from;
    if (arguments.count("from") > 0) {
      for (const std::string& path : arguments["from"].as<std::vector<std::string>>()) {
        from.emplace_back(path);
      }
    }
    return run_word(arguments["word"].as<std::string>(), from, arguments);
  });
}

}  // namespace hone::cli
