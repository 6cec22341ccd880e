// The reference's answer: computed once for each seed, in double, and held to be one.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/kernel/against.hpp"
#include "engine/measure/bench_impl.hpp"
#include "engine/measure/element.hpp"
#include "engine/measure/measure.hpp"

namespace hone {
namespace {

constexpr std::uint8_t kUnwrittenInteger = 0x8b;
constexpr std::uint8_t kUnwritten = 0xff;  // a NaN in double: an element the reference forgets is no right answer

/// "the reference f", of several passes "the reference f, g": what is wrong in the end is any one's doing.
std::string reference_name(const KernelSpec& spec) {
  std::vector<std::string_view> functions;
  for (const ReferencePass& pass : spec.reference) {
    functions.push_back(pass.function);
  }
  return fmt::format("the reference {}", fmt::join(functions, ", "));
}

/// Conversions to 8-bit floats stop at the largest number, as CUDA's do.
bool saturates(DType dtype) { return dtype == DType::kE4M3 || dtype == DType::kE5M2; }

}  // namespace

/// The kernel's own reference, or that of its judge: then in the judge's order of arguments, and with its Problem.
Result<void> Bench::Impl::load_reference(const Compiled& reference) {
  const Problem asked = spec_.judge ? judged_problem(judge(), problem_) : problem_;
  const std::size_t count = judge().arguments.size();
  reference_arguments_.assign(static_cast<std::size_t>(judge().configured(static_cast<int>(judge().parameters.size()))), nullptr);
  original_arguments_.assign(reference_arguments_.size(), nullptr);
  generator_arguments_.assign(count + 1, nullptr);
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<std::size_t> place = slot_of(i);
    if (!place) {  // a workspace of the judge's passes is none of the reference's arguments
      continue;
    }
    Slot& slot = slots_[*place];
    const bool scalar = slot.is(Direction::kScalar);
    reference_arguments_[i] = scalar ? static_cast<void*>(slot.scalar.data()) : &slot.reference_address;
    generator_arguments_[i] = scalar                       ? static_cast<void*>(slot.scalar.data())
                              : slot.is(Direction::kInOut) ? static_cast<void*>(&slot.original)
                                                           : &slot.address[kFirst];
    original_arguments_[i] = &slot.original;
    original_arguments_[static_cast<std::size_t>(judge().expected(static_cast<int>(i)))] = &slot.expected;
  }
  generator_arguments_[count] = &generator_seed_;
  HONE_ASSIGN(const AnswerPlan plan, plan_answer(judge(), asked));
  const auto load = [&](const std::vector<PassLaunch>& part, std::unique_ptr<LoadedKernel>& to) -> Result<void> {
    if (!part.empty()) {
      HONE_ASSIGN(to, device_.load_reference(reference, part, asked));
    }
    return {};
  };
  HONE_TRY(load(plan.reference, reference_));
  HONE_TRY(load(plan.generators, generators_));
  HONE_TRY(load(plan.acceptances, acceptances_));
  HONE_TRY(load(plan.originals, originals_));
  HONE_TRY(load(plan.fills, fills_));
  find_answer_fields();
  use(default_configuration(spec_));
  return {};
}

/// The slot of the judge's argument, by name.
std::optional<std::size_t> Bench::Impl::slot_of(std::size_t argument) const {
  const auto slot =
      std::ranges::find(slots_, judge().arguments[argument].name, [](const Slot& s) -> const std::string& { return s.argument->name; });
  return slot == slots_.end() || slot->is(Direction::kWorkspace) ? std::nullopt
                                                                 : std::optional(static_cast<std::size_t>(slot - slots_.begin()));
}

Bench::Impl::Preparing::Preparing(Impl& bench) : bench_(bench) {
  if (bench_.preparing_++ == 0 && bench_.on_reference_) {
    bench_.on_reference_(true);
  }
}

Bench::Impl::Preparing::~Preparing() {
  if (--bench_.preparing_ == 0 && bench_.on_reference_) {
    bench_.on_reference_(false);
  }
}

