#include "engine/space/likely_space.hpp"

#include <utility>

namespace hone {
namespace {

/// What an empty space's error says of the conditions: which ones contradict one another, without what to do about it.
std::string conflict_of(const Error& error) {
  const std::size_t begin = error.message.find(": ");
  if (begin == std::string::npos) {
    return "no legal configuration meets them all";
  }
  return error.message.substr(begin + 2, error.message.rfind("; ") - begin - 2);
}

}  // namespace

std::vector<std::size_t> broken(const std::vector<Constraint>& conditions, const std::vector<Parameter>& parameters, const Bindings& fixed,
                                const Configuration& configuration) {
  Bindings bound = bindings(parameters, configuration);
  bound.insert(fixed.begin(), fixed.end());
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const Result<Value> met = conditions[i].condition.evaluate(bound);
    if (!met || !met->boolean()) {
      found.push_back(i);
    }
  }
  return found;
}

LikelySpace::LikelySpace(std::shared_ptr<const SearchSpace> legal, std::vector<Constraint> expectations, Bindings fixed)
    : legal_(std::move(legal)), likely_(legal_), expectations_(std::move(expectations)), fixed_(std::move(fixed)) {}

Result<LikelySpace> LikelySpace::build(const std::vector<Parameter>& parameters, const std::vector<Constraint>& constraints,
                                       std::vector<Constraint> expectations, Bindings fixed) {
  HONE_ASSIGN(SearchSpace legal, SearchSpace::build(parameters, constraints, fixed));
  LikelySpace made(std::make_shared<const SearchSpace>(std::move(legal)), std::move(expectations), std::move(fixed));
  if (!made.expectations_.empty()) {
    std::vector<Constraint> all = constraints;
    all.insert(all.end(), made.expectations_.begin(), made.expectations_.end());
    // Groups of parameters that no expectation touches are those of the legal space.
    HONE_TRY(made.adopt(SearchSpace::build(parameters, all, made.fixed_, made.legal_.get())));
  }
  return made;
}

Result<LikelySpace> LikelySpace::of_recorded(std::shared_ptr<const SearchSpace> legal, std::vector<Constraint> expectations,
                                             Bindings fixed) {
  LikelySpace made(std::move(legal), std::move(expectations), std::move(fixed));
  if (!made.expectations_.empty()) {
    std::vector<Digits> rows;
    for (Count i = 0; i < made.legal_->size(); ++i) {
      if (made.broken(made.legal_->at(i)).empty()) {
        rows.push_back(made.legal_->digits(i));
      }
    }
    if (rows.empty()) {
      made.contradiction_ = "no recorded configuration meets them all";
      return made;
    }
    HONE_TRY(made.adopt(SearchSpace::from_rows(made.legal_->parameters(), rows)));
  }
  return made;
}

Result<void> LikelySpace::adopt(Result<SearchSpace> likely) {
  if (!likely && likely.error().code != ErrorCode::kEmptySpace) {
    return likely.error();
  }
  if (!likely) {
    contradiction_ = conflict_of(likely.error());
  } else if (!likely->exact() || !legal_->exact() || likely->size() < legal_->size()) {
    likely_ = std::make_shared<const SearchSpace>(std::move(likely).value());
  }
  return {};
}

Count LikelySpace::to_legal(Count likely) const { return narrows() ? *legal_->index(likely_->digits(likely)) : likely; }

std::optional<Count> LikelySpace::to_likely(Count legal) const {
  return narrows() ? likely_->index(legal_->digits(legal)) : std::optional<Count>(legal);
}

std::vector<std::size_t> LikelySpace::broken(const Configuration& configuration) const {
  return hone::broken(expectations_, legal_->parameters(), fixed_, configuration);
}

}  // namespace hone
