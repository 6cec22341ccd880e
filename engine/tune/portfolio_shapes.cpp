#include "engine/tune/portfolio_shapes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "engine/space/hashing.hpp"
#include "engine/store/portfolio_lookup.hpp"

namespace hone {
namespace {

constexpr std::uint64_t kCandidates = 192;                    // new shapes that are looked at for one that can be had
constexpr std::size_t kChoices = 24;                          // shapes, of which a session has the one that needs it most
constexpr std::size_t kMostForSurveys = 64;                   // of those that no session is worth, that are kept for a survey
constexpr double kLaunches = 100.0;                           // a shape's session must have time for so many of its best configuration
constexpr double kSearchShare = 0.85;                         // of a session's seconds: the rest is for its final round
constexpr double kEnoughTrials = 32.0;                        // that a session is worth its seconds for
constexpr double kLongTrial = 2.0;                            // times the shortest: work is what it takes
constexpr double kLongStart = 2.0;                            // times the median, the same
constexpr double kSurveyLaunches = 1000.0;                    // and a survey for these: it pays where launches cost next to nothing
constexpr double kSurveyFlops = 3e11;                         // and where the reference does
constexpr double kFirstBytes = 64 << 20, kFirstFlops = 1e10;  // the most of a shape before anything was measured
constexpr double kRangeMemoryShare = 0.1;                     // of the device's memory, for a shape's arguments
constexpr std::uint64_t kOthers = 1 << 20;  // of the sequence of shapes, where those begin that are used for no shape alone
constexpr std::uint64_t kAside = 1 << 22;   // and where those begin that are not next
constexpr std::uint64_t kLargeShare = 3;    // one in so many is drawn from the range's large end
constexpr std::uint64_t kNarrowShare = 4;   // one in so many is small in one extent, and large and round in the others,
constexpr std::uint64_t kLargestOf = 4;     // which are the largest of so many draws
constexpr std::uint64_t kPastShare = 7;     // one in so many is one past what is round in some extents, and round in the others,
constexpr std::int64_t kLeastPast = 64;     // if those are at least so large
constexpr std::uint64_t kAlikeShare = 5;    // of the rest one in so many has extents alike that are alike by default

/// Whether it has extents between those that are named: named ones are all alike.
bool has_span(const RangeAxis& axis) {
  return !axis.exact && std::ranges::any_of(axis.parts, [](const RangeAxis::Part& part) { return part.least < part.most; });
}

bool is_named(const RangeAxis& axis, std::int64_t extent) {
  return std::ranges::find(axis.parts, RangeAxis::Part{extent, extent}) != axis.parts.end();
}

std::size_t spans_of(const ShapeRange& range) { return static_cast<std::size_t>(std::ranges::count_if(range.axes, has_span)); }

/// Rounded down to few significant bits: a multiple of the largest power of two up to an eighth of it, or of 128. An extent that is named,
/// or for which the axis has no such value, stays.
std::int64_t rounded(const RangeAxis& axis, std::int64_t extent) {
  constexpr std::int64_t kFineness = 8, kMostStep = 128;
  const auto eighth = static_cast<std::uint64_t>(std::max(kFineness, extent) / kFineness);
  const std::int64_t round = extent - extent % std::min(kMostStep, static_cast<std::int64_t>(std::bit_floor(eighth)));
  return is_named(axis, extent) || !axis.holds(round) ? extent : round;
}

/// Extents that a problem has alike by default, as queries and keys, or rows and columns, become the largest of them that all may be; those
/// of 0, which says that there is none, stay. Nothing where no two are alike.
std::optional<Shape> alike(Shape shape, const ShapeRange& range, const std::vector<ProblemField>& fields) {
  std::map<std::int64_t, std::vector<std::size_t>> by_default;
  for (const ProblemField& field : fields) {
    const auto axis = std::ranges::find(range.axes, field.name, &RangeAxis::name);
    if (axis != range.axes.end() && has_span(*axis) && field.default_value != 0) {
      by_default[field.default_value].push_back(static_cast<std::size_t>(axis - range.axes.begin()));
    }
  }
  bool any = false;
  for (const auto& [value, places] : by_default) {
    std::int64_t largest = 0;
    for (const std::size_t from : places) {
      const std::int64_t extent = shape[from].second;
      const bool all_may = std::ranges::all_of(places, [&](std::size_t place) { return range.axes[place].holds(extent); });
      largest = all_may ? std::max(largest, extent) : largest;
    }
    for (const std::size_t place : places) {
      shape[place].second = largest == 0 ? shape[place].second : largest;
    }
    any = any || (places.size() > 1 && largest > 0);
  }
  return any ? std::optional(std::move(shape)) : std::nullopt;
}

/// Each extent becomes the larger one, but for named ones: these shall be drawn as often as elsewhere.
void enlarge(Shape& shape, const ShapeRange& range, const Shape& other) {
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const RangeAxis& axis = range.axes[i];
    if (has_span(axis) && !is_named(axis, shape[i].second) && !is_named(axis, other[i].second)) {
      shape[i].second = std::max(shape[i].second, other[i].second);
    }
  }
}

/// Of the extents each second one, by the place in the sequence, or all of them, becomes one more than a round one, the others round.
void move_past(Shape& shape, const ShapeRange& range, std::uint64_t place) {
  const auto is_chosen = [&](std::size_t i) { return space::mix(place, i) % 2 == 0; };
  std::vector<std::size_t> large;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (has_span(range.axes[i]) && !is_named(range.axes[i], shape[i].second) && shape[i].second >= kLeastPast) {
      large.push_back(i);
    }
  }
  const bool is_any_chosen = std::ranges::any_of(large, is_chosen);
  for (const std::size_t i : large) {
    const std::int64_t round = rounded(range.axes[i], shape[i].second);
    const bool moves = (is_chosen(i) || !is_any_chosen) && round % 8 == 0 && range.axes[i].holds(round + 1);
    shape[i].second = moves ? round + 1 : round;
  }
}

}  // namespace

