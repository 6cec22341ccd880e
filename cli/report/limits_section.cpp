// The section of a report on how far the finalists are from what the device allows.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/report/markup.hpp"
#include "cli/report/sections.hpp"

namespace hone::cli::page {
namespace {

using report::LimitStudy;
using report::SessionStudy;

std::vector<std::string> limits_row(const SessionStudy& study, const LimitStudy& limit) {
  std::vector<std::string> row{finalist_name(study, limit.trial), time_text(study.trials[limit.trial].measurement.median_us)};
  if (limit.place) {
    row.insert(row.end(), {std::string(limit.place->peak.limit->what), roofline::rate_text(limit.place->peak),
                           time_text(limit.place->least_us), percent_text(limit.place->share)});
  } else {
    row.insert(row.end(), {"not known", "", "", ""});
  }
  row.push_back(limit.occupancy ? roofline::text(*limit.occupancy) : "not known");
  return row;
}

}  // namespace

std::string limits_section(const SessionStudy& study) {
  if (study.limits.empty()) {
    return "";
  }
  Table table{.caption = "The finalists and the device's limits",
              .header = {"", "time", "limited by", "measured peak", "the limit alone would take", "reached", "resident warps"},
              .rows = {},
              .words = {2, 6}};
  bool peaks = false;
  for (const LimitStudy& limit : study.limits) {
    table.rows.push_back(limits_row(study, limit));
    peaks = peaks || limit.place.has_value();
  }
  return paragraph(peaks ? "The work that the kernel file states, held against the peaks that small kernels reached on this product of "
                           "device: what alone would take longest is the limit. More than 100 % of memory bandwidth means that caches "
                           "spared memory."
                         : "The device's peaks are not in this store: hone devices --measure measures them.") +
         html(table);
}

}  // namespace hone::cli::page
