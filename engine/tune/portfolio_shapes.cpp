#include "engine/tune/portfolio_shapes.hpp"

#include <algorithm>

#include "engine/store/portfolio_lookup.hpp"

namespace hone {
namespace {

constexpr std::uint64_t kCandidates = 192;                    // new shapes that are looked at for one that can be had
constexpr double kLaunches = 100.0;                           // a shape's session must have time for so many of its best configuration
constexpr double kSurveyLaunches = 1000.0;                    // and a survey for these: it pays where launches cost next to nothing
constexpr double kSurveyFlops = 1e11;                         // and where the reference does
constexpr double kFirstBytes = 64 << 20, kFirstFlops = 1e10;  // the most of a shape before anything was measured
constexpr double kRangeMemoryShare = 0.1;                     // of the device's memory, for a shape's arguments

/// Bytes and operations in a common measure.
double amount_of(const Work& work) {
  constexpr double kFlopsForByte = 20.0;
  return std::max({1.0, work.bytes, work.flops / kFlopsForByte});
}

}  // namespace

Work work_of(const KernelSpec& spec, const Problem& problem) {
  const Bindings bound = bindings(problem);
  const Result<Value> bytes = spec.cost.bytes.evaluate(bound), flops = spec.cost.flops.evaluate(bound);
  return {bytes ? bytes->real() : 0.0, flops ? flops->real() : 0.0};
}

Result<Problem> PortfolioShapes::problem_at(const Shape& shape) const {
  return make_problem(*request_.operation->definition, request_.dtypes, shape);
}

void PortfolioShapes::note_time(const Shape& shape, double best_us) {
  if (const Result<Problem> problem = problem_at(shape)) {
    rate_ = std::max(rate_, amount_of(work_of(*request_.operation->definition, *problem)) / best_us);
  }
}

void PortfolioShapes::refuse(const Shape& shape) { refused_.insert(text(shape)); }

/// Whether it fits the device's memory and a session's time, as far as one can tell from the shapes that were measured.
bool PortfolioShapes::affordable(const Problem& problem, double launches, double session_seconds) const {
  const KernelSpec& spec = *request_.operation->definition;
  const auto& properties = request_.common.device.info.properties;
  const auto memory = properties.find("memory");
  const double room = memory == properties.end() ? request_.most_bytes
                                                 : std::min(request_.most_bytes, kRangeMemoryShare * static_cast<double>(memory->second));
  const double bytes = argument_bytes(spec, problem);
  if (bytes > room) {
    return false;
  }
  const Work work = work_of(spec, problem);
  return rate_ == 0.0 ? bytes <= kFirstBytes && work.flops <= kFirstFlops : amount_of(work) / rate_ * launches <= session_seconds * 1e6;
}

bool PortfolioShapes::is_cheap(const Problem& problem, double session_seconds) const {
  return affordable(problem, kSurveyLaunches, session_seconds) && work_of(*request_.operation->definition, problem).flops <= kSurveyFlops;
}

std::optional<Shape> PortfolioShapes::next(bool surveyed, double session_seconds, const PortfolioTable& measured) {
  for (std::uint64_t looked_at = 0; looked_at < kCandidates;) {
    Shape shape = draw(request_.range, drawn_++);
    const bool is_new = !measured.holds(shape) && !refused_.contains(text(shape));
    looked_at += is_new || drawn_ % kCandidates == 0 ? 1 : 0;  // a range may hold fewer shapes than were measured
    const Result<Problem> problem = problem_at(shape);
    if (is_new && problem && (surveyed ? is_cheap(*problem, session_seconds) : affordable(*problem, kLaunches, session_seconds))) {
      return shape;
    }
  }
  return std::nullopt;
}

}  // namespace hone
