#include "engine/store/member_values.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <system_error>

#include "engine/store/logarithm.hpp"

namespace hone {

MemberValues values_of(std::string_view configuration) {
  MemberValues values;
  while (!configuration.empty()) {
    std::string_view text = configuration.substr(0, configuration.find(','));
    configuration.remove_prefix(std::min(configuration.size(), text.size() + 1));
    text.remove_prefix(std::min(text.size(), text.find('=') + 1));  // npos + 1 is 0
    double number = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_number = error == std::errc() && end == text.data() + text.size() && number > 0.0 && std::isfinite(number);
    values.texts.push_back(text);
    values.logarithms.push_back(is_number ? logarithm(number) / kLn2 : std::numeric_limits<double>::quiet_NaN());
  }
  return values;
}

double difference(const MemberValues& a, const MemberValues& b) {
  constexpr double kMostFactor = 3.0;  // of two
  if (a.texts.size() != b.texts.size()) {
    return std::numeric_limits<double>::infinity();
  }
  double sum = 0.0;
  for (std::size_t i = 0; i < a.texts.size(); ++i) {
    if (a.texts[i] != b.texts[i]) {
      const double factor = std::abs(a.logarithms[i] - b.logarithms[i]);
      sum += 0.5 + (std::isnan(factor) ? 1.0 : std::min(kMostFactor, factor)) / (2.0 * kMostFactor);
    }
  }
  return sum;
}

}  // namespace hone
