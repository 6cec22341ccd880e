// hone portfolios: what there is, written to files and taken from them. hone warm: their code, made ahead of time.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <tuple>

#include "cli/operations.hpp"
#include "cli/output.hpp"
#include "cli/present.hpp"
#include "cli/registry.hpp"
#include "cli/verbs.hpp"
#include "engine/base/names.hpp"
#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/store/portfolio_lookup.hpp"
#include "engine/store/shipped_portfolios.hpp"
#include "engine/store/store_server.hpp"
#include "engine/tune/portfolio_session.hpp"
#include "engine/tune/warm.hpp"

namespace hone::cli {
namespace {

struct KnownPortfolio {
  Portfolio portfolio;
  std::int64_t generation = 0;  ///< 0: it came with Hone
  std::string source;           ///< the text
  PortfolioKey key = {};        ///< of the store
};

using Names = std::vector<std::string>;

void add_selection(cxxopts::Options& options) {
  options.add_options()("operations", "operations or kernels (default: all)", cxxopts::value<Names>(), "NAME ...")(
      "dtype", "only those of these dtypes", cxxopts::value<std::string>(), "DTYPE")(
      "product", "only those for this product, named as hone portfolios lists it", cxxopts::value<std::string>(), "PRODUCT")(
      "range", "only those of this range, as hone portfolios lists it", cxxopts::value<std::string>(), "RANGE")(
      "generation", "only the one of this generation of the store (0: those that came with Hone)", cxxopts::value<std::int64_t>(), "N");
  options.parse_positional({"operations"});
  options.positional_help("[OPERATION ...]");
}

bool is_wanted(const cxxopts::ParseResult& arguments, const KnownPortfolio& one) {
  const Names names = arguments.count("operations") > 0 ? arguments["operations"].as<Names>() : Names();
  const auto fits = [&](const std::string& option, const std::string& value) {
    return arguments.count(option) == 0 || arguments[option].as<std::string>() == value;
  };
  return (names.empty() || std::ranges::find(names, one.portfolio.operation) != names.end()) && fits("dtype", one.portfolio.dtypes) &&
         fits("product", one.portfolio.product) && fits("range", text(one.portfolio.range)) &&
         (arguments.count("generation") == 0 || arguments["generation"].as<std::int64_t>() == one.generation);
}

bool selects(const cxxopts::ParseResult& arguments) {
  return arguments.count("operations") + arguments.count("dtype") + arguments.count("product") + arguments.count("range") +
             arguments.count("generation") >
         0;
}

/// Those of the store, then those that came with Hone. `unreadable`: how many of the store are of another Hone, and do not serve.
Result<std::vector<KnownPortfolio>> known_portfolios(const cxxopts::ParseResult& arguments, Store* store, std::size_t& unreadable) {
  std::vector<KnownPortfolio> all;
  if (store != nullptr) {
    HONE_ASSIGN(const std::vector<StoredPortfolio> stored, store->portfolios());
    for (const StoredPortfolio& one : stored) {
      Result<Portfolio> portfolio = parse_portfolio(one.text);
      if (portfolio) {
        all.push_back({std::move(portfolio).value(), one.generation, one.text, one.key});
      }
      unreadable += portfolio ? 0 : 1;
    }
  }
  for (const std::string& text : shipped_portfolio_texts()) {
    HONE_ASSIGN(Portfolio portfolio, parse_portfolio(text));
    all.push_back({std::move(portfolio), 0, text});
  }
  std::erase_if(all, [&](const KnownPortfolio& one) { return !is_wanted(arguments, one); });
  if (all.empty() && selects(arguments)) {
    return Error{ErrorCode::kNotFound, "no such portfolio; hone portfolios lists what there is"};
  }
  return all;
}

Result<Operation> operation_named(const std::string& name) {
  if (Result<Operation> operation = find_operation(name)) {
    return operation;
  }
  HONE_ASSIGN(const KernelSpec* const spec, find_builtin_kernel(name));
  return Operation{name, {spec}, spec};
}

/// Whether its kernels are today's.
bool is_current(const Portfolio& portfolio) {
  return std::ranges::all_of(portfolio.sources, [](const auto& source) {
    const Result<const KernelSpec*> spec = find_builtin_kernel(source.first);
    return !spec || (*spec)->source_hash == source.second;  // of a user's own file nothing is known here
  });
}

Result<Output> list(const std::vector<KnownPortfolio>& all, std::size_t unreadable) {
  Output output{Json{{"portfolios", Json::array()}, {"unreadable", unreadable}}, "", 0};
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"operation", "dtypes", "product", "from", "members", "shapes", "expected", "range"});
  for (const KnownPortfolio& one : all) {
    const Portfolio& portfolio = one.portfolio;
    const bool current = is_current(portfolio);
    output.json["portfolios"].push_back({{"operation", portfolio.operation},
                                         {"dtype", portfolio.dtypes},
                                         {"product", portfolio.product},
                                         {"generation", one.generation},
                                         {"shipped", one.generation == 0},
                                         {"current", current},
                                         {"member_count", portfolio.members.size()},
                                         {"points", portfolio.points.size()},
                                         {"expected_slowdown", portfolio.expected},
                                         {"worst_slowdown", portfolio.worst},
                                         {"seconds", portfolio.seconds},
                                         {"bytes", one.source.size()},
                                         {"range", text(portfolio.range)}});
    const std::string from = one.generation == 0 ? std::string("Hone") : fmt::format("store, {}", one.generation);
    rows.push_back({portfolio.operation, portfolio.dtypes, portfolio.product, fmt::format("{}{}", from, current ? "" : ", out of date"),
                    fmt::format("{}", portfolio.members.size()), fmt::format("{}", portfolio.points.size()),
                    fmt::format("{:.3f}x", portfolio.expected), text(portfolio.range)});
  }
  output.text = all.empty() ? "no portfolios; hone tune OPERATION --shapes ... makes one\n" : table(rows);
  if (unreadable > 0) {
    output.text += fmt::format(
        "{} of the store are of another version of Hone, and do not serve; --remake makes them anew from its sessions\n", unreadable);
  }
  return output;
}

