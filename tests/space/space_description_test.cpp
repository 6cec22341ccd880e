#include "engine/space/space_description.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "tests/space/described.hpp"

namespace {

using namespace hone;
using namespace hone::test;

const std::vector<Parameter>& names() {
  static const std::vector<Parameter> made = [] {
    std::vector<Parameter> all{described("a", {1, 2}), described("b", {1, 2}), described("c", {1, 2})};
    Parameter layout = described("layout", {0, 1});
    layout.kind = ParameterKind::kEnumeration;
    layout.labels = {"row", "column"};
    all.push_back(layout);
    return all;
  }();
  return made;
}

/// 1 or 0 for a = 7, b = 3, c = 12, layout = column; -1 where it has no value.
int value(const std::string& text) {
  const auto condition = parse_condition(text, names());
  REQUIRE_MESSAGE(condition.ok(), (condition.ok() ? "" : condition.error().message));
  const auto result = condition->evaluate({{"c.a", Value(7)}, {"c.b", Value(3)}, {"c.c", Value(12)}, {"c.layout", Value(1)}});
  return result.ok() ? (result->boolean() ? 1 : 0) : -1;
}

std::string error(const std::string& text) {
  const auto condition = parse_condition(text, names());
  return condition.ok() ? "" : condition.error().message;
}

std::filesystem::path written(const std::string& text) {
  const std::filesystem::path file = std::filesystem::path(HONE_BINARY_DIR) / "described_space.json";
  std::ofstream(file) << text;
  return file;
}

}  // namespace

TEST_CASE("Conditions in Python's and in C's spelling mean what they mean there") {
  for (const char* holds : {"a + b * 2 == 13",
                            "not a < b and c % b == 0",
                            "!(a < b) && c % b == 0",
                            "3 <= a <= 7 < c",
                            "a in [1, 7]",
                            "a not in (1, 2)",
                            "a // 2 == 3",
                            "a / 2 == 3.5",
                            "2 ** 3 == 8",
                            "-a < 0",
                            "a & 3 == 3",
                            "1 << b == 8",
                            "(a | 8) == 15",
                            "a ^ a == 0",
                            "min(a, b, c) == 3",
                            "max(a, c) == 12",
                            "abs(b - a) == 4",
                            "1 if a > b else 0",
                            "layout == 'column'",
                            "layout != \"row\"",
                            "c % ((a * b) / a) == 0",
                            "(c / b) % 2 == 0",
                            "True or False",
                            "a == 7 or 1 / (a - 7) > 0",
                            "-a // 2 == -4 and a // -2 == -4 and -a // -2 == 3",
                            "-a % 3 == 2 and a % -3 == -2 and -a % -3 == -1",
                            "(b - c) % 9 == 0 and (b - c) % 2 != 0"}) {
    CHECK_MESSAGE(value(holds) == 1, holds);
  }
  for (const char* fails : {"3 <= a < 7", "(c / a) % 2 == 0", "layout == 'row'", "a in []", "not a"}) {
    CHECK_MESSAGE(value(fails) == 0, fails);
  }
  CHECK(value("1 % (a - 7) == 0") == -1);
}

TEST_CASE("A condition that cannot be read is an error with its place") {
  CHECK(error("a +") == "constraint 'a +', column 4: a number, a name or a parenthesis was expected");
  CHECK(error("(a < b").find("')' was expected") != std::string::npos);
  CHECK(error("a < bb").find("'bb'") != std::string::npos);
  CHECK(error("a b").find("column 3") != std::string::npos);
  CHECK(error("layout == 'diagonal'").find("diagonal") != std::string::npos);
  CHECK(error("sqrt(a) > 2").find("no function 'sqrt'") != std::string::npos);
  CHECK(error("(a / b) % c == 1").find("whole numbers") != std::string::npos);
}