Result<void> Bench::Impl::compute_answer(std::uint64_t seed) {
  if (inputs_seed_ == seed && answer_seed_ == seed && answer_of_ == fields_) {
    return {};
  }
  const Preparing preparing(*this);
  HONE_TRY(fill_inputs(seed));
  if (answer_seed_ == seed && answer_of_ == fields_) {
    return {};
  }
  HONE_ASSIGN(const bool known, recall());
  if (known) {
    answer_seed_ = seed;
    return {};
  }
  answer_seed_.reset();
  own_.clear();
  HONE_TRY(launch_reference());
  HONE_ASSIGN(const auto harm, damage(frozen()));
  for (Slot& slot : slots_) {
    slot.sensitivity.clear();
    slot.slack = 1.0;
    if (slot.has_answer) {
      HONE_TRY(check_expected(slot));
    }
  }
  if (harm) {
    HONE_TRY(repair());
    return Error{ErrorCode::kBadKernel, fmt::format("{}: {}: {}", spec_.file, reference_name(spec_), *harm)};
  }
  for (const Slot& slot : slots_) {
    if (slot.original != nullptr) {
      HONE_ASSIGN(const std::uint64_t sum, device_.checksum(slot.original, slot.bytes()));
      own_.push_back({{slot.original, slot.bytes()}, sum, &slot, true, nullptr, 0});
    }
    if (slot.is_output()) {
      HONE_ASSIGN(const std::uint64_t sum, device_.checksum(slot.expected, slot.answer_bytes()));
      own_.push_back({{slot.expected, slot.answer_bytes()}, sum, &slot, true, nullptr, 0});
    }
    if (slot.exact != nullptr) {
      HONE_ASSIGN(const std::uint64_t sum, device_.checksum(slot.exact, slot.bytes()));
      own_.push_back({{slot.exact, slot.bytes()}, sum, &slot, true, nullptr, 0});
    }
  }
  answer_seed_ = seed;
  answer_of_ = fields_;
  return remember();
}

Result<bool> Bench::Impl::has_answer(std::uint64_t seed) {
  const Result<void> answered = compute_answer(seed);
  if (!answered && answered.error().code != ErrorCode::kBadKernel) {
    return answered.error();
  }
  return answered.ok();
}

Result<void> Bench::Impl::launch_reference() {
  for (Slot& slot : slots_) {
    if (slot.is_output()) {
      HONE_TRY(start_expected(slot));
    }
  }
  const Preparing preparing(*this);
  if (originals_ != nullptr) {
    HONE_TRY(originals_->launch(nullptr, original_arguments_));
  }
  if (reference_ != nullptr) {
    HONE_TRY(reference_->launch(nullptr, reference_arguments_));
  }
  if (originals_ != nullptr || reference_ != nullptr) {
    HONE_TRY(device_.synchronize());
  }
  for (Slot& slot : slots_) {
    if (slot.exact != nullptr) {
      HONE_TRY(round_exact(slot));
    }
  }
  return take_given_answers();
}

Result<void> Bench::Impl::take_given_answers() {
  for (Slot& slot : slots_) {
    const auto answer = given_.answers.find(slot.argument->name);
    if (answer == given_.answers.end() || !slot.is_output()) {
      continue;
    }
    HONE_ASSIGN(const std::vector<double> values, given_answer(answer->second, slot.argument->name, slot.element, slot.count));
    HONE_TRY(device_.upload(slot.expected, std::as_bytes(std::span(values))));
    if (slot.exact != nullptr) {
      HONE_ASSIGN(const std::vector<std::byte> elements, given_elements(answer->second, slot.argument->name, slot.element, slot.count));
      HONE_TRY(device_.upload(slot.exact, elements));
    }
  }
  return {};
}

