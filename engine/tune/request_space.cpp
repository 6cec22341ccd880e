// What a request searches, and how that tells its session from others.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/names.hpp"
#include "engine/replay/recorded_space.hpp"
#include "engine/tune/session.hpp"

namespace hone {
namespace {

constexpr std::string_view kFix = "fix ";
constexpr std::string_view kLikely = "likely ";
constexpr std::string_view kOperation = "operation ";
constexpr std::string_view kWorkload = "workload ";
constexpr std::string_view kRange = "range ";
constexpr std::array<std::pair<Likely, std::string_view>, 3> kModes{
    {{Likely::kFirst, "first"}, {Likely::kOnly, "only"}, {Likely::kIgnore, "ignore"}}};

Result<std::shared_ptr<const SearchSpace>> recorded_space(const TuneRequest& request) {
  if (request.restriction.empty()) {
    return request.recorded->shared_space();
  }
  HONE_ASSIGN(SearchSpace space, narrowed(request.recorded->space(), request.restriction));
  return std::make_shared<const SearchSpace>(std::move(space));
}

/// Of a kernel that lists its configurations, narrowed to the request's restriction.
Result<std::shared_ptr<const SearchSpace>> listed_space(const TuneRequest& request) {
  const std::vector<Parameter>& parameters = request.spec.parameters;
  std::vector<std::vector<std::uint16_t>> rows;
  for (const std::string& listed : request.spec.listed) {
    HONE_ASSIGN(const Configuration configuration, parse_configuration(parameters, listed));
    std::vector<std::uint16_t>& row = rows.emplace_back();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto at = std::ranges::find(parameters[i].values, configuration.values[i]);
      row.push_back(static_cast<std::uint16_t>(at - parameters[i].values.begin()));
    }
  }
  HONE_ASSIGN(SearchSpace space, SearchSpace::from_rows(parameters, rows));
  if (!request.restriction.empty()) {
    HONE_ASSIGN(space, narrowed(space, request.restriction));
  }
  return std::make_shared<const SearchSpace>(std::move(space));
}

/// `expectations`: those of the request, or none.
Result<LikelySpace> built_space(const TuneRequest& request, std::vector<Constraint> expectations) {
  Bindings fixed = bindings(request.problem);
  fixed.merge(bindings(request.device.info));
  if (request.recorded != nullptr) {
    HONE_ASSIGN(std::shared_ptr<const SearchSpace> recorded, recorded_space(request));
    return LikelySpace::of_recorded(std::move(recorded), std::move(expectations), std::move(fixed));
  }
  if (!request.spec.listed.empty()) {
    if (const std::string why = refusal(request.spec, request.problem); !why.empty()) {
      return Error{ErrorCode::kEmptySpace, fmt::format("{} is not for this problem: {}", request.spec.name, why)};
    }
    HONE_ASSIGN(std::shared_ptr<const SearchSpace> listed, listed_space(request));
    return LikelySpace::of_recorded(std::move(listed), std::move(expectations), std::move(fixed));
  }
  HONE_ASSIGN(const std::vector<Parameter> parameters, narrowed(request.spec.parameters, request.restriction));
  return LikelySpace::build(parameters, request.spec.constraints, std::move(expectations), std::move(fixed));
}

Result<LikelySpace> space_with(const TuneRequest& request, std::vector<Constraint> expectations) {
  Result<LikelySpace> space = built_space(request, std::move(expectations));
  if (space || space.error().code != ErrorCode::kEmptySpace || request.restriction.empty()) {
    return space;
  }
  HONE_ASSIGN(const std::string restriction, text(request.spec.parameters, request.restriction));
  return Error{ErrorCode::kEmptySpace, fmt::format("{} (fixed: {})", space.error().message, restriction)};
}

}  // namespace

std::string_view name(Likely likely) { return std::ranges::find(kModes, likely, &std::pair<Likely, std::string_view>::first)->second; }

Result<Likely> parse_likely(std::string_view text) {
  std::vector<std::string> known;
  for (const auto& [mode, called] : kModes) {
    if (called == text) {
      return mode;
    }
    known.emplace_back(called);
  }
  return Error{ErrorCode::kInvalidArgument, unknown_name("use of expectations", text, known)};
}

Result<std::shared_ptr<const SearchSpace>> space_of(const TuneRequest& request) {
  HONE_ASSIGN(const LikelySpace space, space_with(request, {}));
  return space.legal();
}

Result<LikelySpace> likely_space_of(const TuneRequest& request) { return space_with(request, request.spec.expectations); }

Result<std::string> settings_text(const TuneRequest& request) {
  std::string joined;
  for (const auto& [parameter, value] : request.strategy_parameters) {
    joined += fmt::format("{}{}={}", joined.empty() ? "" : ",", parameter, value);
  }
  if (request.likely != Likely::kFirst) {  // unnamed, so that sessions of before there were any expectations go on
    joined += fmt::format("{}{}{}", joined.empty() ? "" : " ", kLikely, name(request.likely));
  }
  if (!request.operation.empty()) {
    joined += fmt::format("{}{}{}", joined.empty() ? "" : " ", kOperation, request.operation);
  }
  if (!request.workload.empty()) {
    joined += fmt::format("{}{}{}", joined.empty() ? "" : " ", kWorkload, request.workload);
  }
  if (!request.range.empty()) {
    joined += fmt::format("{}{}{}", joined.empty() ? "" : " ", kRange, request.range);
  }
  HONE_ASSIGN(const std::string restriction, text(request.spec.parameters, request.restriction));
  return restriction.empty() ? joined : fmt::format("{}{}{}{}", joined, joined.empty() ? "" : " ", kFix, restriction);
}

Likely likely_of(const SessionInfo& session) {
  const std::string_view settings = std::string_view(session.strategy_parameters).substr(0, session.strategy_parameters.find(kFix));
  for (const auto& [mode, called] : kModes) {
    if (settings.find(fmt::format("{}{}", kLikely, called)) != std::string_view::npos) {
      return mode;
    }
  }
  return Likely::kFirst;
}

namespace {

std::string part_of(const SessionInfo& session, std::string_view what) {
  const std::string_view settings = std::string_view(session.strategy_parameters).substr(0, session.strategy_parameters.find(kFix));
  const std::size_t at = settings.find(what);
  const std::string_view rest = at == std::string_view::npos ? std::string_view() : settings.substr(at + what.size());
  return std::string(rest.substr(0, rest.find(' ')));
}

}  // namespace

std::string operation_of(const SessionInfo& session) { return part_of(session, kOperation); }
std::string range_of(const SessionInfo& session) { return part_of(session, kRange); }

std::string restriction_text(const SessionInfo& session) {
  const std::size_t at = session.strategy_parameters.find(kFix);
  return at == std::string::npos ? "" : session.strategy_parameters.substr(at + kFix.size());
}

}  // namespace hone
