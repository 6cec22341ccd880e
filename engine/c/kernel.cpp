// What a lookup found, for who wants to know.
#include "engine/c/kernel.hpp"

#include <algorithm>

#include "engine/runtime/access.hpp"

namespace hone::c {
namespace {

static_assert(static_cast<int>(Source::kExact) == HONE_SOURCE_EXACT && static_cast<int>(Source::kDefault) == HONE_SOURCE_DEFAULT);
static_assert(static_cast<int>(Value::Kind::kInteger) == HONE_VALUE_INTEGER && static_cast<int>(Value::Kind::kReal) == HONE_VALUE_REAL);

hone_kernel_info info_of(const Prepared& prepared) {
  hone_kernel_info info{};
  info.kernel = prepared.name.c_str();
  info.dtypes = prepared.dtypes.c_str();
  info.configuration = prepared.configuration.c_str();
  info.why = prepared.why.c_str();
  info.portfolio_product = info.portfolio_made_for = "";
  info.source = static_cast<std::int32_t>(prepared.choice.source);
  info.superseded = prepared.superseded.load(std::memory_order_relaxed) ? 1 : 0;
  info.setting_count = prepared.parameters.size();
  info.extent_count = prepared.problem.shape.size();
  info.tuned_extent_count = prepared.tuned_shape.size();
  info.stale_count = prepared.stale.size();
  info.argument_count = prepared.passed.size();
  if (const std::optional<Prediction>& expected = prepared.choice.prediction) {
    info.slowdown = expected->slowdown;
    info.doubt = expected->doubt;
    info.portfolio = expected->generation;
    info.portfolio_shipped = expected->shipped ? 1 : 0;
    info.wants_tuning = expected->wants_tuning() ? 1 : 0;
    info.portfolio_product = expected->product.c_str();
    info.portfolio_made_for = expected->made_for.c_str();
  }
  return info;
}

void write_setting(const Prepared& prepared, std::size_t index, hone_setting* setting) {
  const Value& value = prepared.choice.configuration.values.at(index);
  write_struct({.size = 0,
                .name = prepared.parameters[index].name.c_str(),
                .kind = static_cast<std::int32_t>(value.kind()),
                .reserved = 0,
                .integer = value.integer(),
                .real = value.real()},
               setting, "setting");
}

Result<void> write_extent(const Shape& shape, std::size_t index, hone_extent* extent) {
  need(extent, "extent");
  HONE_ASSIGN(const auto* const found, element(shape, index, "extent"));
  *extent = {found->first.c_str(), found->second};
  return {};
}

std::int32_t role_of(Direction direction) {
  switch (direction) {
    case Direction::kIn:
      return HONE_ROLE_IN;
    case Direction::kOut:
      return HONE_ROLE_OUT;
    case Direction::kInOut:
      return HONE_ROLE_INOUT;
    case Direction::kWorkspace:
    case Direction::kScalar:
      break;
  }
  return HONE_ROLE_SCALAR;
}

}  // namespace
}  // namespace hone::c

using namespace hone;

const char* hone_source_name(int32_t source) {
  // Names are literals, with the zero that ends them.
  return source >= HONE_SOURCE_EXACT && source <= HONE_SOURCE_DEFAULT ? name(static_cast<Source>(source)).data() : "";
}

hone_status hone_kernel_describe(const hone_kernel* kernel, hone_kernel_info* info, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    c::write_struct(c::info_of(Access::prepared(c::kernel_of(kernel))), info, "info");
    return {};
  });
}

int32_t hone_kernel_superseded(const hone_kernel* kernel) { return kernel != nullptr && c::kernel_of(kernel).superseded() ? 1 : 0; }

hone_status hone_kernel_setting(const hone_kernel* kernel, size_t index, hone_setting* setting, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    const Prepared& prepared = Access::prepared(c::kernel_of(kernel));
    HONE_TRY(c::element(prepared.parameters, index, "setting"));
    c::write_setting(prepared, index, setting);
    return {};
  });
}

hone_status hone_kernel_setting_named(const hone_kernel* kernel, const char* name, hone_setting* setting, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    const Prepared& prepared = Access::prepared(c::kernel_of(kernel));
    c::need(name, "name");
    const auto found = std::ranges::find(prepared.parameters, name, &Parameter::name);
    if (found == prepared.parameters.end()) {
      return Error{ErrorCode::kNotFound,
                   fmt::format("{} has no parameter '{}': its configuration is {}", prepared.name, name, prepared.configuration)};
    }
    c::write_setting(prepared, static_cast<std::size_t>(found - prepared.parameters.begin()), setting);
    return {};
  });
}

hone_status hone_kernel_extent(const hone_kernel* kernel, size_t index, hone_extent* extent, hone_error** error) {
  return c::call(error, __func__, [&] { return c::write_extent(c::kernel_of(kernel).problem().shape, index, extent); });
}

hone_status hone_kernel_tuned_extent(const hone_kernel* kernel, size_t index, hone_extent* extent, hone_error** error) {
  return c::call(error, __func__, [&] { return c::write_extent(c::kernel_of(kernel).tuned_shape(), index, extent); });
}

hone_status hone_kernel_stale(const hone_kernel* kernel, size_t index, hone_staleness* staleness, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    HONE_ASSIGN(const Staleness* const found, c::element(c::kernel_of(kernel).stale(), index, "change"));
    c::write_struct({.size = 0, .what = found->what.c_str(), .then = found->then.c_str(), .now = found->now.c_str()}, staleness,
                    "staleness");
    return {};
  });
}

hone_status hone_kernel_argument(const hone_kernel* kernel, size_t index, hone_argument_info* info, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    const Prepared& prepared = Access::prepared(c::kernel_of(kernel));
    HONE_ASSIGN(const PassedArgument* const passed, c::element(prepared.passed, index, "argument"));
    const LaunchArgument& argument = prepared.arguments[passed->index];
    c::write_struct({.size = 0,
                     .name = argument.name.c_str(),
                     .role = c::role_of(argument.direction),
                     .type = static_cast<hone_type>(argument.dtype) + 1,
                     .elements = passed->pointer ? prepared.extents[passed->index] : 1,
                     .bytes = passed->pointer ? passed->least_bytes : argument.bytes},
                    info, "info");
    return {};
  });
}
