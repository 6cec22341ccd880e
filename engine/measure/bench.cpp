// The buffers of one problem: made once, filled for each seed, and the reference's answer beside them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/measure/bench_impl.hpp"
#include "engine/measure/element.hpp"
#include "hone/measure.hpp"
#include "hone/random.h"

namespace hone {
namespace {

// Guard bands of inputs hold NaN in every float type, so that reading past an input spoils the result. Those of other arguments differ from
// it and from each other: a kernel that copies one element too many would write the guard's own pattern otherwise.
std::uint8_t guard_pattern(Direction direction, std::size_t index) {
  return direction == Direction::kIn ? std::uint8_t{0xff} : static_cast<std::uint8_t>(0x21 + 2 * (index % 32));
}

constexpr std::uint8_t kUnwritten = 0xff;  // a NaN in double: an element the reference forgets is no right answer

/// "the reference f", of several passes "the reference f, g": what is wrong in the end is any one's doing.
std::string reference_name(const KernelSpec& spec) {
  std::vector<std::string_view> functions;
  for (const ReferencePass& pass : spec.reference) {
    functions.push_back(pass.function);
  }
  return fmt::format("the reference {}", fmt::join(functions, ", "));
}

double gib(std::size_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0); }

Result<std::size_t> element_count(const KernelSpec& spec, const Argument& argument, const Bindings& bound, std::int64_t least) {
  HONE_ASSIGN(const Value extent, argument.extent.evaluate(bound));
  if (extent.integer() < least) {
    return Error{ErrorCode::kBadKernel, fmt::format("{}: argument '{}' has {} elements ({}); it must have at least {}", spec.file,
                                                    argument.name, extent.integer(), argument.extent.text(), least)};
  }
  return static_cast<std::size_t>(extent.integer());
}

}  // namespace

Result<void> Bench::Impl::create(const Compiled& reference) {
  HONE_TRY(size_slots());
  const Bindings bound = bindings(problem_);
  HONE_ASSIGN(const Value sum_length, spec_.cost.sum_length.evaluate(bound));
  tolerance_ = tolerance(problem_.dtype, sum_length.real());
  HONE_TRY(check_memory(0, "its buffers"));
  HONE_TRY(allocate());
  HONE_ASSIGN(const std::vector<PassLaunch> plan, plan_reference(spec_, problem_));
  HONE_ASSIGN(reference_, device_.load_reference(reference, plan, problem_));
  return {};
}

Result<void> Bench::Impl::size_slots() {
  const Bindings bound = bindings(problem_);
  slots_ = std::vector<Slot>(spec_.arguments.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    slot.argument = &spec_.arguments[i];
    slot.element = slot.argument->element(problem_.dtype);
    if (slot.is(Direction::kScalar)) {
      measure::encode(slot.element, slot.argument->scalar_default.real(), slot.scalar.data());
    } else if (!slot.is(Direction::kWorkspace)) {
      HONE_ASSIGN(slot.count, element_count(spec_, *slot.argument, bound, 1));
      bytes_ += measure::GuardedBuffer::footprint(slot.bytes());
      bytes_ += slot.is(Direction::kInOut) ? slot.bytes() : 0;
      bytes_ += slot.is_output() ? measure::GuardedBuffer::footprint(slot.count * sizeof(double)) : 0;
    }
    const bool scalar = slot.is(Direction::kScalar);
    arguments_.push_back(scalar ? static_cast<void*>(slot.scalar.data()) : &slot.address);
    reference_arguments_.push_back(scalar ? static_cast<void*>(slot.scalar.data()) : &slot.reference_address);
  }
  return {};
}

Result<void> Bench::Impl::check_memory(std::size_t extra_bytes, const std::string& what) const {
  const auto memory = device_.info().properties.find("memory");
  if (memory == device_.info().properties.end() || memory->second <= 0 ||
      bytes_ + extra_bytes <= static_cast<std::size_t>(memory->second)) {
    return {};
  }
  return Error{
      ErrorCode::kInvalidArgument,
      fmt::format("{} {} {}: {} need {:.2f} GiB on {}, which has {:.2f} GiB; choose a smaller shape", spec_.name, name(problem_.dtype),
                  text(problem_.shape), what, gib(bytes_ + extra_bytes), device_.info().id, gib(static_cast<std::size_t>(memory->second)))};
}

