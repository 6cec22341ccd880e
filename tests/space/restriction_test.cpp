#include "engine/space/restriction.hpp"

#include <doctest/doctest.h>

#include <set>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/kernel_problem.hpp"
#include "engine/plugin/registry.hpp"

namespace hone {
namespace {

std::vector<Parameter> parameters() {
  return {
      {.name = "block", .values = {32, 64, 128, 256}, .default_value = 256},
      {.name = "vec", .values = {1, 2, 4}, .default_value = 2},
      {.name = "path", .kind = ParameterKind::kEnumeration, .values = {0, 1, 2}, .labels = {"plain", "async", "bulk"}, .default_value = 0}};
}

std::string refusal(const Restriction& restriction) { return narrowed(parameters(), restriction).error().message; }

}  // namespace

TEST_CASE("a restriction is read from what a user writes") {
  CHECK(parse_restriction("block=128|256,vec=4").value() == Restriction{{"block", {"128", "256"}}, {"vec", {"4"}}});
  CHECK(parse_restriction("").value().empty());
  CHECK(parse_restriction("block=128,256").error().message.find("by |:") != std::string::npos);
  CHECK(parse_restriction("block").error().message.find("'block' is not of the form name=value") != std::string::npos);
  CHECK_FALSE(parse_restriction("block=").ok());
  CHECK(parse_restriction("vec=1,vec=2").error().message.find("vec=value|value") != std::string::npos);
}

TEST_CASE("one text for all ways to say the same") {
  CHECK(text(parameters(), {{"vec", {"4", "1", "4"}}, {"block", {"64"}}}).value() == "block=64,vec=1|4");
  CHECK(text(parameters(), {{"vec", {"1", "2", "4"}}}).value().empty());
  CHECK(text(parameters(), {{"path", {"bulk", "plain"}}}).value() == "path=plain|bulk");
}

TEST_CASE("parameters keep what is allowed, and a default that is not gives way to the next in the list") {
  const std::vector<Parameter> narrow = narrowed(parameters(), {{"block", {"32", "64"}}, {"path", {"bulk", "async"}}}).value();
  CHECK(narrow[0].values == std::vector<Value>{32, 64});
  CHECK(narrow[0].default_value == Value(64));
  CHECK(narrow[1].values.size() == 3);
  CHECK(narrow[2].labels == std::vector<std::string>{"async", "bulk"});
  CHECK(text(narrow[2], narrow[2].default_value) == "async");
  CHECK(narrowed(parameters(), {{"vec", {"2", "4"}}}).value()[1].default_value == Value(2));
}

TEST_CASE("what is not there is named, with what is") {
  CHECK(refusal({{"blok", {"32"}}}).find("did you mean 'block'?") != std::string::npos);
  CHECK(refusal({{"block", {"100"}}}).find("unknown value of block '100' (known: 32, 64, 128, 256)") != std::string::npos);
  CHECK(refusal({{"path", {"asynk"}}}).find("did you mean 'async'?") != std::string::npos);
  CHECK(refusal({{"vec", {}}}).find("'vec' is left without a value") != std::string::npos);
}

TEST_CASE("constraints hold in every part of a space: the parts of one parameter's values make up the whole") {
  const KernelSpec& softmax = **find_builtin_kernel("softmax");
  Bindings fixed = bindings(make_problem(softmax, DType::kF32, {{"rows", 64}, {"cols", 4096}}).value());
  fixed.merge(bindings(builtin_registry().device("cpu").value().info));
  const Count whole = SearchSpace::build(softmax.parameters, softmax.constraints, fixed).value().size();
  for (const Parameter& parameter : softmax.parameters) {
    Count sum = 0;
    for (const Value& value : parameter.values) {
      const auto part = SearchSpace::build(narrowed(softmax.parameters, {{parameter.name, {text(parameter, value)}}}).value(),
                                           softmax.constraints, fixed);
      REQUIRE((part.ok() || part.error().code == ErrorCode::kEmptySpace));
      sum += part ? part->size() : 0;
    }
    CAPTURE(parameter.name);
    CHECK((sum == whole));
  }
}

TEST_CASE("a space of rows keeps the rows that are allowed") {
  const SearchSpace whole = SearchSpace::from_rows(parameters(), {{0, 0, 0}, {1, 2, 1}, {2, 1, 2}, {3, 2, 0}}).value();
  const SearchSpace part = narrowed(whole, {{"vec", {"4"}}}).value();
  REQUIRE(part.size() == 2);
  std::set<std::string> found;
  for (Count i = 0; i < part.size(); ++i) {
    CHECK(whole.contains(part.at(i)));
    found.insert(text(part.parameters(), part.at(i)));
  }
  CHECK(found == std::set<std::string>{"block=64,vec=4,path=async", "block=256,vec=4,path=plain"});
  CHECK(narrowed(whole, {{"block", {"32"}}, {"vec", {"4"}}}).error().code == ErrorCode::kEmptySpace);
}

}  // namespace hone