std::string described(const KnownPortfolio& one) {
  const Portfolio& portfolio = one.portfolio;
  const std::string from = one.generation == 0 ? std::string("that came with Hone") : fmt::format("of generation {}", one.generation);
  return fmt::format("the portfolio of {} {} {} for {}, {}", portfolio.operation, portfolio.dtypes, text(portfolio.range),
                     portfolio.product, from);
}

/// Whether one may be taken for the other. What came with Hone is for the purpose that the store's are for by default.
bool are_alike(const KnownPortfolio& a, const KnownPortfolio& b) {
  return a.portfolio.operation == b.portfolio.operation && a.portfolio.dtypes == b.portfolio.dtypes &&
         a.portfolio.product == b.portfolio.product && a.portfolio.range == b.portfolio.range && a.key.purpose == b.key.purpose;
}

/// What lies in the store comes before what came with Hone, as in a lookup.
Result<Output> write_one(std::vector<KnownPortfolio> all, const std::string& file) {
  if (all.empty()) {
    return Error{ErrorCode::kNotFound, "no such portfolio; hone portfolios lists what there is"};
  }
  if (all.front().generation != 0) {
    std::erase_if(all, [](const KnownPortfolio& one) { return one.generation == 0; });
  }
  const auto other = std::ranges::find_if(all, [&](const KnownPortfolio& one) { return !are_alike(all.front(), one); });
  if (other != all.end()) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("--out writes one portfolio, and there are {}; and {}. Name an operation, --dtype, --product, --range or --generation",
                    described(all.front()), described(*other))};
  }
  if (const Purpose& purpose = all.front().key.purpose; purpose != Purpose()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} is for inputs '{}' within the accuracy bound '{}' alone, which a file does not say: make it where it is "
                             "used, with the same --max-error and --input",
                             described(all.front()), purpose.input_profile, purpose.accuracy_bound)};
  }
  HONE_TRY(write_file(file, std::string_view(all.front().source)));
  return Output{{{"file", file}, {"bytes", all.front().source.size()}}, fmt::format("{}\n", file), 0};
}

/// Of members whose kernels are today's: a text may have been changed by hand.
Result<void> check_members(const Portfolio& portfolio, const Operation& operation) {
  for (const PortfolioMember& member : portfolio.members) {
    const auto spec = std::ranges::find_if(operation.implementations, [&](const KernelSpec* one) { return one->name == member.kernel; });
    const auto source = portfolio.sources.find(member.kernel);
    if (spec == operation.implementations.end() || source == portfolio.sources.end() || source->second != (*spec)->source_hash) {
      continue;
    }
    if (const Result<Configuration> configuration = parse_configuration((*spec)->parameters, member.configuration); !configuration) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("{}: {}", member.kernel, configuration.error().message)};
    }
  }
  return {};
}

