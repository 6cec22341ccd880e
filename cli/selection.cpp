#include "cli/selection.hpp"

#include <fmt/format.h>

#include "cli/operations.hpp"
#include "engine/store/store_server.hpp"

namespace hone::cli {

namespace {

/// The first constraint that the configuration does not meet.
std::string violated(const KernelSpec& spec, const Target& target, const Configuration& configuration) {
  Bindings bound = bindings(target.problem);
  bound.merge(bindings(spec.parameters, configuration));
  bound.merge(bindings(target.device.info));
  for (const Constraint& constraint : spec.constraints) {
    const Result<Value> met = constraint.condition.evaluate(bound);
    if (!met || !met->boolean()) {
      return fmt::format("line {} of {} requires {}{}{}", constraint.line, spec.file, constraint.text,
                         constraint.comment.empty() ? "" : "  // ", constraint.comment);
    }
  }
  return "";
}

/// A field of the Problem among a configuration's names: up to 0.1 the products had theirs there.
Result<Configuration> parse_given(const KernelSpec& spec, const std::string& wanted) {
  Result<Configuration> configuration = parse_configuration(spec.parameters, wanted);
  for (const ProblemField& field : spec.problem) {
    if (!configuration && ("," + wanted).find("," + field.name + "=") != std::string::npos) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("{}; '{}' is a field of the Problem: --shape {}=... says it",
                                                            configuration.error().message, field.name, field.name)};
    }
  }
  return configuration;
}

}  // namespace

void add_config_option(cxxopts::Options& options, std::string_view without) {
  options.add_options()("config",
                        fmt::format("'default', 'best' (the winner), or name=value,... (others keep their default); default: {}", without),
                        cxxopts::value<std::string>(), "CONFIG");
}

Result<Configuration> configuration_of(const KernelSpec& spec, const Target& target, const std::string& wanted) {
  HONE_ASSIGN(Configuration configuration, parse_given(spec, wanted));
  if (!valid_for(spec, target.problem, target.device.info, configuration)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} is not valid for {} {} on {}: {}", text(spec.parameters, configuration), name(target.problem.dtype),
                             text(target.problem.shape), target.device.info.id, violated(spec, target, configuration))};
  }
  return configuration;
}

Result<Selection> select(const cxxopts::ParseResult& arguments, const Subject& subject, const Target& target, Store* store, bool launch) {
  const std::string wanted = arguments.count("config") > 0 ? without_blanks(arguments["config"].as<std::string>()) : "";
  if (!wanted.empty() && wanted != "default" && wanted != "best") {
    HONE_ASSIGN(Configuration configuration, configuration_of(subject.spec, target, wanted));
    return Selection{{.source = Source::kDefault, .configuration = std::move(configuration), .record = {}}, "given"};
  }
  HONE_ASSIGN(const Given given, find_given(arguments, subject.spec));
  HONE_ASSIGN(const Purpose purpose, find_purpose(arguments, given));
  HONE_ASSIGN(Choice choice, subject.choice
                                 ? Result<Choice>(*subject.choice)
                                 : choose(subject.spec, target.problem, target.device.info, wanted == "default" ? nullptr : store,
                                          {.purpose = purpose, .launch = launch, .portfolios = wanted != "default"}));
  if (wanted == "best" && choice.source == Source::kDefault) {
    if (!choice.why.empty()) {
      return Error{ErrorCode::kStore, choice.why};
    }
    return no_record(arguments, subject, target, choice.elsewhere, store);
  }
  const std::string source(name(choice.source));
  return Selection{std::move(choice), source};
}

Error no_record(const cxxopts::ParseResult& arguments, const Subject& subject, const Target& target, std::string known_elsewhere,
                Store* store) {
  const Result<Given> given = find_given(arguments, subject.spec);
  const Result<Purpose> of_records = given ? find_purpose(arguments, *given) : given.error();
  if (known_elsewhere.empty() && store != nullptr && of_records) {
    const auto withdrawn = store->withdrawn_configurations(record_key(subject.spec, target.problem, target.device.info, *of_records));
    known_elsewhere =
        withdrawn && !withdrawn->empty() ? fmt::format("what was one is withdrawn: hone records {} --all", subject.spec.name) : "";
  }
  const bool elsewhere = arguments.count("arch") > 0;
  std::string purpose;  // has records of its own
  for (const cxxopts::KeyValue& one : arguments.arguments()) {
    purpose += one.key() == "max-error" || one.key() == "objective" ? fmt::format(" --{} {}", one.key(), one.value()) : "";
  }
  return Error{ErrorCode::kNotFound,
               fmt::format("no record of {} {} on {}{}{}: run {}hone tune {} --device {}{}{}{} --store {}", subject.spec.name,
                           name(target.problem.dtype), target.device.info.product, purpose.empty() ? "" : " with" + purpose,
                           known_elsewhere.empty() ? "" : fmt::format(" ({})", known_elsewhere), elsewhere ? "there " : "",
                           arguments["kernel"].as<std::string>() + with_text(arguments), elsewhere ? "cuda:0" : target.device.info.id,
                           subject.recorded ? "" : fmt::format(" --dtype {}", name(target.problem.dtype)),
                           target.problem.shape.empty() ? "" : fmt::format(" --shape {}", text(target.problem.shape)), purpose,
                           store_name(store_path(arguments)))};
}

}  // namespace hone::cli
