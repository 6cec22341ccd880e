#include "cli/selection.hpp"

#include <fmt/format.h>

namespace hone::cli {

void add_config_option(cxxopts::Options& options) {
  options.add_options()("config", "'default', or name=value,... (others keep their default); without it: the winner",
                        cxxopts::value<std::string>(), "CONFIG");
}

Result<Selection> select(const cxxopts::ParseResult& arguments, const Subject& subject, const Target& target, Store* store) {
  const bool given = arguments.count("config") > 0;
  if (given && arguments["config"].as<std::string>() != "default") {
    HONE_ASSIGN(Configuration configuration, parse_configuration(subject.spec.parameters, arguments["config"].as<std::string>()));
    if (!valid_for(subject.spec, target.problem, target.device.info, configuration)) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("{} is not valid for {} {} on {}; hone kernels {} lists the constraints",
                               text(subject.spec.parameters, configuration), name(target.problem.dtype), text(target.problem.shape),
                               target.device.info.id, arguments["kernel"].as<std::string>())};
    }
    return Selection{{.source = Source::kDefault, .configuration = std::move(configuration), .record = {}}, "given"};
  }
  HONE_ASSIGN(Choice choice, choose(subject.spec, target.problem, target.device.info, given ? nullptr : store));
  return Selection{std::move(choice), std::string(name(choice.source))};
}

}  // namespace hone::cli
