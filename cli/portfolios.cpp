// hone portfolios: what there is, written to files and taken from them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <tuple>

#include "cli/known_portfolios.hpp"
#include "cli/operations.hpp"
#include "cli/output.hpp"
#include "cli/present.hpp"
#include "cli/registry.hpp"
#include "cli/verbs.hpp"
#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/store/portfolio_lookup.hpp"
#include "engine/store/store_server.hpp"
#include "engine/tune/portfolio_session.hpp"

namespace hone::cli {
namespace {

/// What lookups it serves alone.
std::string limits_text(const Purpose& purpose) {
  return (purpose.accuracy_bound == Purpose().accuracy_bound ? "" : fmt::format(", within {}", purpose.accuracy_bound)) +
         (purpose.input_profile == Purpose().input_profile ? "" : fmt::format(", inputs {}", purpose.input_profile));
}

Result<Output> list(const std::vector<KnownPortfolio>& all, const std::deque<KernelSpec>& own, std::size_t unreadable) {
  Output output{Json{{"portfolios", Json::array()}, {"unreadable", unreadable}}, "", 0};
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"operation", "dtypes", "product", "from", "members", "shapes", "expected", "range"});
  for (const KnownPortfolio& one : all) {
    const Portfolio& portfolio = one.portfolio;
    const bool current = is_current(portfolio, own);
    output.json["portfolios"].push_back({{"operation", portfolio.operation},
                                         {"dtype", portfolio.dtypes},
                                         {"product", portfolio.product},
                                         {"generation", one.generation},
                                         {"shipped", one.generation == 0},
                                         {"current", current},
                                         {"member_count", portfolio.members.size()},
                                         {"points", portfolio.points.size()},
                                         {"expected_slowdown", portfolio.is_judged() ? Json(portfolio.expected) : Json()},
                                         {"worst_slowdown", portfolio.is_judged() ? Json(portfolio.worst) : Json()},
                                         {"seconds", portfolio.seconds},
                                         {"bytes", one.source.size()},
                                         {"range", text(portfolio.range)},
                                         {"bound", one.key.purpose.accuracy_bound},
                                         {"input_profile", one.key.purpose.input_profile}});
    const std::string from = one.generation == 0 ? std::string("Hone") : fmt::format("store, {}", one.generation);
    rows.push_back({portfolio.operation, portfolio.dtypes, portfolio.product, fmt::format("{}{}", from, current ? "" : ", out of date"),
                    fmt::format("{}", portfolio.members.size()), fmt::format("{}", portfolio.points.size()),
                    portfolio.is_judged() ? fmt::format("{:.3f}x", portfolio.expected) : "not judged",
                    text(portfolio.range) + limits_text(one.key.purpose)});
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

/// The operation that the portfolio of a text is of. Errors also where a file was named for another one.
Result<Operation> operation_of_text(const PortfolioSelection& selection, const Portfolio& portfolio) {
  for (const KernelSpec& spec : selection.own) {
    if (operation_of(spec) != portfolio.operation) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("the portfolio is of {}, and the kernel file of {}", portfolio.operation, operation_of(spec))};
    }
  }
  Result<Operation> operation = operation_or_kernel(portfolio.operation, pointers(selection.own));
  if (!operation && selection.own.empty()) {
    return Error{operation.error().code,
                 fmt::format("{}; where it is of a kernel file: hone portfolios FILE --add TEXT", operation.error().message)};
  }
  return operation;
}

Result<Output> add_one(const PortfolioSelection& selection, const std::string& file) {
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
  HONE_ASSIGN(const Operation operation, operation_of_text(selection, portfolio));
  if (const Result<void> checked = check_members(portfolio, operation); !checked) {
    return Error{checked.error().code, fmt::format("{} has a member that is no configuration of {}", file, checked.error().message)};
  }
  HONE_ASSIGN(const DTypes dtypes, choose_dtypes(*operation.definition, portfolio.dtypes));
  PortfolioKey key = portfolio_key(portfolio.operation, dtypes, DeviceInfo{});
  key.device = portfolio.product;
  key.statics = statics_text(*operation.definition, portfolio.range);
  key.range = text(portfolio.range);
  HONE_ASSIGN(const std::unique_ptr<Store> store, open_store(store_path(selection.arguments), StoreMode::kReadWrite));
  HONE_ASSIGN(const std::int64_t generation, store->put_portfolio(key, read));
  const std::string old = is_current(portfolio, selection.own) ? "" : "it was made of another version of its kernels, and is not used\n";
  return Output{{{"operation", portfolio.operation}, {"dtype", portfolio.dtypes}, {"generation", generation}, {"current", old.empty()}},
                fmt::format("{} {} for {} is generation {}\n{}", portfolio.operation, portfolio.dtypes, portfolio.product, generation, old),
                0};
}

bool is_for(const PortfolioKey& key, const DeviceInfo& device) { return portfolio_key("", DTypes(), device).device == key.device; }

