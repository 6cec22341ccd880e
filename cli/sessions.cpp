#include <fmt/format.h>

#include "cli/options.hpp"
#include "cli/present.hpp"
#include "cli/verbs.hpp"

namespace hone::cli {
namespace {

std::string_view state_name(const SessionInfo& session) {
  if (session.state == SessionState::kDone) {
    return "done";
  }
  return session.owner_alive ? "running" : "interrupted";
}

}  // namespace

int sessions(int argc, char** argv) {
  cxxopts::Options options("hone sessions", "Lists the sessions in the store. An interrupted one goes on when its command is given again.");
  add_store_option(options);
  return run_verb(options, argc, argv, [](const cxxopts::ParseResult& arguments) -> Result<Output> {
    HONE_ASSIGN(const auto store, open_store(store_path(arguments), StoreMode::kReadOnly));
    HONE_ASSIGN(const std::vector<SessionInfo> all, store->sessions());
    Output output{.json = {{"sessions", Json::array()}}, .text = ""};
    std::vector<std::vector<std::string>> rows{{"id", "state", "kernel", "dtype", "shape", "device", "strategy", "seed", "trials", "best", "seconds", "begun"}};
    for (const SessionInfo& session : all) {
      output.json["sessions"].push_back({{"session", session.id},
                                         {"state", state_name(session)},
                                         {"kernel", session.kernel},
                                         {"dtype", name(session.problem.dtype)},
                                         {"shape", json(session.problem.shape)},
                                         {"device", session.device_id},
                                         {"product", session.product},
                                         {"strategy", session.strategy},
                                         {"seed", session.seed},
                                         {"budget", session.budget},
                                         {"trials", session.trials},
                                         {"best_us", session.best_us ? Json(*session.best_us) : Json(nullptr)},
                                         {"seconds", session.elapsed_seconds},
                                         {"created_at", session.created_at},
                                         {"updated_at", session.updated_at}});
      rows.push_back({std::to_string(session.id), std::string(state_name(session)), session.kernel, std::string(name(session.problem.dtype)),
                      text(session.problem.shape), session.device_id, session.strategy, std::to_string(session.seed), std::to_string(session.trials),
                      session.best_us ? duration(*session.best_us) : "-", fmt::format("{:.1f}", session.elapsed_seconds), session.created_at});
    }
    output.text = all.empty() ? "the store holds no session\n" : table(rows);
    return output;
  });
}

}  // namespace hone::cli
