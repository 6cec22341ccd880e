#include "cli/tune_range.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>

#include "cli/embedding.hpp"
#include "cli/interrupt.hpp"
#include "cli/number.hpp"
#include "cli/output.hpp"
#include "cli/present.hpp"
#include "cli/progress_display.hpp"
#include "cli/registry.hpp"
#include "engine/store/store_server.hpp"
#include "engine/tune/portfolio_session.hpp"

namespace hone::cli {
namespace {

std::string shape_text(const PortfolioProgress& progress) {
  return fmt::format("{:.0f} s  {} shapes, {:.3f}x expected; {} {}", progress.elapsed_seconds, progress.shapes, progress.expected,
                     progress.surveyed ? "surveying" : "exploring", text(progress.shape));
}

Json wanted_json(const WantedShape& wanted) { return {{"shape", json(wanted.shape)}, {"prediction", json(wanted.prediction)}}; }

Json range_json(const PortfolioRequest& request, const PortfolioReport& report, const std::filesystem::path& store) {
  const Portfolio& made = report.portfolio;
  Json object{{"operation", made.operation},
              {"device", device_ids(request.common)},
              {"product", request.common.device.info.product},
              {"dtype", made.dtypes},
              {"range", text(made.range)},
              {"budget", text(request.budget)},
              {"store", store_name(store)},
              {"generation", report.generation},
              {"interrupted", report.interrupted},
              {"nothing_left", report.nothing_left},
              {"seconds", made.seconds},
              {"trials", made.trials},
              {"measured_now", report.measured},
              {"points", made.points.size()},
              {"members", Json::array()},
              {"expected_slowdown", made.is_judged() ? Json(made.expected) : Json()},
              {"worst_slowdown", made.is_judged() ? Json(made.worst) : Json()},
              {"code_bytes", report.code_bytes},
              {"unsure", report.wants_tuning},
              {"unserved", report.unserved},
              {"wanted", Json::array()},
              {"outcomes", json(report.outcomes.counts())},
              {"wrong_trials", Json::array()},
              {"failures", report.failures}};
  for (const WrongTrials& wrong : report.outcomes.wrong()) {
    object["wrong_trials"].push_back({{"kernel", wrong.kernel},
                                      {"count", wrong.count},
                                      {"configuration", wrong.configuration},
                                      {"shape", json(wrong.shape)},
                                      {"outcome", name(wrong.outcome)},
                                      {"detail", wrong.detail}});
  }
  for (const PortfolioMember& member : made.members) {
    object["members"].push_back({{"kernel", member.kernel}, {"configuration", member.configuration}});
  }
  for (const WantedShape& wanted : report.wanted) {
    object["wanted"].push_back(wanted_json(wanted));
  }
  return object;
}

std::string range_text(const PortfolioRequest& request, const PortfolioReport& report, const std::filesystem::path& store) {
  constexpr double kKibi = 1024.0, kPercent = 100.0;
  const Portfolio& made = report.portfolio;
  std::string lines = fmt::format("{} {} {} on {} ({})\n", made.operation, made.dtypes, text(made.range), device_ids(request.common),
                                  request.common.device.info.product);
  lines += report.interrupted ? "interrupted: what was measured so far; the same command goes on\n" : "";
  lines += fmt::format("shapes   {}, {} of them in this run, {} trials, {:.1f} s in all\n", made.points.size(), report.measured,
                       made.trials, made.seconds);
  const std::string counts = outcomes_text(report.outcomes.counts());
  lines += counts.empty() ? "" : fmt::format("trials   {} in this run\n", counts);
  for (const WrongTrials& wrong : report.outcomes.wrong()) {
    lines += fmt::format("wrong    {} trials of {}: the first, {} at {}, {}, {}\n", wrong.count, wrong.kernel, wrong.configuration,
                         text(wrong.shape), name(wrong.outcome), wrong.detail.substr(0, wrong.detail.find('\n')));
  }
  lines += report.nothing_left ? "all of the range that fits the device and --largest was measured before the budget was spent; hone tune "
                                 "--shape searches longer at one shape\n"
                               : "";
  std::vector<std::vector<std::string>> rows;
  for (const PortfolioMember& member : made.members) {
    rows.push_back({"member  ", member.kernel, member.configuration});
  }
  lines += table(rows);
  lines += fmt::format("code     {:.0f} KiB\n", report.code_bytes / kKibi);
  lines += !made.is_judged()
               ? fmt::format("rule     not judged: shapes are too few ({}) to predict each from the others\n", made.points.size())
               : fmt::format("rule     {:.3f}x the best found, {:.2f}x at worst, each shape predicted from the others\n", made.expected,
                             made.worst);
  lines += fmt::format("unsure   of {:.0f} % of the range", kPercent * report.wants_tuning);
  for (std::size_t i = 0; i < report.wanted.size(); ++i) {
    const WantedShape& wanted = report.wanted[i];
    lines += fmt::format("{}{} ({:.2f}x, give or take {:.0f} %)", i == 0 ? ", of " : "; ", text(wanted.shape), wanted.prediction.slowdown,
                         kPercent * wanted.prediction.doubt);
  }
  lines += "\n";
  if (report.unserved > 0.0) {
    lines += fmt::format("unserved {:.0f} % of the range: no member is legal there, and the default runs\n", kPercent * report.unserved);
  }
  for (const std::string& failure : report.failures) {
    lines += fmt::format("failed   {}\n", failure.substr(0, failure.find('\n')));
  }
  return lines + fmt::format("stored   in {} as generation {}\n", store_name(store), report.generation);
}

Result<void> check_alone(const cxxopts::ParseResult& arguments, const Operation& operation) {
  for (const std::string other : {"shape", "fix", "input", "expect"}) {
    const bool given = arguments.count(other) > 0 && (other != "shape" || !arguments["shape"].as<std::string>().empty());
    if (given) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("--{} is for one problem, and --shapes for a range of them: give one of the two", other)};
    }
  }
  const std::string& of = operation_of(*operation.definition);
  if (operation.implementations.size() == 1 && of != operation.name) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format(
            "{} is one kernel of {}, and a portfolio is of an operation: hone tune {}{} --shapes ...", operation.name, of, of,
            is_file(arguments["kernel"].as<std::string>()) ? fmt::format(" --with {}", arguments["kernel"].as<std::string>()) : "")};
  }
  return {};
}

