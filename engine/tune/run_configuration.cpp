#include <limits>

#include "engine/tune/evaluator.hpp"

namespace hone {

Result<RunReport> run_configuration(const TuneRequest& request, const Configuration& configuration, Store* store) {
  HONE_ASSIGN(const auto evaluator, make_live_evaluator(request, store));
  evaluator->submit({{0, configuration}});
  RunReport report;
  bool done = false;
  while (!done) {
    HONE_ASSIGN(std::vector<Trial> finished, evaluator->wait(std::numeric_limits<double>::infinity()));
    if (!finished.empty()) {
      report.trial = std::move(finished.front());
      done = true;
    }
  }
  const Bindings bound = bindings(request.problem);
  const Result<Value> flops = request.spec.cost.flops.evaluate(bound);
  const Result<Value> bytes = request.spec.cost.bytes.evaluate(bound);
  report.flops = flops ? flops->real() : 0.0;
  report.bytes = bytes ? bytes->real() : 0.0;
  return report;
}

}  // namespace hone
