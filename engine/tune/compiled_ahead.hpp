#pragma once
// Surveys that wait for code, which is compiled while something else is measured.

#include <cstddef>
#include <future>
#include <list>
#include <optional>
#include <stop_token>
#include <vector>

#include "engine/tune/portfolio_proposals.hpp"

namespace hone {

class CompiledAhead {
 public:
  /// Of a plan whose code is there, as far as it can be.
  struct Ready {
    PlannedSurvey plan;                   ///< without what failed
    std::vector<PortfolioMember> failed;  ///< what does not compile
    Result<void> ended;                   ///< an error: nothing could be compiled, as without a worker
  };

  /// Keeps references. At most `most` plans wait, which share half of the request's processes that compile.
  CompiledAhead(const PortfolioRequest& request, const PortfolioShapes& shapes, const PortfolioProposals& proposals, Store& store,
                std::size_t most)
      : request_(request), shapes_(shapes), proposals_(proposals), store_(store), most_(most) {}
  /// Stops what is compiled, within a second.
  ~CompiledAhead() { stop(); }
  CompiledAhead(const CompiledAhead&) = delete;
  CompiledAhead& operator=(const CompiledAhead&) = delete;

  [[nodiscard]] bool is_full() const { return waiting_.size() >= most_; }
  [[nodiscard]] bool is_empty() const { return waiting_.empty(); }
  /// Begins to compile, unless that would disturb what is timed, or others compile for the device: then whoever surveys does.
  void add(PlannedSurvey plan);
  /// The first whose code is there and at whose shape nothing is measured.
  std::optional<Ready> take();
  /// Forgets all plans.
  void stop();

 private:
  struct Outcome {
    std::vector<PortfolioMember> failed;
    Result<void> ended;
  };
  struct Waiting {
    PlannedSurvey plan;
    std::future<Outcome> outcome;  ///< none: nobody compiles
  };
  Outcome compile(const PlannedSurvey& plan, const std::stop_token& stop) const;

  const PortfolioRequest& request_;
  const PortfolioShapes& shapes_;
  const PortfolioProposals& proposals_;
  Store& store_;
  std::size_t most_;
  std::stop_source stop_;
  std::list<Waiting> waiting_;
};

}  // namespace hone
