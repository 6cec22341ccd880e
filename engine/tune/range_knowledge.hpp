#pragma once
// What is known of a range: measurements, of this run and of earlier ones, and the portfolio that follows from them as it is.

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "engine/store/portfolio.hpp"
#include "engine/store/portfolio_rule.hpp"
#include "engine/store/store.hpp"
#include "engine/tune/portfolio_proposals.hpp"
#include "engine/tune/portfolio_session.hpp"
#include "engine/tune/portfolio_shapes.hpp"
#include "engine/tune/portfolio_table.hpp"
#include "engine/tune/trial_times.hpp"

namespace hone {

/// By which sessions and surveys of a range are known (TuneRequest::range).
std::string range_mark(const ShapeRange& range);

class RangeKnowledge {
 public:
  /// Both are kept.
  RangeKnowledge(const PortfolioRequest& request, Store& store);
  RangeKnowledge(const RangeKnowledge&) = delete;
  RangeKnowledge& operator=(const RangeKnowledge&) = delete;

  /// Trials of every session of this product in the range, for the kernels as they are; what portfolios of it know that were made
  /// elsewhere; and what earlier runs have spent.
  Result<void> load();
  /// Measurements of a kernel. Errors: the shape is none of the operation's.
  Result<void> note(const Shape& shape, const KernelSpec& spec, const std::vector<Trial>& trials);
  /// Trials of which nothing is to be known but what was wrong: PortfolioTable::exclude.
  void exclude(const Shape& shape, const KernelSpec& spec, const std::vector<Trial>& trials) { table_.exclude(shape, spec, trials); }
  /// All of a shape's measurements were noted: what larger shapes will take follows. The portfolio is made again after a session
  /// (`explored`), and with new settings once there are half as many shapes more than when that was done last.
  void note_shape(const Shape& shape, bool explored);
  /// With the settings that the rule has.
  void learn_as_set();
  /// The rows come into the order of their shapes, and the portfolio is made again as it would be kept if all members were checked.
  void prepare_to_finish();
  /// Makes the portfolio again, of checked members alone, and returns what is to be kept of it, judged and thinned; the sources are those
  /// of its kernels.
  [[nodiscard]] Portfolio finish();

  [[nodiscard]] const PortfolioKey& key() const { return key_; }
  /// Of earlier runs of the range.
  [[nodiscard]] double earlier_seconds() const { return about_.seconds; }
  [[nodiscard]] std::int64_t earlier_trials() const { return about_.trials; }
  /// Something is known that did not come with Hone: that is not stored as it is.
  [[nodiscard]] bool has_own() const { return has_own_; }
  [[nodiscard]] const PortfolioTable& table() const { return table_; }
  /// As it is; without points where nothing is known.
  [[nodiscard]] const Portfolio& portfolio() const { return portfolio_; }
  /// Of portfolio(); null where that has no points or no members.
  [[nodiscard]] const PortfolioRule* rule() const { return rule_ ? &*rule_ : nullptr; }
  [[nodiscard]] PortfolioShapes& shapes() { return shapes_; }
  [[nodiscard]] const PortfolioShapes& shapes() const { return shapes_; }
  [[nodiscard]] const PortfolioProposals& proposals() const { return proposals_; }

  /// What is worth a trial at a shape: PortfolioProposals::at.
  [[nodiscard]] PortfolioProposals::First proposed(const Shape& shape, const Problem& problem, std::size_t most,
                                                   std::size_t most_members) const;
  /// What the rule would choose there, of what is legal; nothing where no member is. There is a rule.
  [[nodiscard]] std::optional<Opinion> choice(const Shape& shape, const Problem& problem) const;
  /// How much a session at the shape could bring: what the rule expects of the best that is legal there, as a logarithm. Without trees its
  /// doubt counts as much, which is how far the shape is from others. With them it tells nothing of what tuning would gain, and what is
  /// expected tells half of it (docs/results/untuned-h200-2026-11-30-fifth.md).
  [[nodiscard]] double need(const Shape& shape) const;

 private:
  [[nodiscard]] bool is_here(const SessionInfo& session) const;
  Result<void> load_portfolios();
  /// What sessions and surveys of the range took that no portfolio counts yet: their run was killed, or what it stored was rolled back.
  void add_uncounted(const std::vector<SessionInfo>& sessions);
  bool go_on_from(const Portfolio& earlier);
  /// Makes the portfolio again. To fit its rule's settings takes seconds.
  void learn();
  /// Of the portfolio as it is, if it has members.
  void make_rule();

  const PortfolioRequest& request_;
  Store& store_;
  PortfolioKey key_;
  Portfolio about_;  ///< all but members and points; its seconds and trials are those of earlier runs
  PortfolioTable table_;
  Portfolio portfolio_;
  std::optional<PortfolioRule> rule_;
  std::size_t learnt_ = 0;  ///< points, when the rule was fitted last
  PortfolioShapes shapes_{request_};
  PortfolioProposals proposals_{request_, table_, shapes_};
  std::string counted_until_;  ///< UTC, ISO 8601: when the last portfolio of the range was stored
  bool has_own_ = false;
};

}  // namespace hone
