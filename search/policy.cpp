#include "search/policy.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

namespace hone::search {

using plugin::Digits;

namespace {

constexpr std::size_t kMostContext = 600;  // values in all, beyond which dimensions are drawn independently: pairs are too many to learn
constexpr double kPairRate = 0.5;          // pairs are many and each is seen rarely
constexpr int kDecimals = 6;
constexpr int kMarginalDraws = 300;
constexpr double kMostLogit = 6;  // of a loaded policy: no value may be lost for good

}  // namespace

Policy::Policy(plugin::Space space, double smoothing) : space_(space), smoothing_(smoothing) {
  std::size_t values = 0;
  for (std::size_t d = 0; d < space.dimensions(); ++d) {
    offsets_.push_back(values);
    values += space.dimension(d).count;
  }
  lone_.assign(values, 0.0);
  pair_.assign(values <= kMostContext ? values * values : 0, 0.0);
  anchor();
}

void Policy::anchor() {
  lone_anchor_ = lone_;
  pair_anchor_ = pair_;
}

void Policy::probabilities(const Digits& digits, std::size_t d, double temperature, std::vector<double>& into) const {
  const std::size_t count = space_.dimension(d).count;
  const auto own = lone_.begin() + static_cast<std::ptrdiff_t>(offsets_[d]);
  into.assign(own, own + static_cast<std::ptrdiff_t>(count));
  for (std::size_t before = 0; before < d && !pair_.empty(); ++before) {
    const double* weights = after(offsets_[before] + digits[before], d);
    for (std::size_t v = 0; v < count; ++v) {
      into[v] += weights[v];
    }
  }
  const double largest = *std::ranges::max_element(into);
  double sum = 0.0;
  for (double& weight : into) {
    weight = std::exp((weight - largest) / temperature);
    sum += weight;
  }
  for (double& weight : into) {
    weight /= sum;
  }
}

Digits Policy::draw(plugin::Random& random, double temperature) const {
  Digits digits(space_.dimensions());
  std::vector<double> chances;
  for (std::size_t d = 0; d < digits.size(); ++d) {
    probabilities(digits, d, temperature, chances);
    double left = random.unit();
    std::size_t v = 0;
    while (v + 1 < chances.size() && (left -= chances[v]) >= 0) {
      ++v;
    }
    digits[d] = static_cast<std::uint16_t>(v);
  }
  return digits;
}

double Policy::distribute(const Digits& digits) const {
  chances_ = lone_;
  const std::size_t values = lone_.size();
  for (std::size_t before = 0; before + 1 < digits.size() && !pair_.empty(); ++before) {
    const double* const weights = &pair_[(offsets_[before] + digits[before]) * values];
    double* const chances = chances_.data();
    for (std::size_t v = offsets_[before + 1]; v < values; ++v) {
      chances[v] += weights[v];
    }
  }
  double product = 1.0;
  for (std::size_t d = 0; d < digits.size(); ++d) {
    const std::span<double> own(&chances_[offsets_[d]], space_.dimension(d).count);
    const double largest = *std::ranges::max_element(own);
    double all = 0.0;
    for (double& chance : own) {
      chance = std::exp(chance - largest);
      all += chance;
    }
    for (double& chance : own) {
      chance /= all;
    }
    product *= own[digits[d]];
  }
  return std::log(std::max(product, 1e-300));
}

double Policy::log_probability(const Digits& digits) const { return distribute(digits); }

/// After `distribute`, whose chances it makes the gradient.
void Policy::step(const Digits& digits, double weight) {
  for (std::size_t d = 0; d < digits.size(); ++d) {
    const std::size_t count = space_.dimension(d).count, v = digits[d];
    const std::span<double> own(&chances_[offsets_[d]], count);
    for (double& chance : own) {
      chance *= -weight;
    }
    double here = weight;
    if (space_.dimension(d).kind == HONE_ORDINAL && count > 2) {
      const double beside = weight * smoothing_ / 2;
      for (const std::size_t next : {v - 1, v + 1}) {  // below 0 wraps to a number that is too large
        if (next < count) {
          own[next] += beside;
          here -= beside;
        }
      }
    }
    own[v] += here;
  }
  const std::size_t values = lone_.size();
  for (std::size_t i = 0; i < values; ++i) {
    lone_[i] += chances_[i];
  }
  for (std::size_t before = 0; before + 1 < digits.size() && !pair_.empty(); ++before) {
    double* const weights = &pair_[(offsets_[before] + digits[before]) * values];
    const double* const change = chances_.data();
    for (std::size_t i = offsets_[before + 1]; i < values; ++i) {
      weights[i] += kPairRate * change[i];
    }
  }
}

void Policy::relax(double rate) {
  for (std::size_t i = 0; i < lone_.size(); ++i) {
    lone_[i] += rate * (lone_anchor_[i] - lone_[i]);
  }
  for (std::size_t i = 0; i < pair_.size(); ++i) {
    pair_[i] += rate * (pair_anchor_[i] - pair_[i]);
  }
}

std::string Policy::save() const {
  // What is learned of a value after others means little elsewhere; how often the value is drawn in all does.
  std::vector<double> often(lone_.size(), 0.0), chances;
  plugin::Random random(0);
  for (int i = 0; i < kMarginalDraws; ++i) {
    const Digits digits = draw(random, 1.0);
    for (std::size_t d = 0; d < digits.size(); ++d) {
      probabilities(digits, d, 1.0, chances);
      for (std::size_t v = 0; v < chances.size(); ++v) {
        often[offsets_[d] + v] += chances[v] / kMarginalDraws;
      }
    }
  }
  std::string text;
  for (std::size_t d = 0; d < space_.dimensions(); ++d) {
    const hone_dimension& dimension = space_.dimension(d);
    for (std::size_t v = 0; v < dimension.count; ++v) {
      char number[32];
      const double logit = std::log(std::max(often[offsets_[d] + v] * dimension.count, 1e-9));
      const auto end = std::to_chars(number, number + sizeof(number), logit, std::chars_format::fixed, kDecimals).ptr;
      text.append(dimension.name).append("\t").append(dimension.labels[v]).append("\t").append(number, end).append("\n");
    }
  }
  return text;
}

std::size_t Policy::find(std::string_view name, std::string_view label) const {
  for (std::size_t d = 0; d < space_.dimensions(); ++d) {
    const hone_dimension& dimension = space_.dimension(d);
    for (std::size_t v = 0; v < dimension.count && name == dimension.name; ++v) {
      if (label == dimension.labels[v]) {
        return offsets_[d] + v;
      }
    }
  }
  return lone_.size();
}

bool Policy::load(std::string_view text) {
  bool any = false;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t first = line.find('\t'), last = line.rfind('\t');
    if (first == last) {
      continue;
    }
    double logit = 0.0;
    const bool number = std::from_chars(line.data() + last + 1, line.data() + line.size(), logit).ec == std::errc();
    const std::size_t value = find(line.substr(0, first), line.substr(first + 1, last - first - 1));
    if (number && std::isfinite(logit) && value < lone_.size()) {
      lone_[value] = std::clamp(logit, -kMostLogit, kMostLogit);
      any = true;
    }
  }
  return any;
}

}  // namespace hone::search