TEST_CASE("A constraint that no stack, no 64 bits or no patience would hold is an error") {
  const auto repeated = [](const std::string& what, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) {
      all += what;
    }
    return all;
  };
  CHECK(error(repeated("(", 50) + "a" + repeated(")", 50) + " == 1").empty());
  for (const char* opening : {"(", "not ", "-", "!", "1 if a else ", "abs("}) {
    CHECK_MESSAGE(error(repeated(opening, 100'000) + "a").find("split") != std::string::npos, opening);
  }
  for (const char* operation : {"a + ", "a and ", "a < ", "a % "}) {
    CHECK_MESSAGE(error(repeated(operation, 100'000) + "a").find("split") != std::string::npos, operation);
  }
  CHECK(error(repeated("abs(", 30) + "a" + repeated(")", 30) + " == 1").find("too large") != std::string::npos);
  CHECK(value("a in [" + repeated("1, ", 5000) + "7]") == 1);
  CHECK(value("min(" + repeated("c, ", 30) + "a) == 7") == 1);
  CHECK(error("a ** 63 > 1 and a ** 62 > 1").find("64 bits") != std::string::npos);
  CHECK(error("a ** 62 > 1").empty());
  CHECK(error(repeated("a + ", 10'000)).size() < 1000);
}

TEST_CASE("A file may hold one space or several, in the short form or in T1's") {
  const auto several = read_space_descriptions(written(R"([
    {"name": "one", "parameters": {"x": [1, 2, 3], "y": [0.5, 1]}, "constraints": ["x > 1",
      "x * y < 3"], "valid": 3},
    {"General": {"BenchmarkName": "two"}, "ConfigurationSpace": {
      "TuningParameters": [{"Name": "n", "Type": "int", "Values": "[1, 2, 4]"}, {"Name": "s", "Type": "string", "Values": ["p", "q"]}],
      "Conditions": [{"Expression": "n > 1 or s == 'p'", "Parameters": ["n", "s"]}]}}])"));
  REQUIRE_MESSAGE(several.ok(), (several.ok() ? "" : several.error().message));
  REQUIRE(several->size() == 2);
  CHECK((*several)[0].name == "one");
  CHECK((*several)[0].valid == "3");
  CHECK((*several)[0].constraints[0].line == 2);
  CHECK((*several)[0].constraints[1].line == 3);
  CHECK((*several)[1].name == "two");
  CHECK(text(SearchSpace::build((*several)[0].parameters, (*several)[0].constraints, {})->size()) == "3");
  CHECK(text(SearchSpace::build((*several)[1].parameters, (*several)[1].constraints, {})->size()) == "5");
}

TEST_CASE("A recorded space is no description, and neither is a broken file") {
  CHECK_FALSE(describes_spaces(written(R"({"results": [], "parameters": {}})")));
  CHECK_FALSE(describes_spaces(written("{")));
  CHECK_FALSE(describes_spaces("not/there.json"));
  CHECK(describes_spaces(written(R"({"parameters": {"x": [1]}})")));
}

TEST_CASE("What is wrong in a description is named with its space") {
  for (const char* wrong :
       {R"([{"name": "s", "parameters": {"x": []}}])", R"([{"name": "s", "parameters": {"x": [1, "a"]}}])",
        R"([{"name": "s", "parameters": {"x": [-1e300, "a"]}}])", R"([{"name": "s", "parameters": {"x": [true, 2.5]}}])",
        R"([{"name": "s", "parameters": {"x": [1]}, "constraints": ["z > 1"]}])",
        R"([{"name": "s", "parameters": {"x": [18446744073709551615]}}])",
        R"([{"name": "s", "parameters": {"x": [1]}, "constraints": [["x > 1"]]}])",
        R"([{"name": "s", "parameters": {"x": [1]}, "restrictions": ["x > 1"]}])"}) {
    const auto read = read_space_descriptions(written(wrong));
    REQUIRE_FALSE(read.ok());
    CHECK(read.error().code == ErrorCode::kInvalidArgument);
    CHECK_MESSAGE(read.error().message.find("space 's'") != std::string::npos, read.error().message);
  }
}
