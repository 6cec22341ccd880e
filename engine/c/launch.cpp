// Launching with arguments whose types the caller says, or does not.
#include <array>

#include "engine/c/kernel.hpp"
#include "engine/runtime/access.hpp"

namespace hone::c {
namespace {

using detail::Passed;
using detail::PassedSpan;

// What a launch reads of memory, it reads from the caller's arguments as they are.
static_assert(sizeof(hone_argument::data) == sizeof(PassedSpan::data) && offsetof(hone_argument, data) == offsetof(PassedSpan, data));
static_assert(sizeof(hone_argument::bytes) == sizeof(PassedSpan::bytes) && offsetof(hone_argument, bytes) == offsetof(PassedSpan, bytes));

/// The type that a caller said, or that of the kernel file.
Passed passed(const hone_argument& argument, const LaunchArgument& planned, bool pointer) {
  Passed kind{.pointer = pointer, .span = pointer && argument.bytes > 0};
  if (argument.type != HONE_TYPE_ANY || !pointer) {
    kind.kind = Passed::Kind::kNamed;
    kind.size = static_cast<std::uint16_t>(argument.type != HONE_TYPE_ANY ? argument.type - 1 : static_cast<hone_type>(planned.dtype));
  }
  return kind;
}

/// What makes an argument one that nothing can be read from.
Error unreadable(const Prepared& prepared, std::size_t i, const hone_argument& argument) {
  const LaunchArgument& planned = prepared.arguments[prepared.passed[i].index];
  const bool no_type = argument.type < HONE_TYPE_ANY || argument.type > HONE_TYPE_U4X2;
  const std::string what = no_type ? fmt::format("{} is no HONE_TYPE", argument.type)
                           : argument.data == nullptr
                               ? fmt::format("`data` is NULL; it is the address of a value of {}", name(planned.dtype))
                               : fmt::format("`bytes` is {}; a value of {} has {}", argument.bytes, name(planned.dtype), planned.bytes);
  return {ErrorCode::kInvalidArgument, fmt::format("{}: argument {} ({}): {}", prepared.name, i, planned.name, what)};
}

Result<void> launch(const Kernel& kernel, void* stream, std::span<const hone_argument> arguments) {
  const Prepared& prepared = Access::prepared(kernel);
  if (arguments.size() != prepared.passed.size()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} takes {} arguments; {} were passed", prepared.name, prepared.passed.size(), arguments.size())};
  }
  std::array<void*, Kernel::kMostArguments> addresses;
  std::array<Passed, Kernel::kMostArguments> kinds;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const hone_argument& argument = arguments[i];
    const auto& [index, pointer, least_bytes] = prepared.passed[i];
    const LaunchArgument& planned = prepared.arguments[index];
    const bool is_type = argument.type >= HONE_TYPE_ANY && argument.type <= HONE_TYPE_U4X2;
    if (!is_type || (!pointer && (argument.data == nullptr || argument.bytes != planned.bytes))) {
      return unreadable(prepared, i, argument);
    }
    kinds[i] = passed(argument, planned, pointer);
    addresses[i] = const_cast<void*>(pointer ? static_cast<const void*>(&argument) : argument.data);
  }
  return Access::launch(kernel, stream, addresses.data(), std::span(kinds).first(arguments.size()));
}

}  // namespace
}  // namespace hone::c

hone_status hone_launch(const hone_kernel* kernel, void* stream, const hone_argument* arguments, size_t count, hone_error** error) {
  return hone::c::call(error, __func__, [&] {
    return hone::c::launch(hone::c::kernel_of(kernel), stream, hone::c::need_all(arguments, count, "arguments"));
  });
}
