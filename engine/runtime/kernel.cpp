// Launching: what is passed is held against the kernel file, and goes to the device.

#include <fmt/format.h>

#include <cstring>

#include "engine/runtime/launch_range.hpp"
#include "engine/runtime/prepared.hpp"
#include "engine/store/lookup.hpp"

namespace hone {
namespace {

using detail::Passed;

constexpr std::uintptr_t kAlignment = 16;

Error bad_argument(const Prepared& prepared, std::size_t i, std::size_t position, std::string_view what) {
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{}: argument {} ({}): {}", prepared.name, position, prepared.arguments[i].name, what)};
}

/// A scalar must have the type. A pointer is refused if it points to numbers of another size or kind.
bool accepts(DType dtype, bool scalar, Passed passed) {
  using Kind = Passed::Kind;
  if (passed.pointer == scalar) {
    return false;
  }
  if (passed.kind == Kind::kNamed) {
    return dtype == static_cast<DType>(passed.size);
  }
  const bool whole = is_integer(dtype), packed = dtype == DType::kI4x2 || dtype == DType::kU4x2;
  const bool has_cpp_type = whole ? !packed : dtype == DType::kF32 || dtype == DType::kF64;
  const Kind kind = dtype == DType::kBool         ? Kind::kBoolean
                    : !whole                      ? Kind::kReal
                    : range_of(dtype).least < 0.0 ? Kind::kSigned
                                                  : Kind::kUnsigned;
  const bool exact = passed.size == size_of(dtype) && (passed.kind == kind || (!has_cpp_type && passed.kind != Kind::kReal));
  // void*, structs of vectors, classes for half, and bytes for anything.
  const bool unknown = passed.kind == Kind::kOther || (passed.size == 1 && passed.kind != Kind::kBoolean);
  const bool same_size = passed.size == size_of(dtype) && (passed.kind == Kind::kReal) == (has_cpp_type && !whole);
  return scalar ? exact : unknown || same_size;
}

std::string type_text(Passed passed) {
  using Kind = Passed::Kind;
  const std::string element = passed.kind == Kind::kNamed      ? std::string(hone::name(static_cast<DType>(passed.size)))
                              : passed.kind == Kind::kBoolean  ? "bool"
                              : passed.kind == Kind::kReal     ? (passed.size == 4   ? "float"
                                                                  : passed.size == 8 ? "double"
                                                                                     : "long double")
                              : passed.kind == Kind::kSigned   ? fmt::format("int{}_t", 8 * passed.size)
                              : passed.kind == Kind::kUnsigned ? fmt::format("uint{}_t", 8 * passed.size)
                              : passed.size == 0               ? "void"
                                                               : fmt::format("a class of {} bytes", passed.size);
  return passed.span && passed.kind != Kind::kNamed ? fmt::format("std::span<{}>", element) : element + (passed.pointer ? "*" : "");
}

Result<void> check_type(const Prepared& prepared, std::size_t position, Passed passed) {
  const std::size_t i = prepared.passed[position].index;
  const LaunchArgument& argument = prepared.arguments[i];
  const bool scalar = argument.direction == Direction::kScalar;
  if (accepts(argument.dtype, scalar, passed)) {
    return {};
  }
  return bad_argument(
      prepared, i, position,
      fmt::format("{} was passed; its type in the kernel file is {}{}", type_text(passed), hone::name(argument.dtype), scalar ? "" : "*"));
}

/// Whether a pointer that is passed can be launched with: not null where there are elements, aligned, and a span long enough.
bool fits(const PassedArgument& argument, const Passed& passed, const void* value) {
  const auto* const given = static_cast<const detail::PassedSpan*>(value);  // begins like a pointer
  const bool is_null = given->data == nullptr && argument.least_bytes > 0;
  const bool is_odd = reinterpret_cast<std::uintptr_t>(given->data) % kAlignment != 0;
  return !is_null && !is_odd && (!passed.span || given->bytes >= argument.least_bytes);
}

/// What is wrong with a pointer that does not fit.
Error misfit(const Prepared& prepared, std::size_t position, const void* value) {
  const std::size_t i = prepared.passed[position].index;
  const LaunchArgument& argument = prepared.arguments[i];
  const auto* const given = static_cast<const detail::PassedSpan*>(value);
  if (given->data == nullptr && prepared.extents[i] > 0) {
    return bad_argument(prepared, i, position,
                        fmt::format("a null pointer was passed; the kernel has {} elements there", prepared.extents[i]));
  }
  if (reinterpret_cast<std::uintptr_t>(given->data) % kAlignment != 0) {
    return bad_argument(prepared, i, position, "the pointer is not aligned to 16 bytes, which the tuned configurations assume");
  }
  return bad_argument(prepared, i, position,
                      fmt::format("the span holds {} elements of {}; the kernel has {} there", given->bytes / size_of(argument.dtype),
                                  hone::name(argument.dtype), prepared.extents[i]));
}

/// Holds the types against the kernel file, unless they were before.
Result<void> check_types(const Prepared& prepared, std::span<const Passed> kinds, std::uint64_t signature) {
  if (kinds.size() != prepared.passed.size()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} takes {} arguments; {} were passed", prepared.name, prepared.passed.size(), kinds.size())};
  }
  for (std::size_t position = 0; position < kinds.size(); ++position) {
    HONE_TRY(check_type(prepared, position, kinds[position]));
  }
  std::uint64_t first = 0;
  if (!prepared.fitting_types[0].compare_exchange_strong(first, signature, std::memory_order_relaxed)) {
    prepared.fitting_types[1].store(signature, std::memory_order_relaxed);
  }
  return {};
}

/// The addresses of workspaces on the stream, with those cleared that have to be.
Result<void> provide_workspaces(const Prepared& prepared, void* stream, std::span<void*> addresses, std::span<void*> values) {
  HONE_ASSIGN(std::byte* const memory, prepared.memory->find(stream, prepared.workspace_bytes));
  for (std::size_t i = 0; i < prepared.workspaces.size(); ++i) {
    const WorkspaceArgument& workspace = prepared.workspaces[i];
    addresses[i] = memory + workspace.offset;
    values[workspace.index] = &addresses[i];
    if (workspace.zeroed) {
      HONE_TRY(prepared.device->fill_on(stream, addresses[i], workspace.bytes, 0));
    }
  }
  return {};
}

/// Of arguments that the caller passes.
Result<void> clear_zeroed(const Prepared& prepared, void* stream, std::span<void* const> values) {
  for (const PassedArgument& argument : prepared.passed) {
    if (const LaunchArgument& planned = prepared.arguments[argument.index]; planned.zeroed) {
      HONE_TRY(prepared.device->fill_on(stream, *static_cast<void* const*>(values[argument.index]), planned.bytes, 0));
    }
  }
  return {};
}

/// A launch that is checked every so often. Of what was found wrong, the default's in its place: its arguments are the same, its workspaces
/// are not.
Result<void> launch_checked(const std::shared_ptr<const Prepared>& prepared, void* stream, std::span<void*> values) {
  CheckedLaunches& checked = *prepared->checked;
  if (const Prepared* const instead = checked.instead.load(std::memory_order_acquire)) {
    std::array<void*, Kernel::kMostArguments> workspaces;
    HONE_TRY(provide_workspaces(*instead, stream, workspaces, values));
    return instead->loaded->launch(stream, values);
  }
  const bool is_due = checked.launches.fetch_add(1, std::memory_order_relaxed) % checked.one_in == checked.one_in - 1;
  if (!is_due || !checked.checks->begin(prepared, stream, values)) {
    return prepared->loaded->launch(stream, values);
  }
  Result<void> launched = prepared->loaded->launch(stream, values);
  checked.checks->end(stream, values, launched.ok());
  return launched;
}

}  // namespace

