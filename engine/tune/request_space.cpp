// What a request searches, and how that tells its session from others.

#include <fmt/format.h>

#include "hone/recorded_space.hpp"
#include "hone/session.hpp"

namespace hone {
namespace {

constexpr std::string_view kFix = "fix ";

Result<SearchSpace> built_space(const TuneRequest& request) {
  if (request.recorded != nullptr) {
    return narrowed(request.recorded->space(), request.restriction);
  }
  HONE_ASSIGN(std::vector<Parameter> parameters, narrowed(request.spec.parameters, request.restriction));
  Bindings fixed = bindings(request.problem);
  fixed.merge(bindings(request.device.info));
  return SearchSpace::build(std::move(parameters), request.spec.constraints, fixed);
}

}  // namespace

Result<std::shared_ptr<const SearchSpace>> space_of(const TuneRequest& request) {
  if (request.recorded != nullptr && request.restriction.empty()) {
    return request.recorded->shared_space();
  }
  Result<SearchSpace> space = built_space(request);
  if (space) {
    return std::make_shared<const SearchSpace>(std::move(space).value());
  }
  Error error = space.error();
  if (error.code == ErrorCode::kEmptySpace && !request.restriction.empty()) {
    HONE_ASSIGN(const std::string restriction, text(request.spec.parameters, request.restriction));
    error.message += fmt::format(" (fixed: {})", restriction);
  }
  return error;
}

Result<std::string> settings_text(const TuneRequest& request) {
  std::string joined;
  for (const auto& [parameter, value] : request.strategy_parameters) {
    joined += fmt::format("{}{}={}", joined.empty() ? "" : ",", parameter, value);
  }
  HONE_ASSIGN(const std::string restriction, text(request.spec.parameters, request.restriction));
  return restriction.empty() ? joined : fmt::format("{}{}{}{}", joined, joined.empty() ? "" : " ", kFix, restriction);
}

std::string restriction_text(const SessionInfo& session) {
  const std::size_t at = session.strategy_parameters.find(kFix);
  return at == std::string::npos ? "" : session.strategy_parameters.substr(at + kFix.size());
}

}  // namespace hone
