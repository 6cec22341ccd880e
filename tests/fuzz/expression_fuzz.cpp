// Expressions: the serialized form and the conditions of other tuners. What is read must be evaluated alike as a whole, in
// part and in conjuncts.

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/kernel/expression.hpp"
#include "engine/space/space_description.hpp"
#include "tests/fuzz/mutate.hpp"

namespace {

using hone::Bindings;
using hone::Expression;
using hone::Operator;
using hone::Result;
using hone::Value;
using hone::fuzz::require;

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min(), kHighest = std::numeric_limits<std::int64_t>::max();
constexpr std::array<std::int64_t, 12> kIntegers{0, 1, -1, 2, 3, 64, 63, 1024, -7, kLowest, kHighest, 1'000'003};
constexpr std::size_t kRounds = 4;

/// Reals by their bits: NaN is itself.
bool same(const Value& a, const Value& b) {
  const double x = a.real(), y = b.real();
  return a == b || (a.kind() == Value::Kind::kReal && b.kind() == Value::Kind::kReal && std::isnan(x) && std::isnan(y));
}

bool same(const Result<Value>& a, const Result<Value>& b) { return a.ok() == b.ok() && (!a.ok() || same(*a, *b)); }

/// `again`: what was read of the text of `e`.
void check_round(const Expression& e, const Expression& again, const std::vector<std::string>& names, std::size_t round) {
  Bindings all, first, rest;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Value value(kIntegers[(round * 5 + i * 7) % kIntegers.size()]);
    all.emplace(names[i], value);
    (i % 2 == round % 2 ? first : rest).emplace(names[i], value);
  }
  const Result<Value> value = e.evaluate(all);
  require(same(value, again.evaluate(all)), "what is serialized and read has the same value", e.serialize());
  require(same(value, e.substitute(first).evaluate(rest)), "evaluating in two parts changes nothing", e.serialize());
  bool met = true;
  for (const Expression& conjunct : e.conjuncts()) {
    const Result<Value> part = conjunct.evaluate(all);
    met = met && part.ok() && part->boolean();
  }
  require(met == (value.ok() && value->boolean()), "all conjuncts hold where the whole does", e.serialize());
}

void check(const Expression& e) {
  const std::string text = e.serialize();
  const auto again = Expression::parse(text);
  require(again.ok() && again->serialize() == text, "what is serialized can be read", text);
  static_cast<void>(e.text());
  const std::vector<std::string> names = e.variables();
  for (std::size_t round = 0; round < kRounds; ++round) {
    check_round(e, *again, names, round);
  }
}

std::vector<hone::Parameter> parameters() {
  const auto list = [](std::string name, hone::ParameterKind kind, std::vector<Value> values, std::vector<std::string> labels = {}) {
    const Value first = values.front();
    return hone::Parameter{
        .name = std::move(name), .kind = kind, .values = std::move(values), .labels = std::move(labels), .default_value = first};
  };
  return {list("block", hone::ParameterKind::kInteger, {Value(1), Value(32), Value(1024)}),
          list("tile", hone::ParameterKind::kInteger, {Value(-3), Value(0), Value(kHighest)}),
          list("x", hone::ParameterKind::kInteger, {Value(kLowest), Value(7)}),
          list("on", hone::ParameterKind::kBoolean, {Value(false), Value(true)}),
          list("scale", hone::ParameterKind::kReal, {Value(0.5), Value(-1e300)}),
          list("layout", hone::ParameterKind::kEnumeration, {Value(0), Value(1)}, {"row", "col"})};
}

constexpr std::array<std::string_view, 63> kWords{"neg ",
                                                  "! ",
                                                  "~ ",
                                                  "int ",
                                                  "real ",
                                                  "bool ",
                                                  "+ ",
                                                  "- ",
                                                  "* ",
                                                  "/ ",
                                                  "% ",
                                                  "<< ",
                                                  ">> ",
                                                  "& ",
                                                  "| ",
                                                  "^ ",
                                                  "< ",
                                                  "<= ",
                                                  "> ",
                                                  ">= ",
                                                  "== ",
                                                  "!= ",
                                                  "&& ",
                                                  "|| ",
                                                  "? ",
                                                  "$p.a ",
                                                  "$c.b ",
                                                  "$d.c ",
                                                  "true ",
                                                  "false ",
                                                  "r1e300 ",
                                                  "r-0 ",
                                                  "rnan ",
                                                  "rinf ",
                                                  "r0.5 ",
                                                  "r0.1234567 ",
                                                  "-1 ",
                                                  "0 ",
                                                  "63 ",
                                                  "64 ",
                                                  "-9223372036854775808 ",
                                                  "9223372036854775807 ",
                                                  "block ",
                                                  "tile ",
                                                  "x ",
                                                  "on ",
                                                  "scale ",
                                                  "layout ",
                                                  "'row' ",
                                                  "'col' ",
                                                  " and ",
                                                  " or ",
                                                  " not ",
                                                  " in ",
                                                  " if ",
                                                  " else ",
                                                  "min(",
                                                  "max(",
                                                  "abs(",
                                                  "int(",
                                                  "** ",
                                                  "// ",
                                                  "[1, 2] "};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<hone::Parameter> known = parameters();
  const std::string_view text = hone::fuzz::text_of(data, size);
  if (const auto parsed = Expression::parse(text)) {
    check(*parsed);
  }
  if (const auto condition = hone::parse_condition(text, known)) {
    check(*condition);
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  hone::fuzz::Random random(seed);
  return random.one_in(2) ? LLVMFuzzerMutate(data, size, max_size) : hone::fuzz::mutate_bytes(random, kWords, data, size, max_size);
}
