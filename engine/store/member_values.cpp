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

std::vector<std::pair<std::string_view, std::string_view>> named_values(std::string_view configuration) {
  std::vector<std::pair<std::string_view, std::string_view>> all;
  while (!configuration.empty()) {
    const std::string_view one = configuration.substr(0, configuration.find(','));
    configuration.remove_prefix(std::min(configuration.size(), one.size() + 1));
    const std::size_t value = std::min(one.size(), one.find('=') + 1);  // npos + 1 is 0
    all.emplace_back(one.substr(0, value == 0 ? 0 : value - 1), one.substr(value));
  }
  return all;
}

std::vector<MemberValues> values_of(std::span<const std::string_view> configurations) {
  std::map<std::string_view, std::uint32_t> words;
  std::vector<MemberValues> all;
  for (const std::string_view configuration : configurations) {
    MemberValues& values = all.emplace_back();
    for (const auto& [name, text] : named_values(configuration)) {
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