Result<double> parse_bytes(const std::string& text) {
  static constexpr std::array<std::pair<std::string_view, double>, 4> kUnits{
      {{"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"B", 1.0}}};
  for (const auto& [unit, factor] : kUnits) {
    if (text.ends_with(unit)) {
      const std::string digits = text.substr(0, text.size() - unit.size());
      const bool whole = !digits.empty() && digits.size() < 10 && digits.find_first_not_of("0123456789") == std::string::npos;
      if (whole && std::stod(digits) > 0.0) {
        return std::stod(digits) * factor;
      }
    }
  }
  return Error{ErrorCode::kInvalidArgument, fmt::format("--largest {}: give a number and a unit, such as 512MiB or 2GiB", text)};
}

Result<std::size_t> parse_members(const std::string& text) {
  std::size_t members = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), members);
  if (status != std::errc() || end != text.data() + text.size() || members == 0 || members > Portfolio::kMostMembers) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("--members {}: give a number from 1 to {}", text, Portfolio::kMostMembers)};
  }
  return members;
}

Result<double> seconds_each(const cxxopts::ParseResult& arguments) {
  const double seconds = arguments["each"].as<Number>().value;
  if (seconds < 0.0) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("--each {}: give seconds above 0, or 0 for a part of the budget", seconds)};
  }
  return seconds;
}

Result<std::optional<ShapeRange>> held_out(const cxxopts::ParseResult& arguments, const KernelSpec& definition, const ShapeRange& whole) {
  if (arguments.count("hold-out") == 0) {
    return std::optional<ShapeRange>();
  }
  Result<ShapeRange> range = parse_range_within(definition, without_blanks(arguments["hold-out"].as<std::string>()), whole);
  return range ? Result<std::optional<ShapeRange>>(*std::move(range))
               : Error{range.error().code, fmt::format("--hold-out: {}", range.error().message)};
}

}  // namespace

Operation alone(const KernelSpec& spec) { return {spec.name, {&spec}, &spec}; }

