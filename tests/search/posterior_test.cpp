#include "search/posterior.hpp"

#include <cmath>

#include "tests/search/grid.hpp"

namespace {

using namespace hone;
using namespace hone::search;
using test::counting;
using test::Grid;

/// A posterior over a small grid, the observations and a trend to tell it of.
struct Observed {
  Grid grid{{counting(5), counting(4)}};
  Metric metric{grid.space(), false};
  Candidates candidates{grid.space()};
  Hyper hyper = [this] {
    Hyper prior = metric.centre();
    prior.insert(prior.end(), {0.3, -5.0});
    return prior;
  }();
  std::vector<std::size_t> observed{0, 7, 12, 13, 19};
  std::vector<double> y{1.0, -0.5, 0.25, 0.5, 2.0};

  [[nodiscard]] std::vector<float> trend() const {
    std::vector<float> values;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      values.push_back(0.1F * static_cast<float>(i % 7));
    }
    return values;
  }
  [[nodiscard]] Posterior fresh() const {
    Posterior posterior(metric);
    posterior.candidates(candidates);
    posterior.reset(hyper, {trend()});
    return posterior;
  }
  [[nodiscard]] Posterior::Observed seen_at(std::size_t i, std::vector<double> trends = {}) const {
    return {grid.space().at(i), std::move(trends)};
  }
  void add(Posterior& posterior, std::size_t i) const { posterior.add({seen_at(i, {static_cast<double>(trend()[i])})}); }

  [[nodiscard]] double covariance(std::size_t a, std::size_t b) const {
    double squared = 0.0, slope = 0.0;
    for (std::size_t term = 0; term < metric.terms(); ++term) {
      squared += std::exp(hyper[term]) * static_cast<double>(metric.difference(term, candidates.digits(a), candidates.digits(b)));
    }
    return std::exp(hyper[metric.terms()]) * matern(squared, slope) + static_cast<double>(trend()[a]) * static_cast<double>(trend()[b]);
  }
};

/// x of A x = b by elimination: the textbook's way, to compare with.
std::vector<double> solved(std::vector<std::vector<double>> a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) {
        a[i][j] -= factor * a[k][j];
      }
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) {
      b[k] -= a[k][j] * b[j];
    }
    b[k] /= a[k][k];
  }
  return b;
}

}  // namespace

TEST_CASE("Means and variances are those of a dense solve") {
  const Observed setup;
  Posterior posterior = setup.fresh();
  std::vector<std::vector<double>> among;
  for (const std::size_t i : setup.observed) {
    setup.add(posterior, i);
    auto& row = among.emplace_back();
    for (const std::size_t j : setup.observed) {
      row.push_back(setup.covariance(i, j) + (i == j ? std::exp(setup.hyper.back()) + kJitter : 0.0));
    }
  }
  std::vector<float> mean;
  posterior.means(setup.y, mean);
  for (std::size_t c = 0; c < setup.candidates.size(); ++c) {
    CAPTURE(c);
    std::vector<double> with;
    for (const std::size_t i : setup.observed) {
      with.push_back(setup.covariance(c, i));
    }
    const double expected = dot(with.data(), solved(among, setup.y).data(), with.size());
    CHECK(static_cast<double>(mean[c]) == doctest::Approx(expected).epsilon(1e-3));
    const double variance = setup.covariance(c, c) - dot(with.data(), solved(among, with).data(), with.size());
    CHECK(static_cast<double>(posterior.variance()[c]) == doctest::Approx(variance).epsilon(1e-3));
  }
}

TEST_CASE("What is added and taken back leaves no trace") {
  const Observed setup;
  Posterior fresh = setup.fresh(), changed = setup.fresh();
  for (const std::size_t i : setup.observed) {
    setup.add(fresh, i);
  }
  for (const std::size_t i : {0, 7}) {
    setup.add(changed, i);
  }
  for (const std::size_t i : {3, 4, 5}) {
    setup.add(changed, i);
  }
  for (int times = 0; times < 3; ++times) {
    changed.pop();
  }
  for (const std::size_t i : {12, 13, 19}) {
    setup.add(changed, i);
  }
  REQUIRE(changed.size() == fresh.size());
  std::vector<float> mean, expected;
  changed.means(setup.y, mean);
  fresh.means(setup.y, expected);
  for (std::size_t c = 0; c < mean.size(); ++c) {
    CHECK(mean[c] == doctest::Approx(expected[c]).epsilon(1e-4));
    CHECK(changed.variance()[c] == doctest::Approx(fresh.variance()[c]).epsilon(1e-3));
  }
}