double amount_of(const Work& work, double flops_for_byte) { return std::max({1.0, work.bytes, work.flops / flops_for_byte}); }

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
    rate_ = std::max(rate_, amount_of(work_at(*problem)) / best_us);
  }
}

void PortfolioShapes::note_session(const Shape& shape, std::optional<double> start, double seconds, std::int64_t trials) {
  const Result<Problem> problem = problem_at(shape);
  if (problem && trials > 0 && seconds > 0.0) {
    efforts_.push_back({amount_of(work_at(*problem)), seconds / static_cast<double>(trials), start});
  }
}

/// Of two the shorter one: a first session compiles what later ones find.
double PortfolioShapes::start() const {
  std::vector<double> starts;
  for (const Effort& effort : efforts_) {
    if (effort.start) {
      starts.push_back(*effort.start);
    }
  }
  if (starts.empty()) {
    return 0.0;
  }
  const auto middle = starts.begin() + static_cast<std::ptrdiff_t>((starts.size() - 1) / 2);
  std::ranges::nth_element(starts, middle);
  return *middle;
}

double PortfolioShapes::amount_at(const Shape& shape) const {
  const Result<Problem> problem = problem_at(shape);
  return problem ? amount_of(work_at(*problem)) : 0.0;
}

/// A trial is expected to take what it did in the session whose work was nearest, where that was long, in proportion to the work.
double PortfolioShapes::seconds_of_trial(const Problem& problem) const {
  const double amount = amount_of(work_at(problem));
  const auto distance = [amount](const Effort& effort) { return std::abs(std::log(effort.amount / amount)); };
  const Effort& nearest = *std::ranges::min_element(efforts_, {}, distance);
  return nearest.seconds > kLongTrial * shortest_trial() ? nearest.seconds * amount / nearest.amount : nearest.seconds;
}

double PortfolioShapes::shortest_trial() const { return std::ranges::min_element(efforts_, {}, &Effort::seconds)->seconds; }

/// Until a session's first trial there: what it was in the session whose work was nearest, where that was long, in proportion to the work.
/// Large inputs are drawn, and their answers computed, before anything is tried.
double PortfolioShapes::start_at(double amount) const {
  const auto distance = [amount](const Effort& effort) {
    return effort.start ? std::abs(std::log(effort.amount / amount)) : std::numeric_limits<double>::infinity();
  };
  const auto nearest = std::ranges::min_element(efforts_, {}, distance);
  const double usual = start();
  if (nearest == efforts_.end() || !nearest->start || *nearest->start <= kLongStart * usual) {
    return usual;
  }
  return std::max(usual, *nearest->start * amount / nearest->amount);
}

/// Between a session's start and its final round.
double PortfolioShapes::seconds_for_trials(const Problem& problem, double session_seconds) const {
  return std::max(0.0, kSearchShare * session_seconds - start_at(amount_of(work_at(problem))));
}

std::optional<double> PortfolioShapes::expected_trials(const Shape& shape, double session_seconds) const {
  const Result<Problem> problem = problem_at(shape);
  return problem && !efforts_.empty() ? std::optional(seconds_for_trials(*problem, session_seconds) / seconds_of_trial(*problem))
                                      : std::nullopt;
}

