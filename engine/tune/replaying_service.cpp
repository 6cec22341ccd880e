#include "engine/tune/replaying_service.hpp"

#include <fmt/format.h>

#include <chrono>

#include "engine/kernel/configuration_text.hpp"
#include "engine/kernel/kernel_spec.hpp"
#include "engine/measure/sampling.hpp"

namespace hone {

Result<void> ReplayingService::set_up(std::int64_t assignment, wire::Message setup, const wire::Message&) {
  HONE_ASSIGN(const KernelSpec spec, parse_kernel_spec(setup.at("spec").get<std::string>()));
  if (spec.source_hash != recorded_.digest()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("the session replays another recorded space than {}: give its file", recorded_.name())};
  }
  assignment_ = assignment;
  return {};
}

Trial ReplayingService::trial_of(const std::string& text) const {
  Trial trial;
  const Result<Configuration> configuration = parse_configuration(recorded_.space().parameters(), text);
  const std::optional<Count> row = configuration ? recorded_.space().index(*configuration) : std::nullopt;
  const RecordedTrial* const known = row ? recorded_.find(*row) : nullptr;
  if (known == nullptr) {
    trial.outcome = Outcome::kCompileError;
    trial.detail = "not in the recorded space";
    return trial;
  }
  trial.outcome = known->outcome;
  trial.detail = known->detail;
  trial.seconds = known->seconds;
  trial.resources = known->resources;
  if (!known->samples_us.empty()) {
    trial.measurement = summarize(known->samples_us);
  }
  return trial;
}

void ReplayingService::begin(std::int64_t, const wire::Message& request, Answered answered) {
  wire::Message message;
  double seconds = 0.0;
  if (request.value("op", std::string()) == "finals") {
    wire::Message results = wire::Message::array();
    for (const wire::Message& candidate : request.at("candidates")) {
      const Trial trial = trial_of(candidate.at("configuration").get<std::string>());
      seconds += trial.seconds.time;
      results.push_back(wire::to_message(trial));
    }
    message["reply"] = {{"results", std::move(results)}, {"fatal", false}, {"complete", true}};
  } else {
    const Trial trial = trial_of(request.at("configuration").get<std::string>());
    seconds = trial.seconds.total();
    message["reply"] = wire::to_message(trial);
    message["reply"].update({{"fatal", false}, {"blameless", false}, {"asks_default", false}, {"notes", wire::Message::array()}});
    message["reply"]["dropped"] = message["reply"]["held"] = wire::Message::array();
  }
  if (request.contains("note")) {
    message["note"] = request.at("note");
  }
  timer_.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(pace_ * seconds)));
  timer_.async_wait([message = std::move(message), answered = std::move(answered)](const boost::system::error_code& cancelled) mutable {
    if (!cancelled) {
      answered(std::move(message));
    }
  });
}

}  // namespace hone
