#pragma once
// The table of the suite: which kernel, which of its tricks, and how a session with it must end.

#include <span>
#include <string_view>

namespace hone::hostile {

enum class Must {
  kFail,    ///< the trick is refused with one of `outcomes`, and the fastest honest configuration wins
  kSpare,   ///< the trick is right but harms those beside it: they must be ok, and the fastest of them wins
  kAccept,  ///< all of `tricks` are right: each is ok
  kList,    ///< too rare to be found for certain: what is shown is whether it was, and honest ones must be ok
};

struct Case {
  std::string_view group, file, tricks;  ///< a class of mechanisms; FILE.cu; values of `trick`, joined by |
  std::string_view what;
  std::string_view outcomes = "wrong_result|race";
  Must must = Must::kFail;
  std::string_view devices = "cpu cuda";
  std::string_view shape = "", dtype = "f32";
  bool smoke = false;            ///< in the default run
  std::string_view chance = "";  ///< of a listed one: what N launches find

  [[nodiscard]] constexpr Case with(auto Case::*member, auto value) const {
    Case copy = *this;
    copy.*member = value;
    return copy;
  }
  [[nodiscard]] constexpr Case in_smoke() const { return with(&Case::smoke, true); }
  [[nodiscard]] constexpr Case on(std::string_view kinds) const { return with(&Case::devices, kinds); }
  [[nodiscard]] constexpr Case at(std::string_view extents) const { return with(&Case::shape, extents); }
  [[nodiscard]] constexpr Case in(std::string_view type) const { return with(&Case::dtype, type); }
  [[nodiscard]] constexpr Case spared() const { return with(&Case::must, Must::kSpare); }
  [[nodiscard]] constexpr Case accepted() const { return with(&Case::must, Must::kAccept); }
  [[nodiscard]] constexpr Case listed(std::string_view probability) const {
    return with(&Case::must, Must::kList).with(&Case::chance, probability);
  }
};

std::span<const Case> cases();

}  // namespace hone::hostile