Result<Output> add_one(const cxxopts::ParseResult& arguments, const std::string& file) {
  std::error_code failure;
  std::ifstream in(file, std::ios::binary);
  if (!std::filesystem::is_regular_file(file, failure) || !in) {
    return Error{ErrorCode::kNotFound, fmt::format("{} cannot be read, or is no file", file)};
  }
  const std::string read((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const Result<Portfolio> parsed = parse_portfolio(read);
  if (!parsed) {
    return Error{parsed.error().code,
                 fmt::format("{} is no portfolio as hone portfolios --out writes it: {}", file, parsed.error().message)};
  }
  const Portfolio& portfolio = *parsed;
  HONE_ASSIGN(const Operation operation, operation_named(portfolio.operation));
  if (const Result<void> checked = check_members(portfolio, operation); !checked) {
    return Error{checked.error().code, fmt::format("{} has a member that is no configuration of {}", file, checked.error().message)};
  }
  HONE_ASSIGN(const DTypes dtypes, choose_dtypes(*operation.definition, portfolio.dtypes));
  PortfolioKey key = portfolio_key(portfolio.operation, dtypes, DeviceInfo{});
  key.device = portfolio.product;
  key.statics = statics_text(*operation.definition, portfolio.range);
  key.range = text(portfolio.range);
  HONE_ASSIGN(const std::unique_ptr<Store> store, open_store(store_path(arguments), StoreMode::kReadWrite));
  HONE_ASSIGN(const std::int64_t generation, store->put_portfolio(key, read));
  const std::string old = is_current(portfolio) ? "" : "it was made of another version of its kernels, and is not used\n";
  return Output{{{"operation", portfolio.operation}, {"dtype", portfolio.dtypes}, {"generation", generation}, {"current", old.empty()}},
                fmt::format("{} {} for {} is generation {}\n{}", portfolio.operation, portfolio.dtypes, portfolio.product, generation, old),
                0};
}

/// From what the store has of the sessions, without a device.
Result<Output> remake(const cxxopts::ParseResult& arguments) {
  if (!may_have_store(store_path(arguments))) {
    return Error{ErrorCode::kNotFound, fmt::format("no store at {}: nothing has been tuned into it yet", store_path(arguments).string())};
  }
  HONE_ASSIGN(const std::unique_ptr<Store> store, open_store(store_path(arguments), StoreMode::kReadWrite));
  HONE_ASSIGN(const std::vector<StoredPortfolio> stored, store->portfolios());
  HONE_ASSIGN(const std::vector<DeviceInfo> devices, store->devices());
  Output output{Json{{"portfolios", Json::array()}, {"skipped", Json::array()}}, "", 0};
  std::vector<PortfolioKey> seen;
  for (const StoredPortfolio& one : stored) {
    KnownPortfolio asked{{}, one.generation, one.text, one.key};
    asked.portfolio.operation = one.key.operation;
    asked.portfolio.dtypes = one.key.dtypes;
    asked.portfolio.product = one.key.device;
    const auto device =
        std::ranges::find_if(devices, [&](const DeviceInfo& info) { return portfolio_key("", DTypes(), info).device == one.key.device; });
    const auto is_same = [&](const PortfolioKey& key) {
      return std::tie(key.operation, key.dtypes, key.device, key.range) ==
             std::tie(one.key.operation, one.key.dtypes, one.key.device, one.key.range);
    };
    if (!is_wanted(arguments, asked) || one.key.purpose != Purpose() || device == devices.end() || std::ranges::any_of(seen, is_same)) {
      continue;
    }
    seen.push_back(one.key);
    const Result<Operation> named = operation_named(one.key.operation);
    if (!named) {  // of a user's own file, which the store does not have
      output.json["skipped"].push_back({{"operation", one.key.operation}, {"reason", named.error().message}});
      output.text += fmt::format("{} {}: not made again: {}\n", one.key.operation, one.key.dtypes, named.error().message);
      continue;
    }
    const Operation& operation = *named;
    PortfolioRequest request;
    request.operation = &operation;
    HONE_ASSIGN(request.range, parse_range(*operation.definition, one.key.range));
    HONE_ASSIGN(request.dtypes, choose_dtypes(*operation.definition, one.key.dtypes));
    request.common.device.info = *device;
    request.common.transfer = false;  // of the store alone
    request.budget = {.seconds = std::nullopt, .trials = 0};
    const Result<PortfolioReport> made = tune(request, *store, registry());
    if (!made && made.error().code == ErrorCode::kStore) {
      return made.error();
    }
    if (!made) {
      output.json["skipped"].push_back({{"operation", one.key.operation}, {"reason", made.error().message}});
      output.text += fmt::format("{} {}: not made again, nothing in the store is of today's kernels: {}\n", one.key.operation,
                                 one.key.dtypes, made.error().message);
      continue;
    }
    const PortfolioReport& report = *made;
    output.json["portfolios"].push_back({{"operation", one.key.operation},
                                         {"dtype", one.key.dtypes},
                                         {"product", one.key.device},
                                         {"generation", report.generation},
                                         {"member_count", report.portfolio.members.size()},
                                         {"points", report.portfolio.points.size()},
                                         {"expected_slowdown", report.portfolio.expected}});
    output.text += fmt::format("{} {} for {} is generation {}: {} configurations, {} shapes, {:.3f}x expected\n", one.key.operation,
                               one.key.dtypes, one.key.device, report.generation, report.portfolio.members.size(),
                               report.portfolio.points.size(), report.portfolio.expected);
  }
  if (seen.empty()) {
    return Error{ErrorCode::kNotFound, "the store has no such portfolio; hone tune OPERATION --shapes ... makes one"};
  }
  return output;
}

void add_warmed(Output& output, const Portfolio& portfolio, const std::string& dtypes, const std::string& made_for,
                const WarmReport& report) {
  output.json["portfolios"].push_back({{"operation", portfolio.operation},
                                       {"dtype", dtypes},
                                       {"product", portfolio.product},
                                       {"made_for", made_for},
                                       {"member_count", report.members},
                                       {"compiled", report.compiled},
                                       {"failures", report.failures}});
  output.text +=
      fmt::format("{} {}{}: {} configurations, {} compiled now\n", portfolio.operation, dtypes,
                  made_for.empty() ? "" : fmt::format(", of the portfolio made for {}", made_for), report.members, report.compiled);
  for (const std::string& failure : report.failures) {
    output.text += fmt::format("  {}\n", failure.substr(0, failure.find('\n')));
  }
  output.exit_code = report.failures.empty() ? output.exit_code : 1;
}

/// --shape: what may serve such problems. Extents that are not given may be any.
Result<Output> warm_for(const cxxopts::ParseResult& arguments, const Registry::Found& device, Store& store) {
  const Names names = arguments.count("operations") > 0 ? arguments["operations"].as<Names>() : Names();
  if (names.size() != 1) {
    return Error{ErrorCode::kInvalidArgument, "--shape is of one operation: hone warm matmul --dtype f16 --shape layout=2"};
  }
  if (arguments.count("product") + arguments.count("range") + arguments.count("generation") > 0) {
    return Error{ErrorCode::kInvalidArgument,
                 "--shape finds the portfolios that serve such problems: leave out --product, --range and --generation"};
  }
  HONE_ASSIGN(const Operation operation, operation_named(names.front()));
  const KernelSpec& definition = *operation.definition;
  HONE_ASSIGN(const DTypes dtypes, choose_dtypes(definition, arguments.count("dtype") > 0 ? arguments["dtype"].as<std::string>() : ""));
  HONE_ASSIGN(const Shape given, parse_shape(definition, arguments["shape"].as<std::string>()));
  HONE_ASSIGN(const Problem problem, make_problem(definition, dtypes, given));
  HONE_ASSIGN(const std::vector<Implementation> implementations, implementations_for(operation, problem));
  std::string why;
  HONE_ASSIGN(const std::vector<Portfolio> all, portfolios_for(operation.name, implementations, given, device.info, store, why));
  Output output{
      {{"device", device.info.id}, {"product", device.info.product}, {"portfolios", Json::array()}, {"skipped", Json::array()}}, "", 0};
  for (const Portfolio& portfolio : all) {
    HONE_ASSIGN(const WarmReport report, warm(portfolio, operation, problem, given, device, store, 0));
    if (report.members > 0) {
      add_warmed(output, portfolio, name(dtypes), difference_text(portfolio, dtypes, problem.shape), report);
    }
  }
  if (output.json["portfolios"].empty()) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("no portfolio serves {} {} {} on {}: hone tune {} --dtype {} --shapes ... makes one{}", operation.name,
                             name(dtypes), text(given), device.info.product, operation.name, name(dtypes), why.empty() ? "" : "; " + why)};
  }
  return output;
}

