#pragma once
// The pictures of a report, one function each. Nothing where a session has nothing to draw.

#include <optional>
#include <span>

#include "cli/report/svg.hpp"
#include "engine/report/session_study.hpp"

namespace hone::cli::page {

/// What the axis of a search counts.
enum class SearchAxis { kTrials, kSeconds };

/// The default, the winner and what is tied with it, as bars with their intervals.
std::optional<Svg> answer_picture(const report::SessionStudy& study);
/// How much of many trials is drawn, so that pages stay small.
struct Detail {
  std::size_t points = 2000;  ///< at most
  std::size_t titles = 600;   ///< with more trials than this, points do not say which they are
};

/// How many trials ended how, as one bar.
std::optional<Svg> outcome_picture(const report::SessionStudy& study);
/// Every trial as a point by its outcome, the best so far, and the calculated random search and what each point is (over trials alone).
std::optional<Svg> search_picture(const report::SessionStudy& study, SearchAxis axis, const Detail& detail = {});
/// One of so many trials is drawn.
std::size_t thinning(const report::SessionStudy& study, const Detail& detail);
/// Shares of the variance by parameter.
std::optional<Svg> importance_picture(const report::SessionStudy& study);
/// What each value of a parameter reaches, and the mean time with it.
std::optional<Svg> values_picture(const report::SessionStudy& study, const report::ParameterStudy& parameter);
/// Where the seconds of the trials went.
std::optional<Svg> stages_picture(const report::SessionStudy& study);
/// The samples of the default, the winner and what is tied with it.
std::optional<Svg> samples_picture(const report::SessionStudy& study);
/// The clock over the trials.
std::optional<Svg> clock_picture(const report::SessionStudy& study, const Detail& detail = {});
/// Time against energy of each trial that has both, and the front.
std::optional<Svg> energy_picture(const report::SessionStudy& study);
/// The speedup of each session.
std::optional<Svg> sessions_picture(std::span<const report::SessionStudy> studies);

/// The most important parameters first, those that have more than one value measured.
std::vector<const report::ParameterStudy*> drawn_parameters(const report::SessionStudy& study);
/// What a session is called where several are beside each other: "softmax f32 rows=512,cols=2048 (session 3)".
std::string title_of(const report::SessionStudy& study);
/// "block=256,vec=4", by the study's parameters.
std::string config_text(const report::SessionStudy& study, const Trial& trial);
/// The trials of the final answer: default, winner, tied.
std::vector<std::size_t> finalists_of(const report::SessionStudy& study);
/// What a finalist is: "default", "winner", "tied 1".
std::string finalist_name(const report::SessionStudy& study, std::size_t trial);

}  // namespace hone::cli::page
