#include "cli/report/page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/report/markup.hpp"
#include "cli/report/pictures.hpp"
#include "cli/report/sections.hpp"
#include "hone/version.h"

namespace hone::cli::page {
namespace {

using report::SessionStudy;

struct Section {
  std::string_view id, title;
  std::string content;
};

std::vector<Section> sections_of(const SessionStudy& study, const Detail& detail) {
  return {{"changes", "What changed from the default", changes_section(study)},
          {"search", "How the search went", search_section(study, detail)},
          {"importance", "What matters", importance_section(study)},
          {"values", "What each value can reach", values_section(study)},
          {"expectations", "What the author expected", expectations_section(study)},
          {"failures", "What failed", failures_section(study)},
          {"seconds", "Where the seconds went", seconds_section(study)},
          {"energy", "Time against energy", energy_section(study)},
          {"limits", "How far from the limit", limits_section(study)},
          {"noise", "Noise and the device", noise_section(study, detail)},
          {"use", "Use it, and repeat it", use_section(study)}};
}

std::string subtitle(const SessionStudy& study) {
  return fmt::format("<p class=\"quiet\">{} on {}, {}, {} trials</p>\n", escaped(text(study.session.problem.shape)),
                     escaped(study.session.product), escaped(study.session.created_at.substr(0, 10)), study.trials.size());
}

/// Headings of a session's sections are of `level`.
std::string session_html(const SessionStudy& study, int level, const Detail& detail) {
  const std::string prefix = fmt::format("s{}-", study.session.id);
  std::string links, body;
  for (const Section& section : sections_of(study, detail)) {
    if (!section.content.empty()) {
      links += fmt::format("<li><a href=\"#{}{}\">{}</a></li>", prefix, section.id, section.title);
      body += heading(level, section.title, prefix + std::string(section.id)) + section.content;
    }
  }
  return answer_section(study) + fmt::format("<nav aria-label=\"Sections of session {}\"><ul>{}</ul></nav>\n", study.session.id, links) +
         body;
}

std::string kernel_title(const SessionStudy& study) { return fmt::format("{} {}", study.session.kernel, study.session.dtypes); }

std::string footer() {
  return fmt::format(
      "<footer><p>Written by hone {}. Times are medians; intervals are 95 % confidence intervals of the median.</p></footer>\n",
      HONE_VERSION);
}

}  // namespace

std::string report_page(std::span<const SessionStudy> studies) {
  if (studies.size() == 1) {
    const SessionStudy& only = studies.front();
    const std::string title = fmt::format("{}, session {}", kernel_title(only), only.session.id);
    return document(title, "<header>" + heading(1, kernel_title(only)) + subtitle(only) + "</header>\n<main>\n" +
                               session_html(only, 2, {}) + "</main>\n" + footer());
  }
  constexpr std::size_t kFewestPoints = 200;
  const Detail whole, detail{.points = std::max(kFewestPoints, whole.points / studies.size()), .titles = whole.titles / studies.size()};
  std::string links, sessions;
  for (const SessionStudy& study : studies) {
    const std::string id = fmt::format("s{}", study.session.id);
    links += fmt::format("<li><a href=\"#{}\">{}</a></li>", id, escaped(title_of(study)));
    sessions += heading(2, title_of(study), id) + subtitle(study) + session_html(study, 3, detail);
  }
  const std::string title = fmt::format("{} tuning sessions", studies.size());
  return document(title, "<header>" + heading(1, title) +
                             fmt::format("<nav aria-label=\"Sessions\"><ul>{}</ul></nav></header>\n<main>\n", links) +
                             heading(2, "Side by side") + side_by_side(studies) + sessions + "</main>\n" + footer());
}

std::vector<std::pair<std::string, std::string>> picture_files(std::span<const SessionStudy> studies) {
  std::vector<std::pair<std::string, std::string>> files;
  const auto add = [&](const std::string& name, const std::optional<Svg>& svg) {
    if (svg) {
      files.emplace_back(name, svg->file());
    }
  };
  add("sessions", sessions_picture(studies));
  for (const SessionStudy& study : studies) {
    const std::string prefix = fmt::format("session{}-", study.session.id);
    add(prefix + "answer", answer_picture(study));
    add(prefix + "outcomes", outcome_picture(study));
    add(prefix + "trials", search_picture(study, SearchAxis::kTrials));
    add(prefix + "seconds", search_picture(study, SearchAxis::kSeconds));
    add(prefix + "importance", importance_picture(study));
    for (std::size_t i = 0; const report::ParameterStudy* const parameter : drawn_parameters(study)) {
      add(fmt::format("{}values{}", prefix, ++i), values_picture(study, *parameter));
    }
    add(prefix + "stages", stages_picture(study));
    add(prefix + "energy", energy_picture(study));
    add(prefix + "samples", samples_picture(study));
    add(prefix + "clock", clock_picture(study));
  }
  return files;
}

}  // namespace hone::cli::page