void add_range_options(cxxopts::Options& options) {
  options.add_options()("shapes",
                        "instead of --shape: a range, for which a portfolio of configurations is made with a rule that chooses among them: "
                        "\"m=1..16384,n=4096|14336,k=4096\"",
                        cxxopts::value<std::string>(), "RANGE")("each", "of a range: seconds for a shape (0: a part of the budget)",
                                                                cxxopts::value<Number>()->default_value("0"), "SECONDS")(
      "largest", "of a range: the largest shapes, by the bytes of their arguments", cxxopts::value<std::string>()->default_value("1GiB"),
      "SIZE")(
      "hold-out", "of a range: shapes that have no part in it, in the form of --shapes (any, in what is not named): to judge it at them",
      cxxopts::value<std::string>(), "RANGE")("members", "of a range: how many configurations at most",
                                              cxxopts::value<std::string>()->default_value(std::to_string(Portfolio::kUsualMembers)), "N")(
      "out", "of a range: also write the portfolio to a file", cxxopts::value<std::string>(), "FILE");
}

Result<void> check_range_options(const cxxopts::ParseResult& arguments) {
  for (const std::string option : {"each", "largest", "hold-out", "members", "out"}) {
    if (arguments.count("shapes") == 0 && arguments.count(option) > 0) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("--{} is for a range of shapes: give --shapes, or leave it out", option)};
    }
  }
  return {};
}

Result<Output> tune_range(const cxxopts::ParseResult& arguments, const Operation& operation, TuneRequest common, Telemetry& telemetry) {
  HONE_TRY(check_alone(arguments, operation));
  HONE_ASSIGN(const Volume volume, find_volume_of_many(arguments));
  PortfolioRequest request;
  request.operation = &operation;
  HONE_ASSIGN(request.range, parse_range(*operation.definition, without_blanks(arguments["shapes"].as<std::string>())));
  HONE_ASSIGN(request.most_bytes, parse_bytes(arguments["largest"].as<std::string>()));
  HONE_ASSIGN(request.held_out, held_out(arguments, *operation.definition, request.range));
  if (arguments.count("out") > 0 && common.measure.max_error > 0.0) {
    return Error{ErrorCode::kInvalidArgument,
                 "--out: a file does not say that its portfolio is for results within --max-error alone; the "
                 "store does, so leave --out away"};
  }
  if (arguments.count("out") > 0) {  // not after the budget was spent
    HONE_TRY(check_writable(arguments["out"].as<std::string>()));
  }
  request.dtypes = common.problem.dtype;
  request.budget = common.budget;
  HONE_ASSIGN(request.seconds_each, seconds_each(arguments));
  HONE_ASSIGN(request.most_members, parse_members(arguments["members"].as<std::string>()));
  request.resume = common.resume;
  const std::filesystem::path path = store_path(arguments);
  HONE_ASSIGN(const std::unique_ptr<Store> store, open_store(path, StoreMode::kReadWrite));
  const Interrupt interrupt;
  request.common = std::move(common);
  request.common.stop = interrupt.token();
  request.common.on_event = telemetry.on_event();
  telemetry.set_budget(Budget{.seconds = request.budget.seconds});
  std::optional<StatusLine> line;
  if (current_embedding() == nullptr) {
    line.emplace(volume);
  }
  request.on_progress = [&](const PortfolioProgress& progress) {
    telemetry.set_spent(progress.elapsed_seconds, 0);
    if (line) {
      line->show(shape_text(progress));
    }
  };
  const Result<PortfolioReport> report = hone::tune(request, *store, registry());
  line.reset();
  HONE_TRY(report);
  if (arguments.count("out") > 0) {
    if (const Result<void> written = write_file(arguments["out"].as<std::string>(), std::string_view(text(report->portfolio))); !written) {
      return Error{written.error().code, fmt::format("{}; the portfolio is in {} as generation {}: hone portfolios --out writes it",
                                                     written.error().message, store_name(path), report->generation)};
    }
  }
  constexpr int kInterrupted = 130;
  return Output{range_json(request, *report, path), range_text(request, *report, path), report->interrupted ? kInterrupted : 0};
}

}  // namespace hone::cli
