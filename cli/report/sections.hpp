#pragma once
// The sections of a session in a report. Empty where it has nothing to say.

#include <span>
#include <string>

#include "cli/report/pictures.hpp"
#include "engine/report/session_study.hpp"

namespace hone::cli::page {

/// Several sessions beside each other: what each won, where the winners differ, and what one's winner costs in another.
std::string side_by_side(std::span<const report::SessionStudy> studies);
/// What was won.
std::string answer_section(const report::SessionStudy& study);
/// The winner beside the default: what changed, and what each change is worth.
std::string changes_section(const report::SessionStudy& study);
std::string search_section(const report::SessionStudy& study, const Detail& detail);
std::string importance_section(const report::SessionStudy& study);
std::string values_section(const report::SessionStudy& study);
std::string expectations_section(const report::SessionStudy& study);
std::string failures_section(const report::SessionStudy& study);
std::string seconds_section(const report::SessionStudy& study);
/// How far the finalists are from what the device allows.
std::string limits_section(const report::SessionStudy& study);
/// Time against energy, where both were measured.
std::string energy_section(const report::SessionStudy& study);
std::string noise_section(const report::SessionStudy& study, const Detail& detail);
/// How to use the winner, and how to repeat the session.
std::string use_section(const report::SessionStudy& study);

}  // namespace hone::cli::page
