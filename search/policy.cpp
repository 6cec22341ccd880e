#include "search/policy.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <span>

#include "search/fast_exp.hpp"
#include "search/wide.hpp"

namespace hone::search {

using plugin::Digits;

namespace {

constexpr std::size_t kMostContext = 600;  // values in all, beyond which dimensions are drawn independently: pairs are too many to learn
constexpr float kPairRate = 0.5F;          // pairs are many and each is seen rarely
constexpr int kDecimals = 6;
constexpr int kMarginalDraws = 300;
constexpr double kMostLogit = 6;  // of a loaded policy: no value may be lost for good

constexpr std::size_t kLanes = 32;  // numbers at a time; a loop of 16 the compiler would unroll, not vectorise

/// `count`: of whole lanes.
inline void add_lanes(const float* values, std::size_t count, float* sums) {
  for (std::size_t first = 0; first < count; first += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      sums[first + lane] += values[first + lane];
    }
  }
}

HONE_WIDE void add_row(const float* row, std::size_t count, float* sums) { add_lanes(row, count, sums); }

/// Rows of `table` as long as `sums`.
HONE_WIDE void add_rows(const float* table, const std::vector<std::size_t>& rows, std::vector<float>& sums) {
  for (const std::size_t row : rows) {
    add_lanes(table + row * sums.size(), sums.size(), sums.data());
  }
}

/// Of each row of `table` from a begin of its own on.
HONE_WIDE void add_to_rows(const std::vector<float>& values, float scale, const std::vector<std::size_t>& rows,
                           const std::vector<std::size_t>& begins, float* table) {
  for (std::size_t r = 0; r < rows.size(); ++r) {
    float* const row = table + rows[r] * values.size();
    for (std::size_t i = begins[r]; i < values.size(); ++i) {
      row[i] += scale * values[i];
    }
  }
}

/// Moves numbers towards others.
HONE_WIDE void draw_towards(const float* others, float rate, std::size_t count, float* values) {
  for (std::size_t i = 0; i < count; ++i) {
    values[i] += rate * (others[i] - values[i]);
  }
}

HONE_WIDE void exponentiate(std::size_t count, float* values) {
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = fast_exp(values[i]);
  }
}

void normalize(std::span<float> chances) {
  const float share = 1.0F / std::accumulate(chances.begin(), chances.end(), 0.0F);
  for (float& chance : chances) {
    chance *= share;
  }
}

}  // namespace

Policy::Policy(plugin::Space space, double smoothing) : space_(space), smoothing_(static_cast<float>(smoothing)) {
  for (std::size_t d = 0; d < space.dimensions(); ++d) {
    offsets_.push_back(values_);
    values_ += space.dimension(d).count;
  }
  ends_ = offsets_;
  ends_.push_back(values_);
  ends_.erase(ends_.begin());
  lone_.assign((values_ + kLanes - 1) / kLanes * kLanes, 0.0F);
  pair_.assign(values_ <= kMostContext ? values_ * lone_.size() : 0, 0.0F);
  anchor();
}

void Policy::anchor() {
  lone_anchor_ = lone_;
  pair_anchor_ = pair_;
}

Digits Policy::draw(plugin::Random& random) const {
  Digits digits(space_.dimensions());
  chances_ = lone_;
  for (std::size_t d = 0; d < digits.size(); ++d) {
    const std::span<float> own(&chances_[offsets_[d]], space_.dimension(d).count);
    const float largest = *std::ranges::max_element(own);
    float all = 0.0F;
    for (float& chance : own) {
      chance = fast_exp(chance - largest);
      all += chance;
    }
    double left = random.unit() * static_cast<double>(all);
    std::size_t v = 0;
    while (v + 1 < own.size() && (left -= static_cast<double>(own[v])) >= 0) {
      ++v;
    }
    digits[d] = static_cast<std::uint16_t>(v);
    if (!pair_.empty()) {
      add_row(&pair_[(offsets_[d] + v) * lone_.size()], lone_.size(), chances_.data());
    }
  }
  return digits;
}

double Policy::distribute(const Digits& digits) const {
  chances_ = lone_;
  rows_ = offsets_;
  for (std::size_t d = 0; d < digits.size(); ++d) {
    rows_[d] += digits[d];
  }
  if (!pair_.empty()) {
    add_rows(pair_.data(), rows_, chances_);
  }
  for (std::size_t d = 0; d < digits.size(); ++d) {
    const std::span<float> own(&chances_[offsets_[d]], space_.dimension(d).count);
    const float largest = *std::ranges::max_element(own);
    std::ranges::transform(own, own.begin(), [=](float weight) { return weight - largest; });
  }
  exponentiate(values_, chances_.data());
  double product = 1.0;
  for (std::size_t d = 0; d < digits.size(); ++d) {
    const std::span<float> own(&chances_[offsets_[d]], space_.dimension(d).count);
    normalize(own);
    product *= static_cast<double>(own[digits[d]]);
  }
  return std::log(std::max(product, 1e-300));
}

double Policy::log_probability(const Digits& digits) const { return distribute(digits); }

/// After `distribute`, whose chances it makes the gradient.
void Policy::step(const Digits& digits, double weight) {
  const auto scale = static_cast<float>(weight);
  for (float& chance : chances_) {
    chance *= -scale;
  }
  for (std::size_t d = 0; d < digits.size(); ++d) {
    const std::size_t count = space_.dimension(d).count, v = digits[d];
    const std::span<float> own(&chances_[offsets_[d]], count);
    float here = scale;
    if (space_.dimension(d).kind == HONE_ORDINAL && count > 2) {
      const float beside = scale * smoothing_ / 2.0F;
      for (const std::size_t next : {v - 1, v + 1}) {  // below 0 wraps to a number that is too large
        if (next < count) {
          own[next] += beside;
          here -= beside;
        }
      }
    }
    own[v] += here;
  }
  add_row(chances_.data(), lone_.size(), lone_.data());
  if (!pair_.empty()) {
    add_to_rows(chances_, kPairRate, rows_, ends_, pair_.data());
  }
}

void Policy::relax(double rate) {
  draw_towards(lone_anchor_.data(), static_cast<float>(rate), lone_.size(), lone_.data());
  draw_towards(pair_anchor_.data(), static_cast<float>(rate), pair_.size(), pair_.data());
}

std::string Policy::save() const {
  // What is learned of a value after others means little elsewhere; how often the value is drawn in all does.
  std::vector<double> often(values_, 0.0);
  plugin::Random random(0);
  for (int i = 0; i < kMarginalDraws; ++i) {
    distribute(draw(random));
    for (std::size_t v = 0; v < often.size(); ++v) {
      often[v] += static_cast<double>(chances_[v]) / kMarginalDraws;
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
  return values_;
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
    if (number && std::isfinite(logit) && value < values_) {
      lone_[value] = static_cast<float>(std::clamp(logit, -kMostLogit, kMostLogit));
      any = true;
    }
  }
  return any;
}

}  // namespace hone::search