Result<Output> warm_all(const cxxopts::ParseResult& arguments) {
  HONE_TRY(load_plugins(arguments));
  HONE_ASSIGN(const Registry::Found device, find_device(arguments));
  HONE_ASSIGN(const std::unique_ptr<Store> store, open_store(store_path(arguments), StoreMode::kReadWrite));
  if (arguments.count("shape") > 0) {
    return warm_for(arguments, device, *store);
  }
  std::size_t unreadable = 0;
  HONE_ASSIGN(std::vector<KnownPortfolio> all, known_portfolios(arguments, store.get(), unreadable));
  Output output{{{"device", device.info.id}, {"product", device.info.product}, {"portfolios", Json::array()}}, "", 0};
  std::vector<Portfolio> serving;
  for (KnownPortfolio& one : all) {
    if (one.generation != 0 && one.portfolio.product == portfolio_key("", DTypes(), device.info).device) {
      serving.push_back(std::move(one.portfolio));
    }
  }
  for (const std::shared_ptr<const LoadedPortfolio>& one : shipped_portfolios(device.info)) {
    if (is_wanted(arguments, {one->portfolio(), 0, ""})) {
      serving.push_back(one->portfolio());
    }
  }
  std::vector<std::string> skipped;
  for (const Portfolio& portfolio : serving) {
    const Result<Operation> operation = operation_named(portfolio.operation);
    if (!operation) {
      skipped.push_back(
          fmt::format("{} {}: of a kernel file, whose code is compiled when it is first used", portfolio.operation, portfolio.dtypes));
      continue;
    }
    HONE_ASSIGN(const WarmReport report, warm(portfolio, *operation, device, *store, 0));
    add_warmed(output, portfolio, portfolio.dtypes, "", report);
  }
  output.json["skipped"] = skipped;
  for (const std::string& one : skipped) {
    output.text += one + "\n";
  }
  if (output.json["portfolios"].empty() && skipped.empty()) {
    output.text += fmt::format("no portfolio is for {}; hone portfolios lists what there is\n", device.info.product);
  }
  return output;
}

}  // namespace

