#include "engine/tune/range_lanes.hpp"

#include <algorithm>

#include "engine/tune/evaluator.hpp"

namespace hone {

std::vector<TuneRequest> lanes_of(const PortfolioRequest& request) {
  const TuneRequest& common = request.common;
  const std::size_t devices = 1 + common.more_devices.size();
  const auto shapes = static_cast<std::size_t>(std::clamp(shapes_in(request.range), 1.0, static_cast<double>(devices)));
  const std::size_t count = common.workers || !common.device.info.compile_overlaps ? 1 : shapes;
  std::vector<TuneRequest> lanes(count, common);
  if (count == 1) {
    return lanes;
  }
  const int compilers = compile_workers(common);
  for (std::size_t i = 0; i < devices; ++i) {
    TuneRequest& lane = lanes[i % count];
    const DeviceInfo& info = i == 0 ? common.device.info : common.more_devices[i - 1];
    if (i < count) {
      lane.device.info = info;
      lane.more_devices.clear();
      lane.beside_others = true;
      lane.compile_workers = std::max(1, (compilers + static_cast<int>(i)) / static_cast<int>(count));  // the sum is all of them
    } else {
      lane.more_devices.push_back(info);
    }
  }
  return lanes;
}

}  // namespace hone