Error Bench::Impl::out_of_memory(const Error& cause) const {
  return Error{cause.code,
               fmt::format("{} {} {}: its buffers, the reference's answer in double among them, need {:.2f} GiB on {}: {}", spec_.name,
                           name(problem_.dtype), text(problem_.shape), gib(bytes_), device_.info().id, cause.message)};
}

Result<void> Bench::Impl::allocate() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (slot.is(Direction::kScalar) || slot.is(Direction::kWorkspace)) {
      continue;
    }
    auto buffer = measure::GuardedBuffer::create(device_, slot.bytes(), guard_pattern(slot.argument->direction, i));
    if (!buffer) {
      return out_of_memory(buffer.error());
    }
    slot.buffer = std::move(buffer).value();
    slot.address = slot.reference_address = slot.buffer.payload();
    if (slot.is(Direction::kInOut)) {
      auto original = device_.allocate(slot.bytes());
      if (!original) {
        return out_of_memory(original.error());
      }
      slot.original = std::move(original).value();
    }
    if (slot.is_output()) {
      auto expected = measure::GuardedBuffer::create(device_, slot.count * sizeof(double), guard_pattern(slot.argument->direction, i));
      if (!expected) {
        return out_of_memory(expected.error());
      }
      slot.expected = std::move(expected).value();
      slot.reference_address = slot.expected.payload();
    }
  }
  return {};
}

Result<void> Bench::Impl::fill_inputs(std::uint64_t seed) {
  if (inputs_seed_ == seed) {
    return {};
  }
  inputs_seed_.reset();
  answer_seed_.reset();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    // Every argument draws from a stream of its own: equal inputs would hide a kernel that mixes them up.
    const std::uint64_t stream = random_bits(seed, i);
    if (slot.is(Direction::kIn)) {
      HONE_TRY(device_.randomize(slot.buffer.payload(), slot.element, slot.count, stream));
      HONE_ASSIGN(slot.input_checksum, device_.checksum(slot.buffer.payload(), slot.bytes()));
    } else if (slot.is(Direction::kInOut)) {
      HONE_TRY(device_.randomize(slot.original->address(), slot.element, slot.count, stream));
    }
  }
  inputs_seed_ = seed;
  return {};
}

Result<void> Bench::Impl::compute_answer(std::uint64_t seed) {
  HONE_TRY(fill_inputs(seed));
  if (answer_seed_ == seed) {
    return {};
  }
  for (Slot& slot : slots_) {
    if (slot.is_output()) {
      HONE_TRY(start_expected(slot));
    }
  }
  HONE_TRY(reference_->launch(nullptr, reference_arguments_));
  HONE_TRY(device_.synchronize());
  for (Slot& slot : slots_) {
    if (slot.is_output()) {
      HONE_TRY(check_expected(slot));
    }
  }
  answer_seed_ = seed;
  return {};
}

Result<void> Bench::Impl::start_expected(Slot& slot) {
  if (slot.is(Direction::kInOut)) {
    return convert_original(slot);
  }
  return device_.fill(slot.expected.payload(), slot.expected.bytes(), slot.argument->zeroed ? std::uint8_t{0} : kUnwritten);
}

// In-place arguments are rare, so the conversion to double goes by way of the host instead of through a primitive of every device.
Result<void> Bench::Impl::convert_original(Slot& slot) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  const std::size_t width = size_of(slot.element);
  std::vector<std::byte> narrow(std::min(kChunk, slot.count) * width);
  std::vector<double> wide(std::min(kChunk, slot.count));
  for (std::size_t begin = 0; begin < slot.count; begin += kChunk) {
    const std::size_t count = std::min(kChunk, slot.count - begin);
    const auto part = std::span(narrow).first(count * width);
    HONE_TRY(device_.download(part, static_cast<const std::byte*>(slot.original->address()) + begin * width));
    for (std::size_t i = 0; i < count; ++i) {
      wide[i] = measure::decode(slot.element, part.data() + i * width);
    }
    HONE_TRY(device_.upload(slot.expected.payload() + begin * sizeof(double), std::as_bytes(std::span(wide).first(count))));
  }
  return {};
}

