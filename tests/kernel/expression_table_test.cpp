#include "engine/kernel/expression_table.hpp"

#include <doctest/doctest.h>

#include "engine/kernel/builtin_kernels.hpp"

namespace hone {
namespace {

Expression of(const char* prefix) { return Expression::parse(prefix).value(); }

}  // namespace

TEST_CASE("a table says once what expressions have in common, and reads it back") {
  ExpressionTable written;
  CHECK(written.add(of("+ * $p.m $c.block * $p.m $c.block")) == 3);
  CHECK(written.add(of("* $p.m $c.block")) == 2);
  CHECK(written.add(of("neg -7")) == 4);
  CHECK(written.text() == "$p.m;$c.block;* 0 1;+ 2 2;7");
  const ExpressionTable read = ExpressionTable::parse(written.text()).value();
  CHECK(read.find("@3").value().serialize() == "+ * $p.m $c.block * $p.m $c.block");
  CHECK(read.find("@4").value().serialize() == "7");
}

TEST_CASE("a damaged table is an error") {
  for (const char* const damaged : {"* 0 1", "$a;* 0 1", "$a;* 0", "$a;neg 0 0", "$a;neg x", "$a;;", "$a;neg 18446744073709551616"}) {
    CAPTURE(damaged);
    CHECK_FALSE(ExpressionTable::parse(damaged).ok());
  }
  const ExpressionTable one = ExpressionTable::parse("$a").value();
  CHECK_FALSE(one.find("@1").ok());
  CHECK_FALSE(one.find("@").ok());
  CHECK_FALSE(one.find("@0x").ok());
}

TEST_CASE("an expression that doubles with each entry ends at the limit of its size") {
  std::string text = "$a";
  for (int i = 0; i < 100; ++i) {
    text += ";+ " + std::to_string(i) + " " + std::to_string(i);
  }
  CHECK_FALSE(ExpressionTable::parse(text).ok());
}

namespace {

std::string in_one(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) {
    all += text;
  }
  return all;
}

}  // namespace

TEST_CASE("every built-in kernel survives the form in which it is embedded") {
  for (const KernelSpec* const kernel : builtin_kernels()) {
    CAPTURE(kernel->name);
    CHECK(parse_embedded(in_one(embed(*kernel))).serialize() == kernel->serialize());
  }
}

TEST_CASE("an embedded kernel that is damaged is a broken contract") {
  std::string text = in_one(embed(*builtin_kernels().front()));
  text[text.find("\"texts\"") + 2] = 'T';
  CHECK_THROWS_AS(parse_embedded(text), ContractError);
}

TEST_CASE("a spec from outside has no shared expressions") {
  std::string text = builtin_kernels().front()->serialize();
  const std::string condition = "\"condition\":\"";
  const std::size_t at = text.find(condition) + condition.size();
  text.replace(at, text.find('"', at) - at, "@0");
  CHECK_FALSE(parse_kernel_spec(text).ok());
}

}  // namespace hone