/// What the reference goes on with or fills. A whole number that none writes by chance is what it left out.
Result<void> Bench::Impl::start_exact(Slot& slot) {
  if (slot.is(Direction::kInOut)) {
    return device_.copy(slot.exact, slot.original, slot.bytes());
  }
  return device_.fill(slot.exact, slot.bytes(), slot.argument->zeroed ? std::uint8_t{0} : kUnwrittenInteger);
}

/// The answer in double, for all but the validation: what timing spoils, and what messages say.
Result<void> Bench::Impl::round_exact(Slot& slot) {
  const std::size_t width = size_of(slot.element);
  std::vector<std::byte> held(slot.bytes());
  std::vector<double> rounded(slot.count);
  HONE_TRY(device_.download(held, slot.exact));
  for (std::size_t i = 0; i < slot.count; ++i) {
    const auto element = std::span(held).subspan(i * width, width);
    const bool unwritten =
        !slot.argument->zeroed && std::ranges::all_of(element, [](std::byte b) { return b == std::byte{kUnwrittenInteger}; });
    rounded[i] = unwritten ? std::nan("") : measure::decode(slot.element, element.data());
  }
  return device_.upload(slot.expected, std::as_bytes(std::span(rounded)));
}

Result<void> Bench::Impl::start_expected(Slot& slot) {
  if (slot.exact != nullptr) {
    return start_exact(slot);
  }
  if (slot.is(Direction::kInOut)) {
    return {};  // from its original: launch_reference()
  }
  return device_.fill(slot.expected, slot.answer_bytes(), slot.argument->zeroed ? std::uint8_t{0} : kUnwritten);
}

/// The reference is somebody's code too.
Result<void> Bench::Impl::check_expected(Slot& slot) {
  // All but a NaN equals itself, and a NaN is no answer that a kernel could be held to.
  HONE_ASSIGN(const Comparison itself, device_.compare(slot.expected, DType::kF64, slot.expected, slot.count, Tolerance{}));
  if (itself.mismatches > 0) {
    return Error{ErrorCode::kBadKernel,
                 fmt::format("{}: {} leaves out or makes NaN {} of {} elements of argument '{}', the first at index {}", spec_.file,
                             reference_name(spec_), itself.mismatches, slot.count, slot.argument->name, itself.first_mismatch)};
  }
  HONE_ASSIGN(slot.rms, device_.root_mean_square(slot.expected, slot.count));
  // Nothing overflows in whole numbers, whose answer stays as it is, and in double. No element is larger than the root of the sum of all
  // squares, so that most answers of a wide range need no look at each, which takes the host a tenth of a second for ten million. What is
  // infinite is not in that mean: it stays, but in what saturates.
  const bool is_narrower = !is_integer(slot.element) && slot.element != DType::kF64;
  const bool may_overflow =
      saturates(slot.element) || (profile_ != InputProfile::kUsual && is_narrower &&
                                  slot.rms * std::sqrt(static_cast<double>(slot.count)) > range_of(slot.element).most);
  if (!may_overflow) {
    return {};
  }
  HONE_ASSIGN(const bool overflowed, round_overflow(slot));
  if (overflowed) {
    HONE_ASSIGN(slot.rms, device_.root_mean_square(slot.expected, slot.count));
  }
  return {};
}

/// What is beyond the output's type is infinite in it, or the largest number of one that saturates. Whether there was any.
Result<bool> Bench::Impl::round_overflow(Slot& slot) {
  std::vector<double> answer(slot.count);
  HONE_TRY(device_.download(std::as_writable_bytes(std::span(answer)), slot.expected));
  bool overflows = false;
  for (double& value : answer) {
    std::array<std::byte, sizeof(double)> held{};
    measure::encode(slot.element, value, held.data());
    const double rounded = measure::decode(slot.element, held.data());
    if (saturates(slot.element) ? std::fabs(value) > range_of(slot.element).most : std::isinf(rounded) && !std::isinf(value)) {
      value = rounded;
      overflows = true;
    }
  }
  if (overflows) {
    HONE_TRY(device_.upload(slot.expected, std::as_bytes(std::span(answer))));
  }
  return overflows;
}

}  // namespace hone
