#include "engine/tune/wanted_shapes.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/tune/range_knowledge.hpp"

namespace hone {

WantedShapes wanted_shapes(const PortfolioRequest& request, const RangeKnowledge& knowledge, std::int64_t generation) {
  constexpr std::size_t kNamed = 5;
  constexpr std::uint64_t kProbes = 256;
  std::size_t probes = 0, wanted = 0, unserved = 0;
  WantedShapes all;
  for (std::uint64_t i = 0; i < kProbes; ++i) {
    const Shape shape = draw(request.range, i);
    const Result<Problem> problem = knowledge.shapes().problem_at(shape);
    if (!problem || knowledge.shapes().is_held_out(shape) ||
        argument_bytes(*request.operation->definition, *problem) > request.most_bytes || !knowledge.shapes().may_be_legal(*problem)) {
      continue;
    }
    ++probes;
    const std::optional<Opinion> choice = knowledge.choice(shape, *problem);
    if (!choice) {
      ++unserved;
      continue;
    }
    const Prediction prediction{std::exp(choice->slowdown), std::expm1(choice->doubt), generation, false, knowledge.portfolio().product};
    if (prediction.wants_tuning() && !knowledge.table().holds(shape)) {
      ++wanted;
      if (std::ranges::find(all.named, shape, &WantedShape::shape) == all.named.end()) {
        all.named.push_back({shape, prediction});
      }
    }
  }
  all.wants_tuning = static_cast<double>(wanted + unserved) / static_cast<double>(std::max<std::size_t>(1, probes));
  all.unserved = static_cast<double>(unserved) / static_cast<double>(std::max<std::size_t>(1, probes));
  const auto need = [](const WantedShape& one) { return -one.prediction.slowdown * (1.0 + one.prediction.doubt); };
  std::ranges::stable_sort(all.named, {}, need);
  all.named.resize(std::min(kNamed, all.named.size()));
  return all;
}

}  // namespace hone