/// The reference is somebody's code too.
Result<void> Bench::Impl::check_expected(Slot& slot) {
  HONE_ASSIGN(const auto damage, slot.expected.damage(device_, sizeof(double)));
  if (damage) {
    return Error{ErrorCode::kBadKernel,
                 fmt::format("{}: {}: argument '{}' {}", spec_.file, reference_name(spec_), slot.argument->name, *damage)};
  }
  // All but a NaN equals itself, and a NaN is no answer that a kernel could be held to.
  const auto* expected = reinterpret_cast<const double*>(slot.expected.payload());
  HONE_ASSIGN(const Comparison itself, device_.compare(expected, DType::kF64, expected, slot.count, Tolerance{}));
  if (itself.mismatches > 0) {
    return Error{ErrorCode::kBadKernel,
                 fmt::format("{}: {} leaves out or makes NaN {} of {} elements of argument '{}', the first at index {}", spec_.file,
                             reference_name(spec_), itself.mismatches, slot.count, slot.argument->name, itself.first_mismatch)};
  }
  HONE_ASSIGN(slot.expected_checksum, device_.checksum(slot.expected.payload(), slot.expected.bytes()));
  return {};
}

Result<std::vector<std::size_t>> Bench::Impl::workspace_counts(const Configuration& configuration) const {
  Bindings bound = bindings(problem_);
  bound.merge(bindings(spec_.parameters, configuration));
  bound.merge(bindings(device_.info()));
  std::vector<std::size_t> counts(slots_.size(), 0);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].is(Direction::kWorkspace)) {
      // A configuration may have no use for a workspace that another one needs.
      HONE_ASSIGN(counts[i], element_count(spec_, *slots_[i].argument, bound, 0));
    }
  }
  return counts;
}

Result<void> Bench::Impl::fit_workspaces(const std::vector<std::size_t>& counts) {
  std::size_t needed = 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    needed += slots_[i].is(Direction::kWorkspace) ? measure::GuardedBuffer::footprint(counts[i] * size_of(slots_[i].element)) : 0;
  }
  HONE_TRY(check_memory(needed, "its buffers and the workspaces of this configuration"));
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (!slot.is(Direction::kWorkspace)) {
      continue;
    }
    slot.count = counts[i];
    if (slot.buffer.payload() == nullptr) {
      slot.buffer = measure::GuardedBuffer(guard_pattern(Direction::kWorkspace, i));
    }
    if (const Result<void> resized = slot.buffer.resize(device_, slot.bytes()); !resized) {
      return Error{resized.error().code,
                   fmt::format("workspace '{}' needs {:.2f} GiB beside {:.2f} GiB of buffers on {}: {}", slot.argument->name,
                               gib(slot.bytes()), gib(bytes_), device_.info().id, resized.error().message)};
    }
    slot.address = slot.buffer.payload();
  }
  return {};
}

Bench::Bench(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Bench::~Bench() = default;

Result<std::unique_ptr<Bench>> Bench::create(Device& device, const KernelSpec& spec, const Problem& problem, const Compiled& reference) {
  auto impl = std::make_unique<Impl>(device, spec, problem);
  HONE_TRY(impl->create(reference));
  return std::unique_ptr<Bench>(new Bench(std::move(impl)));
}

Result<Validation> Bench::validate(const LoadedKernel& kernel, const Configuration& configuration, std::uint64_t seed) {
  return impl_->validate(kernel, configuration, seed);
}

Result<Measurement> Bench::time(const LoadedKernel& kernel, const Configuration& configuration, const MeasureSettings& settings,
                                std::optional<double> incumbent_us, Readings& readings) {
  return impl_->time(kernel, configuration, settings, incumbent_us, readings);
}

Result<std::vector<Measurement>> Bench::time_interleaved(std::span<const Finalist> finalists, const MeasureSettings& settings,
                                                         std::uint64_t seed, Readings& readings) {
  return impl_->time_interleaved(finalists, settings, seed, readings);
}

}  // namespace hone
