#include "cli/verbs.hpp"

#include <array>

namespace hone::cli {
namespace {

constexpr std::array kVerbs{
    Verb{"tune", "search a kernel's configurations and store the winner", tune},
    Verb{"compare", "replay strategies on recorded spaces, without a GPU", compare},
    Verb{"best", "print the winner for a problem", best},
    Verb{"run", "validate and time one configuration", run},
    Verb{"check", "validate a sample of configurations, also under sanitizers, or against another kernel's reference", check},
    Verb{"verify", "validate and time the store's records again", verify},
    Verb{"bench", "measure a suite and fail on what is slower, wrong or newly failing", bench},
    Verb{"export", "write the compiled winner and a launch plan, for programs without Hone", export_plan},
    Verb{"kernels", "list the built-in kernels, or describe one", kernels},
    Verb{"space", "count a kernel's configurations", space},
    Verb{"strategies", "list the search strategies, or describe one", strategies},
    Verb{"devices", "list the devices of this machine", devices},
    Verb{"sessions", "list the sessions in the store", sessions},
    Verb{"report", "explain sessions: a page with pictures, tables, CSV", report_sessions},
    Verb{"records", "list the records in the store, approve, pin, withdraw or roll back", records},
    Verb{"portfolios", "list the portfolios, which choose configurations for shapes that nobody tuned", portfolios},
    Verb{"warm", "compile the portfolios' configurations ahead of time", warm_up},
    Verb{"store", "look after stores: copy, bring together, check, make smaller", store_upkeep},
    Verb{"serve-trials", "work for sessions of other hosts that share a store on a server", serve_trials},
    Verb{"trust", "allow launching the compiled code of a store from elsewhere", trust},
    Verb{"completion", "print what makes bash or zsh complete this command", completion},
    Verb{"doctor", "report what was found, what is missing, and what that costs", doctor},
};

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }

}  // namespace hone::cli
