#include <limits>

#include "engine/tune/evaluator.hpp"

namespace hone {

Result<Tried> run_configuration(const TuneRequest& request, const Configuration& configuration, Store* store) {
  HONE_TRY(check_objective(request));
  HONE_ASSIGN(const auto evaluator, make_live_evaluator(request, store));
  evaluator->submit({{0, configuration}});
  for (;;) {
    HONE_ASSIGN(std::vector<Trial> finished, evaluator->wait(std::numeric_limits<double>::infinity()));
    if (!finished.empty()) {
      return Tried{std::move(finished.front()), evaluator->notes()};
    }
  }
}

}  // namespace hone