TEST_CASE("Fantasies at their mean change no mean") {
  const Observed setup;
  Posterior posterior = setup.fresh();
  for (const std::size_t i : setup.observed) {
    setup.add(posterior, i);
  }
  std::vector<float> before, after;
  posterior.means(setup.y, before);
  const float unsure = posterior.variance()[4];
  setup.add(posterior, 4);
  posterior.means(setup.y, after);
  CHECK((before == after));
  CHECK(posterior.variance()[4] < 0.2F * unsure);
}

TEST_CASE("Many observations at once are the same as one by one, beyond a tile of candidates too") {
  const Grid grid({counting(40), counting(70)});
  const Metric metric(grid.space(), false);
  const Candidates candidates(grid.space());
  Hyper hyper = metric.centre();
  hyper.insert(hyper.end(), {0.3, -5.0});
  Posterior single(metric), many(metric);
  std::vector<Posterior::Observed> all;
  for (Posterior* posterior : {&single, &many}) {
    posterior->candidates(candidates);
    posterior->reset(hyper);
  }
  for (std::size_t i = 5; i < candidates.size(); i += 391) {
    all.push_back({grid.space().at(i), {}});
    single.add({all.back()});
  }
  many.add(all);
  std::vector<float> one_by_one, at_once;
  const std::vector<double> y(all.size(), 1.5);
  single.means(y, one_by_one);
  many.means(y, at_once);
  CHECK((one_by_one == at_once));
  CHECK((single.variance() == many.variance()));
  CHECK(many.variance()[5] < 0.01F);
}

TEST_CASE("Means go on from what earlier targets made of them") {
  const Observed setup;
  Posterior posterior = setup.fresh();
  std::vector<float> mean, all;
  for (std::size_t i = 0; i < setup.y.size(); ++i) {
    setup.add(posterior, setup.observed[i]);
    posterior.means({setup.y.begin(), setup.y.begin() + static_cast<std::ptrdiff_t>(i) + 1}, mean, i);
  }
  posterior.means(setup.y, all);
  for (std::size_t c = 0; c < all.size(); ++c) {
    CHECK(mean[c] == doctest::Approx(all[c]).epsilon(1e-4));
  }
}

TEST_CASE("Weights and correlations give the means without variances, and need no candidates") {
  const Observed setup;
  Posterior with = setup.fresh(), without(setup.metric);
  with.reset(setup.hyper);
  without.reset(setup.hyper);
  for (const std::size_t i : setup.observed) {
    with.add({setup.seen_at(i)});
    without.add({setup.seen_at(i)});
  }
  std::vector<float> mean, row, sum(setup.candidates.size(), 0.0F);
  with.means(setup.y, mean);
  const std::vector<double> weights = without.weights(setup.y);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    with.correlations(setup.candidates.digits(setup.observed[i]), row);
    for (std::size_t c = 0; c < sum.size(); ++c) {
      sum[c] += static_cast<float>(weights[i]) * row[c];
    }
  }
  for (std::size_t c = 0; c < sum.size(); ++c) {
    CHECK(sum[c] == doctest::Approx(mean[c]).epsilon(1e-3));
  }
}

TEST_CASE("A space without parameters has a posterior") {
  const Grid grid({});
  const Metric metric(grid.space(), true);
  const Candidates candidates(grid.space());
  Posterior posterior(metric);
  posterior.candidates(candidates);
  posterior.reset({0.0, std::log(1e-3)});
  posterior.add({{}});
  CHECK(posterior.variance().front() == doctest::Approx(1e-3).epsilon(0.05));
}
