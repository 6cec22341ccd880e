// What nvdisasm prints, as instructions that can be counted.
#include "cli/disassembly.hpp"

#include <doctest/doctest.h>

namespace hone::cli::test {
namespace {

constexpr std::string_view kOne = R"(	.target	sm_90a
.text.copy:
    LDC R1, c[0x0][0x28] ;
    @!P0 LDG.E.128 R4, desc[UR6][R4.64] ;
    @P1 LDG.E.128 R8, desc[UR6][R8.64] ;
.L_x_1:
    BRA `(.L_x_1);
    NOP;
)";
constexpr std::string_view kOther = R"(    LDC R1, c[0x0][0x28] ;
    LDG.E R4, desc[UR6][R4.64] ;
    BRA `(.L_x_1);
)";

}  // namespace

TEST_CASE("instructions are counted by name, without predicates, labels and filling") {
  const auto counts = count_instructions(kOne);
  CHECK(counts.size() == 3);
  CHECK(counts.at("LDG.E.128") == 2);
  CHECK(counts.at("LDC") == 1);
  CHECK(counts.at("BRA") == 1);
}

TEST_CASE("instructions that differ in number are listed, the largest difference first") {
  const auto differences = instruction_differences(kOne, kOther);
  REQUIRE(differences.size() == 2);
  CHECK(differences[0].name == "LDG.E.128");
  CHECK(differences[0].here == 2);
  CHECK(differences[0].there == 0);
  CHECK(differences[1].name == "LDG.E");
  CHECK(instruction_differences(kOne, kOne).empty());
}

}  // namespace hone::cli::test
