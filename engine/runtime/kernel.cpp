// Launching: what is passed is held against the kernel file, and goes to the device.

#include <fmt/format.h>

#include "engine/runtime/prepared.hpp"
#include "engine/store/lookup.hpp"

namespace hone {
namespace {

Error bad_argument(const Prepared& prepared, std::size_t i, std::size_t position, std::string_view what) {
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{}: argument {} ({}): {}", prepared.name, position, prepared.arguments[i].name, what)};
}

}  // namespace

Kernel::Kernel(std::shared_ptr<const State> state) : state_(std::move(state)) {}
Source Kernel::source() const { return state_->prepared->choice.source; }
const std::optional<Prediction>& Kernel::prediction() const { return state_->prepared->choice.prediction; }
const std::string& Kernel::implementation() const { return state_->prepared->name; }
const Configuration& Kernel::configuration() const { return state_->prepared->choice.configuration; }
std::string Kernel::configuration_text() const { return text(state_->prepared->parameters, state_->prepared->choice.configuration); }
const Problem& Kernel::problem() const { return state_->prepared->problem; }
const Shape& Kernel::tuned_shape() const { return state_->prepared->tuned_shape; }
const std::vector<Staleness>& Kernel::stale() const { return state_->prepared->stale; }
const std::string& Kernel::why() const { return state_->prepared->why; }
bool Kernel::superseded() const { return state_->prepared->superseded.load(std::memory_order_relaxed); }

bool Kernel::accepts(DType dtype, bool scalar, Passed passed) {
  using Kind = Passed::Kind;
  if (passed.pointer == scalar) {
    return false;
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

std::string Kernel::type_text(Passed passed) {
  using Kind = Passed::Kind;
  const std::string element = passed.kind == Kind::kBoolean    ? "bool"
                              : passed.kind == Kind::kReal     ? (passed.size == 4   ? "float"
                                                                  : passed.size == 8 ? "double"
                                                                                     : "long double")
                              : passed.kind == Kind::kSigned   ? fmt::format("int{}_t", 8 * passed.size)
                              : passed.kind == Kind::kUnsigned ? fmt::format("uint{}_t", 8 * passed.size)
                              : passed.size == 0               ? "void"
                                                               : fmt::format("a class of {} bytes", passed.size);
  return passed.span ? fmt::format("std::span<{}>", element) : element + (passed.pointer ? "*" : "");
}

Result<void> Kernel::State::check_type(std::size_t i, std::size_t position, Passed passed) const {
  const LaunchArgument& argument = prepared->arguments[i];
  const bool scalar = argument.direction == Direction::kScalar;
  if (accepts(argument.dtype, scalar, passed)) {
    return {};
  }
  return bad_argument(
      *prepared, i, position,
      fmt::format("{} was passed; its type in the kernel file is {}{}", type_text(passed), hone::name(argument.dtype), scalar ? "" : "*"));
}

Result<void> Kernel::State::check_memory(std::size_t i, std::size_t position, Passed passed, const void* value) const {
  constexpr std::uintptr_t kAlignment = 16;
  const LaunchArgument& argument = prepared->arguments[i];
  const auto needed = static_cast<std::size_t>(prepared->extents[i]);
  const void* const address = *static_cast<const void* const*>(value);
  if (address == nullptr && needed > 0) {
    return bad_argument(*prepared, i, position, fmt::format("a null pointer was passed; the kernel has {} elements there", needed));
  }
  if (reinterpret_cast<std::uintptr_t>(address) % kAlignment != 0) {
    return bad_argument(*prepared, i, position, "the pointer is not aligned to 16 bytes, which the tuned configurations assume");
  }
  const std::size_t element = size_of(argument.dtype);
  if (const std::size_t bytes = passed.span ? static_cast<const Extent*>(value)->bytes : needed * element; bytes < needed * element) {
    return bad_argument(
        *prepared, i, position,
        fmt::format("the span holds {} elements of {}; the kernel has {} there", bytes / element, hone::name(argument.dtype), needed));
  }
  return {};
}

Result<void> Kernel::launch_passed(void* stream, void* const* addresses, const Passed* kinds, std::size_t count) const {
  const State& state = *state_;
  const Prepared& prepared = *state.prepared;
  HONE_TRY(prepared.origin.check());
  if (count != prepared.passed_count) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} takes {} arguments; {} were passed", prepared.name, prepared.passed_count, count)};
  }
  std::array<void*, kMostArguments> values;
  std::size_t position = 0, workspace = 0;
  for (std::size_t i = 0; i < prepared.arguments.size(); ++i) {
    const LaunchArgument& argument = prepared.arguments[i];
    if (argument.direction == Direction::kWorkspace) {
      values[i] = const_cast<void**>(&state.addresses[workspace++]);
    } else {
      values[i] = addresses[position];
      HONE_TRY(state.check_type(i, position, kinds[position]));
      if (argument.direction != Direction::kScalar) {
        HONE_TRY(state.check_memory(i, position, kinds[position], addresses[position]));
      }
      ++position;
    }
  }
  for (std::size_t i = 0; i < prepared.arguments.size(); ++i) {
    if (prepared.arguments[i].zeroed) {
      HONE_TRY(prepared.device->fill_on(stream, *static_cast<void* const*>(values[i]), prepared.arguments[i].bytes, 0));
    }
  }
  return prepared.loaded->launch(stream, std::span<void* const>(values.data(), prepared.arguments.size()));
}

}  // namespace hone
