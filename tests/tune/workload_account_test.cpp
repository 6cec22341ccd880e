#include "engine/tune/workload_account.hpp"

#include "tests/tune/replay_fixture.hpp"

namespace hone {

TEST_CASE("what served a workload before and what serves now have the times that its sessions measured") {
  replay_test::Fixture fixture;
  const TuneRequest search = fixture.request("exhaustive", "1h");
  const Operation toy{search.spec.name, {&search.spec}, &search.spec};
  WorkloadRequest request;
  request.items = {{.operation = &toy, .problem = search.problem}};
  request.common = search;
  WorkloadAccount account(request, fixture.store());
  const WorkloadItem& item = request.items.front();
  OperationChoice before = account.look_up(item, fixture.store()).value();
  CHECK(before.choice.source == Source::kDefault);
  const TuneReport tuned = tune(search, fixture.store(), builtin_registry()).value();
  ItemReport report;

  SUBCASE("both were measured") {
    REQUIRE(account.account(item, before, {{"toy", tuned.session}}, report).ok());
    REQUIRE(report.before.has_value());
    REQUIRE(report.after.has_value());
    CHECK(report.before->source == Source::kDefault);
    CHECK(report.after->source == Source::kExact);
    CHECK(report.after->time_us == tuned.best->measurement.median_us);
    CHECK(report.before->time_us > report.after->time_us);
    CHECK(report.why.empty());
  }
  SUBCASE("what served before does not run here: the default takes its place, and that is said") {
    before.choice.source = Source::kNearest;
    before.choice.configuration.values.front() = Value(6);
    REQUIRE(account.account(item, before, {{"toy", tuned.session}}, report).ok());
    REQUIRE(report.before.has_value());
    CHECK(report.before->source == Source::kDefault);
    CHECK(report.why.find("a=6") != std::string::npos);
    CHECK(report.why.find("before is the default") != std::string::npos);
  }
  SUBCASE("no session measured anything") {
    REQUIRE(account.account(item, before, {}, report).ok());
    CHECK_FALSE(report.before.has_value());
    CHECK_FALSE(report.after.has_value());
    CHECK(report.why == "nothing that served before could be measured");
  }
}

}  // namespace hone