/// Large shapes take a session's seconds for a handful of trials: what is known is surveyed there, as far as that can be had. What makes
/// trials about as fast as any session is worth one, however slow the machine. The first session is at a shape that costs little.
bool PortfolioShapes::is_worth_a_session(const Problem& problem, double session_seconds) const {
  if (efforts_.empty()) {
    return is_cheap(problem, session_seconds);
  }
  return affordable(problem, kLaunches, session_seconds) &&
         seconds_of_trial(problem) <= std::max(seconds_for_trials(problem, session_seconds) / kEnoughTrials, kLongTrial * shortest_trial());
}

void PortfolioShapes::go_on_with(const Shape& shape) {
  if (std::ranges::find(interrupted_, shape) == interrupted_.end()) {
    interrupted_.push_back(shape);
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
  const Work work = work_at(problem);
  return rate_ == 0.0 ? bytes <= kFirstBytes && work.flops <= kFirstFlops : amount_of(work) / rate_ * launches <= session_seconds * 1e6;
}

bool PortfolioShapes::is_cheap(const Problem& problem, double session_seconds) const {
  return affordable(problem, kSurveyLaunches, session_seconds) && work_at(problem).flops <= kSurveyFlops;
}

bool PortfolioShapes::is_new(const Shape& shape, const PortfolioTable& measured) const {
  return !measured.holds(shape) && !refused_.contains(text(shape)) && !is_reserved(shape) && !is_held_out(shape);
}

bool PortfolioShapes::is_held_out(const Shape& shape) const { return request_.held_out && distance(*request_.held_out, shape) == 0.0; }

bool PortfolioShapes::may_be_legal(const Problem& problem) const {
  return std::ranges::any_of(request_.operation->implementations, [&](const KernelSpec* kernel) {
    const Result<Problem> own = problem_for(*kernel, problem);
    Bindings bound = own ? bindings(*own) : Bindings();
    bound.merge(bindings(request_.common.device.info));
    return own && !is_refuted(*kernel, bound);
  });
}

/// Evenly in log space hardly a shape has three large extents, and applications spend their time at those: every third one has of each
/// extent the larger one of two. Hardly any has one row and all else large and a multiple of 64, where models decode: every fourth one is
/// narrow. Queries and keys drawn apart are hardly ever as many, where models read a text: every fifth of the rest has such extents alike.
/// And one past a number that every tile divides, where a tile more is nearly empty, is one in hundreds, while applications append one
/// token, class or bias: of every seventh shape some extents are.
Shape PortfolioShapes::shape_of_sequence(std::uint64_t index) const {
  Shape shape = unmoved(index);
  if ((index + 1) % kPastShare == 0) {
    move_past(shape, request_.range, index);
  }
  return shape;
}

/// Before extents are moved one past what is round.
Shape PortfolioShapes::unmoved(std::uint64_t index) const {
  const std::uint64_t number = index + 1;
  Shape shape = draw(request_.range, index);
  if (number % kNarrowShare == 0 && spans_of(request_.range) > 1) {
    return narrowed(shape, index / kNarrowShare);
  }
  if (number % kAlikeShare == 0) {
    // Not of the sequence, whose every fifth is uneven, and other ones than narrowed() draws.
    const Shape other = draw(request_.range, kOthers + space::mix(index / kAlikeShare, kLargestOf) % kOthers);
    if (std::optional<Shape> of_alike = alike(other, request_.range, request_.operation->definition->problem)) {
      return *std::move(of_alike);
    }
  }
  if (number % kLargeShare == 0) {
    enlarge(shape, request_.range, draw(request_.range, index / kLargeShare + kOthers));
  }
  return shape;
}

/// Number `place` of those that have of one extent, each in turn, the smaller one of two draws, and of the others the largest one of four.
Shape PortfolioShapes::narrowed(const Shape& shape, std::uint64_t place) const {
  // Points of the sequence whose numbers lie in even steps would all be as far apart.
  const auto other = [&](std::uint64_t i) { return draw(request_.range, kOthers + space::mix(place, i) % kOthers); };
  Shape narrow = shape;
  for (std::uint64_t i = 1; i < kLargestOf; ++i) {
    enlarge(narrow, request_.range, other(i));
  }
  const Shape smaller = other(0);
  std::uint64_t turn = 0;
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    const RangeAxis& axis = request_.range.axes[i];
    if (has_span(axis)) {
      const bool is_small = turn++ == place % spans_of(request_.range);
      narrow[i].second = is_small ? std::min(shape[i].second, smaller[i].second) : rounded(axis, narrow[i].second);
    }
  }
  return narrow;
}

