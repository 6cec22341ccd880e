#include "engine/plugin/abi_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "engine/plugin/table.hpp"

namespace hone::plugin_host {
namespace {

void set(std::int64_t (&to)[3], const std::array<std::int64_t, 3>& from) { std::ranges::copy(from, to); }

hone_pass pass_to_c(const PassLaunch& pass, const std::string& symbol) {
  hone_pass made{};
  set(made.grid, pass.grid);
  set(made.block, pass.block);
  set(made.cluster, pass.cluster);
  made.shared_bytes = pass.shared_bytes;
  made.cooperative = pass.cooperative ? 1 : 0;
  made.symbol = symbol.c_str();
  made.arguments = pass.arguments.data();
  made.argument_count = pass.arguments.size();
  made.extent = pass.extent;
  return made;
}

Result<std::vector<hone_constant>> constants_to_c(const hone_device& table, std::span<const PassLaunch> plan) {
  std::vector<hone_constant> made;
  for (const PassLaunch& pass : plan) {
    for (const ConstantCopy& constant : pass.constants) {
      if (table.copies_constants == 0) {
        return device_error(table, "load", ErrorCode::kLaunch,
                            fmt::format("the kernel has '{}' in constant memory (CONSTANT), and this device does not support copies to it",
                                        constant.symbol));
      }
      made.push_back({constant.symbol.c_str(), constant.argument, static_cast<std::size_t>(constant.bytes)});
    }
  }
  return made;
}

hone_tensor_map map_to_c(const TensorMap& map) {
  static_assert(TensorMap::kMostAxes == HONE_TENSOR_AXES);
  hone_tensor_map made{};
  made.argument = map.argument;
  made.dtype = static_cast<std::int32_t>(map.element);
  made.axis_count = map.axes;
  std::ranges::copy(map.size, made.size);
  std::ranges::copy(map.box, made.box);
  std::ranges::copy(map.stride_bytes, made.stride_bytes);
  made.swizzle_bytes = map.swizzle;
  made.l2_bytes = map.l2;
  made.offset_bytes = map.offset_bytes;
  return made;
}

bool has_overlap(const hone_device& table) { return table.launch_passes != nullptr && table.invert != nullptr; }

/// The details of each pass; they point into `maps`.
std::vector<hone_pass_details> details_to_c(const hone_device& table, std::span<const PassLaunch> plan,
                                            std::vector<std::vector<hone_tensor_map>>& maps) {
  std::vector<hone_pass_details> made;
  for (const PassLaunch& pass : plan) {
    std::vector<hone_tensor_map>& of_pass = maps.emplace_back();
    std::ranges::transform(pass.tensor_maps, std::back_inserter(of_pass), map_to_c);
    made.push_back({.overlap = pass.overlap && has_overlap(table) ? 1 : 0,
                    .run_index = pass.run_index,
                    .tensor_maps = of_pass.data(),  // which moves along with the vector
                    .tensor_map_count = of_pass.size()});
  }
  return made;
}

/// What the pass needs and the device does not have.
Result<void> check_supported(const hone_device& table, const PassLaunch& pass) {
  if (!pass.tensor_maps.empty() && table.encodes_tensor_maps == 0) {
    return device_error(table, "load", ErrorCode::kLaunch, "the kernel has tensor maps (TENSOR_MAP), and this device does not encode them");
  }
  const bool repeats = !pass.exchanged.empty() || std::ranges::find(pass.arguments, kRunIndexParameter) != pass.arguments.end();
  if (repeats && table.repeats_passes == 0) {
    return device_error(table, "load", ErrorCode::kLaunch, "the kernel has RUN_INDEX or .then, and this device does not repeat passes");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Buffer>> AbiBuffer::create(std::shared_ptr<const OpenDevice> device, std::size_t bytes) {
  const hone_device& table = device->table();
  HONE_ASSIGN(void* const address, make(table, "allocate", ErrorCode::kUnavailable, [&](void** made, hone_message* message) {
                return table.allocate(device->handle(), std::max<std::size_t>(bytes, 1), made, message);
              }));
  return std::unique_ptr<Buffer>(std::make_unique<AbiBuffer>(std::move(device), address, bytes));
}

AbiBuffer::~AbiBuffer() {
  guarded_end([this] { device_->table().release(device_->handle(), address_); });
}

Result<std::unique_ptr<LoadedKernel>> AbiKernel::load(std::shared_ptr<const OpenDevice> device, const Compiled& compiled,
                                                      std::span<const PassLaunch> plan, const Problem& problem) {
  const hone_device& table = device->table();
  std::vector<hone_pass> passes;
  for (const PassLaunch& pass : plan) {
    if (pass.symbol >= compiled.symbols.size()) {
      return device_error(table, "load", ErrorCode::kLaunch, "the compiled kernel lacks a symbol; tune again to replace it");
    }
    HONE_TRY(check_supported(table, pass));
    passes.push_back(pass_to_c(pass, compiled.symbols[pass.symbol]));
  }
  std::vector<std::int64_t> fields;
  for (const auto& [field, value] : problem.shape) {
    fields.push_back(value);
  }
  if (!plan.empty() && !plan.front().problem.empty()) {
    fields = plan.front().fields;
  }
  HONE_ASSIGN(const std::vector<hone_constant> constants, constants_to_c(table, plan));
  std::vector<std::vector<hone_tensor_map>> maps;
  const std::vector<hone_pass_details> details = details_to_c(table, plan, maps);
  const hone_load_request request{.struct_size = sizeof(hone_load_request),
                                  .bytes = compiled.artifact->bytes.data(),
                                  .byte_count = compiled.artifact->bytes.size(),
                                  .digest = compiled.artifact->digest.c_str(),
                                  .passes = passes.data(),
                                  .pass_count = passes.size(),
                                  .problem = fields.data(),
                                  .problem_count = fields.size(),
                                  .pass_stride = sizeof(hone_pass),
                                  .constants = constants.data(),
                                  .constant_count = constants.size(),
                                  .constant_stride = sizeof(hone_constant),
                                  .details = details.data(),
                                  .detail_stride = sizeof(hone_pass_details),
                                  .tensor_map_stride = sizeof(hone_tensor_map)};
  HONE_ASSIGN(void* const handle, make(table, "load", ErrorCode::kLaunch, [&](void** made, hone_message* message) {
                return table.load(device->handle(), &request, made, message);
              }));
  std::vector<bool> overlaps;
  std::ranges::transform(details, std::back_inserter(overlaps), [](const hone_pass_details& pass) { return pass.overlap != 0; });
  return std::unique_ptr<LoadedKernel>(std::make_unique<AbiKernel>(std::move(device), handle, compiled.resources, std::move(overlaps)));
}

AbiKernel::~AbiKernel() {
  guarded_end([this] { device_->table().unload(device_->handle(), handle_); });
}

Result<void> AbiKernel::launch(void* stream, std::span<void* const> arguments) const {
  return call(device_->table(), "launch", ErrorCode::kLaunch,
              [&](hone_message* message) { return device_->table().launch(handle_, stream, arguments.data(), message); });
}

Result<void> AbiKernel::launch_passes(void* stream, std::span<void* const> arguments, std::size_t first, std::size_t count) const {
  const hone_device& table = device_->table();
  if (table.launch_passes == nullptr) {
    return LoadedKernel::launch_passes(stream, arguments, first, count);
  }
  return call(table, "launch_passes", ErrorCode::kLaunch,
              [&](hone_message* message) { return table.launch_passes(handle_, stream, arguments.data(), first, count, message); });
}

Resources AbiKernel::resources() const {
  const hone_device& table = device_->table();
  InRoom<hone_resources> seen;
  if (table.resources == nullptr ||
      !call(table, "resources", ErrorCode::kPlugin, [&](hone_message* message) { return table.resources(handle_, seen.get(), message); })) {
    return compiled_;
  }
  return {seen->registers, seen->spill_bytes, seen->stack_bytes, seen->shared_bytes, seen->occupancy};
}

}  // namespace hone::plugin_host