int portfolios(int argc, char** argv) {
  cxxopts::Options options("hone portfolios",
                           "Lists portfolios: configurations that cover a range of shapes, with a rule that chooses among them. Those of "
                           "the store come\nbefore those that came with Hone. hone tune OPERATION --shapes ... makes one.");
  add_selection(options);
  add_store_option(options);
  options.add_options()("out", "write the portfolio as text to a file", cxxopts::value<std::string>(), "FILE")(
      "add", "add the portfolio in a file to the store", cxxopts::value<std::string>(), "FILE")(
      "remake", "make the store's portfolios again from its sessions, after more sessions or an update of Hone");
  return run_verb(options, argc, argv, [](const cxxopts::ParseResult& arguments) -> Result<Output> {
    if (arguments.count("add") + arguments.count("remake") + arguments.count("out") > 1) {
      return Error{ErrorCode::kInvalidArgument, "--add, --remake and --out are three things to do: one after the other"};
    }
    if (arguments.count("add") > 0) {
      return add_one(arguments, arguments["add"].as<std::string>());
    }
    if (arguments.count("remake") > 0) {
      return remake(arguments);
    }
    HONE_ASSIGN(const std::unique_ptr<Store> store, open_existing_store(arguments));
    std::size_t unreadable = 0;
    HONE_ASSIGN(std::vector<KnownPortfolio> all, known_portfolios(arguments, store.get(), unreadable));
    return arguments.count("out") > 0 ? write_one(std::move(all), arguments["out"].as<std::string>()) : list(all, unreadable);
  });
}

int warm_up(int argc, char** argv) {
  cxxopts::Options options("hone warm",
                           "Compiles the configurations of a device's portfolios into the store, so that no program waits for a "
                           "compiler.\nSkips those that the store has.");
  add_selection(options);
  add_store_option(options);
  add_plugin_option(options);
  options.add_options()("device", "cuda:0, cpu, ... (default: the best present)", cxxopts::value<std::string>(), "ID")(
      "shape",
      "of one operation: what serves such problems, of --dtype and with these STATIC fields, also where it was made for similar ones",
      cxxopts::value<std::string>(), "SHAPE");
  return run_verb(options, argc, argv, warm_all);
}

}  // namespace hone::cli