/// The next one that a session has time for. A range may hold fewer shapes than were measured, and of those that nobody has time for there
/// may be many among the thousands that were: what counts is how many come after the last that was.
std::optional<Shape> PortfolioShapes::drawn(double session_seconds, const PortfolioTable& measured) {
  std::uint64_t in_vain = 0;
  for (std::uint64_t i = 0; i < kCandidates * kCandidates && in_vain < kCandidates; ++i) {
    Shape shape = shape_of_sequence(drawn_++);
    if (measured.holds(shape)) {
      in_vain = 0;
      continue;
    }
    const bool fresh = is_new(shape, measured) && std::ranges::find(waiting_, shape) == waiting_.end() &&
                       std::ranges::find(for_surveys_, shape) == for_surveys_.end();
    in_vain += fresh ? 1 : 0;
    const Result<Problem> problem = problem_at(shape);
    if (fresh && problem && may_be_legal(*problem) && affordable(*problem, kLaunches, session_seconds)) {
      return shape;
    }
  }
  return std::nullopt;
}

std::vector<Shape> PortfolioShapes::others(std::uint64_t from, std::size_t count, double session_seconds,
                                           const PortfolioTable& measured) const {
  std::vector<Shape> all;
  std::set<std::string> drawn;
  for (std::uint64_t index = kAside + from; index < kAside + from + count; ++index) {
    Shape shape = shape_of_sequence(index);
    const Result<Problem> problem = problem_at(shape);
    if (problem && is_new(shape, measured) && is_cheap(*problem, session_seconds) && may_be_legal(*problem) &&
        drawn.insert(text(shape)).second) {
      all.push_back(std::move(shape));
    }
  }
  return all;
}

std::optional<Shape> PortfolioShapes::next_surveyed(double session_seconds, const PortfolioTable& measured) {
  const auto suits = [&](const Shape& shape) {
    const Result<Problem> problem = problem_at(shape);
    return is_new(shape, measured) && problem && is_cheap(*problem, session_seconds);
  };
  for (std::deque<Shape>* const waiting : {&for_surveys_, &waiting_}) {
    if (const auto found = std::ranges::find_if(*waiting, suits); found != waiting->end()) {
      const Shape shape = *found;
      waiting->erase(found);
      return shape;
    }
  }
  for (std::uint64_t i = 0; i < kCandidates; ++i) {
    std::optional<Shape> shape = drawn(session_seconds, measured);
    if (!shape || suits(*shape)) {
      return shape;
    }
    // All that wait are too much for a survey: sessions shall have others to choose among, too.
    const Result<Problem> problem = problem_at(*shape);
    if (waiting_.size() < kChoices / 2 && problem && is_worth_a_session(*problem, session_seconds)) {
      waiting_.push_back(*std::move(shape));
    }
  }
  return std::nullopt;
}

std::optional<Shape> PortfolioShapes::next_explored(double session_seconds, const PortfolioTable& measured,
                                                    const std::function<double(const Shape&)>& need) {
  while (!interrupted_.empty()) {
    Shape shape = std::move(interrupted_.front());
    interrupted_.pop_front();
    if (!refused_.contains(text(shape)) && !is_reserved(shape)) {
      return shape;
    }
  }
  const auto keep = [&](Shape shape) {
    const Result<Problem> problem = problem_at(shape);
    if (!problem || !is_new(shape, measured)) {
      return;
    }
    if (is_worth_a_session(*problem, session_seconds)) {
      waiting_.push_back(std::move(shape));
    } else if (is_cheap(*problem, session_seconds) && for_surveys_.size() < kMostForSurveys) {
      for_surveys_.push_back(std::move(shape));
    }
  };
  // What a session has time for is known better since they were drawn.
  for (Shape& shape : std::exchange(waiting_, {})) {
    keep(std::move(shape));
  }
  for (std::uint64_t i = 0; i < kCandidates && waiting_.size() < kChoices; ++i) {
    std::optional<Shape> shape = drawn(session_seconds, measured);
    if (!shape) {
      break;
    }
    keep(*std::move(shape));
  }
  std::vector<double> needs;
  std::ranges::transform(waiting_, std::back_inserter(needs), need);
  const auto most = std::ranges::max_element(needs);
  if (most == needs.end()) {
    return std::nullopt;
  }
  const auto chosen = waiting_.begin() + (most - needs.begin());
  Shape shape = *chosen;
  waiting_.erase(chosen);
  return shape;
}

}  // namespace hone
