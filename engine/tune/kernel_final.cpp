#include "engine/tune/kernel_final.hpp"

#include <algorithm>

#include "engine/measure/measure.hpp"

namespace hone {
namespace {

constexpr double kCloseMargin = 1.05;
constexpr int kTurnsEach = 3;
constexpr double kLeastTurn = 0.02, kMostTurn = 0.1;  // seconds

}  // namespace

Result<void> time_in_turns(std::span<KernelFinalist> finalists, double seconds) {
  const auto us = [](const KernelFinalist& finalist) { return finalist.measured.median_us; };
  const auto fastest = std::ranges::min_element(finalists, {}, us);
  const bool graphs = std::ranges::any_of(finalists, [](const KernelFinalist& finalist) { return finalist.measured.by_graph; });
  std::vector<KernelFinalist*> close;
  for (KernelFinalist& finalist : finalists) {
    if (us(finalist) <= kCloseMargin * us(*fastest)) {
      close.push_back(&finalist);
    }
  }
  if (close.size() < 2) {
    return {};
  }
  std::vector<std::vector<double>> samples(close.size());
  const double turn_seconds = std::clamp(seconds / static_cast<double>(kTurnsEach * close.size()), kLeastTurn, kMostTurn);
  for (int turn = 0; turn < kTurnsEach; ++turn) {
    for (std::size_t i = 0; i < close.size(); ++i) {
      const Result<std::vector<double>> timed = close[i]->time_again(turn_seconds, graphs);
      if (!timed) {
        return timed.error().code == ErrorCode::kCancelled ? Result<void>(timed.error()) : Result<void>();
      }
      samples[i].insert(samples[i].end(), timed->begin(), timed->end());
    }
  }
  for (std::size_t i = 0; i < close.size(); ++i) {
    if (!samples[i].empty()) {
      const bool by_graph = close[i]->measured.by_graph || graphs;
      close[i]->measured = summarize(std::move(samples[i]));
      close[i]->measured.by_graph = by_graph;
    }
  }
  return {};
}

std::optional<std::size_t> pick(std::span<const KernelFinalist> finalists) {
  const auto fastest = std::ranges::min_element(finalists, {}, [](const KernelFinalist& finalist) { return finalist.measured.median_us; });
  if (fastest == finalists.end()) {
    return std::nullopt;
  }
  const auto standing = std::ranges::find_if(finalists, [&](const KernelFinalist& finalist) {
    return finalist.serves_already && finalist.measured.ci95_low_us <= fastest->measured.ci95_high_us;
  });
  return static_cast<std::size_t>((standing == finalists.end() ? fastest : standing) - finalists.begin());
}

}  // namespace hone