DynamicArgument::DynamicArgument(const void* data, std::size_t bytes) : type_{.pointer = true, .span = true}, value_{data, bytes} {}

DynamicArgument DynamicArgument::number(DType dtype, const void* number) {
  DynamicArgument argument;
  argument.type_ = {.kind = Passed::Kind::kNamed, .size = static_cast<std::uint16_t>(dtype)};
  std::memcpy(&argument.value_, number, size_of(dtype));
  return argument;
}

Source Kernel::source() const { return prepared_->choice.source; }
const std::optional<Prediction>& Kernel::prediction() const { return prepared_->choice.prediction; }
const std::string& Kernel::implementation() const { return prepared_->name; }
const Configuration& Kernel::configuration() const { return prepared_->choice.configuration; }
std::string Kernel::configuration_text() const { return prepared_->configuration; }
const Problem& Kernel::problem() const { return prepared_->problem; }
const Shape& Kernel::tuned_shape() const { return prepared_->tuned_shape; }
const std::vector<Staleness>& Kernel::stale() const { return prepared_->stale; }
const std::string& Kernel::why() const { return prepared_->why; }
bool Kernel::superseded() const { return prepared_->superseded.load(std::memory_order_relaxed); }

Result<void> Kernel::launch_dynamic(void* stream, std::span<const DynamicArgument> arguments) const {
  if (arguments.size() > kMostArguments) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: a kernel has at most {} arguments; {} were passed", prepared_->name, kMostArguments, arguments.size())};
  }
  std::array<Passed, kMostArguments> kinds;
  std::array<void*, kMostArguments> addresses;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    kinds[i] = arguments[i].type_;
    addresses[i] = const_cast<void*>(static_cast<const void*>(&arguments[i].value_));
  }
  const std::span<const Passed> passed(kinds.data(), arguments.size());
  return launch_passed(stream, addresses.data(), {passed, signature(passed)});
}

Result<void> Kernel::launch_passed(void* stream, void* const* addresses, const Types& types) const {
  const Prepared& prepared = *prepared_;
  if (!prepared.origin.is_here()) {
    return prepared.origin.check();
  }
  if (prepared.fitting_types[0].load(std::memory_order_relaxed) != types.signature &&
      prepared.fitting_types[1].load(std::memory_order_relaxed) != types.signature) {
    HONE_TRY(check_types(prepared, types.kinds, types.signature));
  }
  std::array<void*, kMostArguments> values, workspaces;
  for (std::size_t i = 0; i < prepared.passed.size(); ++i) {
    const PassedArgument& argument = prepared.passed[i];
    values[argument.index] = addresses[i];
    if (argument.pointer && !fits(argument, types.kinds[i], addresses[i])) {
      return misfit(prepared, i, addresses[i]);
    }
  }
  if (!prepared.workspaces.empty()) {
    HONE_TRY(provide_workspaces(prepared, stream, workspaces, values));
  }
  if (prepared.clears_passed) {
    HONE_TRY(clear_zeroed(prepared, stream, values));
  }
  if (prepared.launches != nullptr) {
    prepared.launches->add();
  }
  const std::span<void*> all(values.data(), prepared.arguments.size());
  const LaunchRange range(prepared.range);
  return prepared.checked == nullptr ? prepared.loaded->launch(stream, all) : launch_checked(prepared_, stream, all);
}

}  // namespace hone