/// From what the store has of the sessions, without a device.
Result<Output> remake(const PortfolioSelection& selection) {
  const cxxopts::ParseResult& arguments = selection.arguments;
  if (!may_have_store(store_path(arguments))) {
    return Error{ErrorCode::kNotFound, fmt::format("no store at {}: nothing has been tuned into it yet", store_path(arguments).string())};
  }
  HONE_ASSIGN(const std::unique_ptr<Store> store, open_store(store_path(arguments), StoreMode::kReadWrite));
  HONE_ASSIGN(const std::vector<StoredPortfolio> stored, store->portfolios());
  std::vector<std::string> known;
  std::ranges::transform(stored, std::back_inserter(known), [](const StoredPortfolio& one) { return one.key.operation; });
  HONE_TRY(check_operations(selection, std::move(known)));
  HONE_ASSIGN(std::vector<DeviceInfo> devices, store->devices());
  for (const auto& plugin : registry().devices()) {  // a text that was added may be for one on which nothing was measured yet
    const Result<std::vector<DeviceInfo>> here = plugin->enumerate();
    if (here) {
      devices.insert(devices.end(), here->begin(), here->end());
    }
  }
  Output output{Json{{"portfolios", Json::array()}, {"skipped", Json::array()}}, "", 0};
  std::vector<PortfolioKey> seen;
  for (const StoredPortfolio& one : stored) {
    KnownPortfolio asked{{}, one.generation, one.text, one.key};
    asked.portfolio.operation = one.key.operation;
    asked.portfolio.dtypes = one.key.dtypes;
    asked.portfolio.product = one.key.device;
    const auto device = std::ranges::find_if(devices, [&](const DeviceInfo& info) { return is_for(one.key, info); });
    const auto is_same = [&](const PortfolioKey& key) {
      return key.purpose == one.key.purpose && std::tie(key.operation, key.dtypes, key.device, key.range) ==
                                                   std::tie(one.key.operation, one.key.dtypes, one.key.device, one.key.range);
    };
    if (!is_wanted(selection, asked) || std::ranges::any_of(seen, is_same)) {
      continue;
    }
    seen.push_back(one.key);
    const auto skip = [&](const std::string& reason) {
      output.json["skipped"].push_back({{"operation", one.key.operation}, {"reason", reason}});
      output.text += fmt::format("{} {}: not made again: {}\n", one.key.operation, one.key.dtypes, reason);
      output.exit_code = selection.operations.empty() ? output.exit_code : 1;
    };
    if (one.key.purpose != Purpose()) {
      skip(fmt::format(
          "it is for inputs '{}' within the accuracy bound '{}': hone tune --shapes with the same --max-error or --input goes on "
          "with it",
          one.key.purpose.input_profile, one.key.purpose.accuracy_bound));
      continue;
    }
    if (device == devices.end()) {
      skip(fmt::format("nothing in the store was measured on {}, and it is not here", one.key.device));
      continue;
    }
    const Result<Operation> named = operation_or_kernel(one.key.operation, pointers(selection.own));
    if (!named) {  // of a user's own file, which the store does not have, and which was not named
      skip(named.error().message);
      continue;
    }
    const Operation& operation = *named;
    PortfolioRequest request;
    request.operation = &operation;
    Result<ShapeRange> range = parse_range(*operation.definition, one.key.range);
    if (!range) {  // that an earlier version took
      skip(range.error().message);
      continue;
    }
    request.range = *std::move(range);
    HONE_ASSIGN(request.dtypes, choose_dtypes(*operation.definition, one.key.dtypes));
    request.common.device.info = *device;
    request.common.transfer = false;  // of the store alone
    request.budget = {.seconds = std::nullopt, .trials = 0};
    const Result<Portfolio> earlier = parse_portfolio(one.text);
    request.most_members = std::max(request.most_members, earlier ? earlier->members.size() : std::size_t{0});
    const Result<PortfolioReport> made = tune(request, *store, registry());
    if (!made && made.error().code == ErrorCode::kStore) {
      return made.error();
    }
    if (!made) {
      skip("nothing in the store is of today's kernels: " + made.error().message);
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

}  // namespace

int portfolios(int argc, char** argv) {
  cxxopts::Options options("hone portfolios",
                           "Lists portfolios: configurations that cover a range of shapes, with a rule that chooses among them. Those of "
                           "the store come\nbefore those that came with Hone. hone tune OPERATION --shapes ... makes one.");
  add_portfolio_selection(options);
  add_store_option(options);
  options.add_options()("out", "write the portfolio as text to a file", cxxopts::value<std::string>(), "FILE")(
      "add", "add the portfolio in a file to the store", cxxopts::value<std::string>(), "FILE")(
      "remake", "make the store's portfolios again from its sessions, after more sessions or an update of Hone");
  return run_verb(options, argc, argv, [](const cxxopts::ParseResult& arguments) -> Result<Output> {
    if (arguments.count("add") + arguments.count("remake") + arguments.count("out") > 1) {
      return Error{ErrorCode::kInvalidArgument, "--add, --remake and --out are three things to do: one after the other"};
    }
    HONE_ASSIGN(const PortfolioSelection selection, selection_of(arguments));
    if (arguments.count("add") > 0) {
      const std::size_t files = selection.own.size() - with_files(arguments).size();
      if (selects({arguments, {}, {}}) || selection.operations.size() > files) {
        return Error{ErrorCode::kInvalidArgument,
                     "--add takes a file's portfolio as it is: leave out the operation, --dtype, --product, --range and --generation"};
      }
      return add_one(selection, arguments["add"].as<std::string>());
    }
    if (arguments.count("remake") > 0) {
      return remake(selection);
    }
    HONE_ASSIGN(const std::unique_ptr<Store> store, open_existing_store(arguments));
    std::size_t unreadable = 0;
    HONE_ASSIGN(std::vector<KnownPortfolio> all, known_portfolios(selection, store.get(), unreadable));
    return arguments.count("out") > 0 ? write_one(std::move(all), arguments["out"].as<std::string>())
                                      : list(all, selection.own, unreadable);
  });
}

}  // namespace hone::cli
