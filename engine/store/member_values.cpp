#include "engine/store/member_values.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <system_error>

#include "engine/store/logarithm.hpp"

namespace hone {

std::vector<MemberValues> values_of(std::span<const std::string_view> configurations) {
  std::map<std::string_view, std::uint32_t> words;
  std::vector<MemberValues> all;
  for (std::string_view rest : configurations) {
    MemberValues& values = all.emplace_back();
    while (!rest.empty()) {
      std::string_view text = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), text.size() + 1));
      text.remove_prefix(std::min(text.size(), text.find('=') + 1));  // npos + 1 is 0
      double number = 0.0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      const bool is_number = error == std::errc() && end == text.data() + text.size() && number > 0.0 && std::isfinite(number);
      values.words.push_back(words.try_emplace(text, static_cast<std::uint32_t>(words.size())).first->second);
      values.logarithms.push_back(is_number ? logarithm(number) / kLn2 : std::numeric_limits<double>::quiet_NaN());
    }
  }
  return all;
}

double difference(const MemberValues& a, const MemberValues& b) {
  constexpr double kMostFactor = 3.0;  // of two
  if (a.words.size() != b.words.size()) {
    return std::numeric_limits<double>::infinity();
  }
  double sum = 0.0;
  for (std::size_t i = 0; i < a.words.size(); ++i) {
    if (a.words[i] != b.words[i]) {
      const double factor = std::abs(a.logarithms[i] - b.logarithms[i]);
      sum += 0.5 + (std::isnan(factor) ? 1.0 : std::min(kMostFactor, factor)) / (2.0 * kMostFactor);
    }
  }
  return sum;
}

}  // namespace hone
