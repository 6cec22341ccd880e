#include "cli/metrics_text.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "tests/cli/exposition.hpp"

namespace hone::cli {

TEST_CASE("a family has HELP and TYPE once, before its samples") {
  MetricsText out;
  out.family("hone_trials_total", MetricKind::kCounter, "Trials.");
  out.sample({{"outcome", "ok"}}, 3.0);
  out.sample({{"outcome", "race"}}, 0.0);
  out.family("hone_best_time_seconds", MetricKind::kGauge, "Best.");
  out.sample({}, 1.25e-6);
  CHECK(out.text() ==
        "# HELP hone_trials_total Trials.\n# TYPE hone_trials_total counter\n"
        "hone_trials_total{outcome=\"ok\"} 3\nhone_trials_total{outcome=\"race\"} 0\n"
        "# HELP hone_best_time_seconds Best.\n# TYPE hone_best_time_seconds gauge\nhone_best_time_seconds 1.25e-06\n");
  const test::Exposition read(out.text());
  CHECK(read.value("hone_best_time_seconds") == 1.25e-6);
}

TEST_CASE("a family without a sample is left out") {
  MetricsText out;
  out.family("hone_nothing", MetricKind::kGauge, "Nothing.");
  out.family("hone_something", MetricKind::kGauge, "Something.");
  out.sample({}, 1.0);
  CHECK(out.text().find("hone_nothing") == std::string::npos);
}

TEST_CASE("backslashes, quotes, newlines and what is no UTF-8 are escaped, and are read as they were") {
  MetricsText out;
  out.family("hone_info", MetricKind::kGauge, "a \\ b\nc \"d\"");
  out.sample({{"name", "C:\\x \"y\"\nz ü"}, {"broken", "a\xff"}}, 1.0);
  CHECK(out.text().find("# HELP hone_info a \\\\ b\\nc \"d\"\n") == 0);
  CHECK(test::Exposition(out.text()).value("hone_info", {{"name", "C:\\x \"y\"\nz ü"}, {"broken", "a\uFFFD"}}) == 1.0);
}

TEST_CASE("numbers are exact, and those that are none have their names") {
  MetricsText out;
  out.family("hone_x", MetricKind::kGauge, "X.");
  const double infinite = std::numeric_limits<double>::infinity();
  out.sample({{"n", "1"}}, infinite);
  out.sample({{"n", "2"}}, -infinite);
  out.sample({{"n", "3"}}, std::numeric_limits<double>::quiet_NaN());
  out.sample({{"n", "4"}}, 0.1 + 0.2);
  CHECK(out.text().find("hone_x{n=\"1\"} +Inf\nhone_x{n=\"2\"} -Inf\nhone_x{n=\"3\"} NaN\nhone_x{n=\"4\"} 0.30000000000000004\n") !=
        std::string::npos);
}

}  // namespace hone::cli
