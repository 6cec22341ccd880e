#include "engine/measure/input_profile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "engine/base/parallel.hpp"
#include "engine/measure/element.hpp"
#include "hone/random.h"

namespace hone {
namespace {

constexpr std::array<std::pair<InputProfile, std::string_view>, 14> kNames{{{InputProfile::kUsual, "usual"},
                                                                            {InputProfile::kMixed, "mixed"},
                                                                            {InputProfile::kLarge, "large"},
                                                                            {InputProfile::kTiny, "tiny"},
                                                                            {InputProfile::kZero, "zero"},
                                                                            {InputProfile::kNegativeZero, "negative zero"},
                                                                            {InputProfile::kEqual, "equal"},
                                                                            {InputProfile::kFew, "few"},
                                                                            {InputProfile::kOrdered, "ordered"},
                                                                            {InputProfile::kNegative, "negative"},
                                                                            {InputProfile::kPositive, "positive"},
                                                                            {InputProfile::kOtherScalars, "other scalars"},
                                                                            {InputProfile::kGreatScalars, "great scalars"},
                                                                            {InputProfile::kOtherSigns, "scalars of the opposite sign"}}};

constexpr std::array kProvoking{InputProfile::kMixed,     InputProfile::kLarge,    InputProfile::kTiny,         InputProfile::kZero,
                                InputProfile::kEqual,     InputProfile::kFew,      InputProfile::kOrdered,      InputProfile::kNegativeZero,
                                InputProfile::kNegative,  InputProfile::kPositive, InputProfile::kOtherScalars, InputProfile::kGreatScalars,
                                InputProfile::kOtherSigns};

}  // namespace

std::string_view name(InputProfile profile) {
  return std::ranges::find(kNames, profile, &std::pair<InputProfile, std::string_view>::first)->second;
}

std::span<const InputProfile> provoking_profiles() { return kProvoking; }

bool differs(InputProfile profile, const KernelSpec& spec) {
  if (profile != InputProfile::kOtherScalars && profile != InputProfile::kGreatScalars && profile != InputProfile::kOtherSigns) {
    // A generator makes what it makes: one that provokes is its author's to write.
    const KernelSpec& judge = spec.judge ? *spec.judge : spec;
    return std::ranges::any_of(judge.arguments, [&, index = 0](const Argument& argument) mutable {
      const auto is_for_it = [here = index++](const Generator& generator) { return generator.target == here; };
      const bool is_input = argument.direction == Direction::kIn || argument.direction == Direction::kInOut;
      return is_input && std::ranges::none_of(judge.generators, is_for_it);
    });
  }
  return std::ranges::any_of(spec.arguments, [&](const Argument& argument) {
    const double usual = argument.direction == Direction::kScalar ? argument.scalar_default.real() : 0.0;
    return argument.direction == Direction::kScalar && argument.enumeration.empty() &&
           measure::scalar(profile, argument.dtype, usual) != usual;
  });
}

namespace measure {
namespace {

// An exponential of it overflows in every type, its square and long sums of that do not in f32.
constexpr double kLarge = 1024.0;
// Its square is no longer seen beside one, and is still a normal number in f32.
constexpr double kTiny = 0x1p-20, kTinyF16 = 0x1p-12, kTinyE4M3 = 0x1p-5, kTinyE5M2 = 0x1p-12;

double tiny_of(DType dtype) {
  return dtype == DType::kF16 ? kTinyF16 : dtype == DType::kE4M3 ? kTinyE4M3 : dtype == DType::kE5M2 ? kTinyE5M2 : kTiny;
}

/// Whether many elements are large in this part of an array: of a long one only some are, so that what is combined of parts differs.
bool has_large(std::size_t i, std::size_t count) {
  constexpr std::size_t kLong = 2048, kParts = 4, kPart = 2;
  return count < kLong || i / (count / kParts) == kPart;
}

/// Element i of one that mixes all: mostly usual, here and there large, tiny, zero of either sign or equal to the one before.
double mixed(std::uint64_t seed, std::size_t i, std::size_t count, double tiny) {
  const double usual = static_cast<double>(random_element(seed, i));
  switch (random_bits(seed ^ 0x6d697865, i) % 16) {
    case 0:
      return (has_large(i, count) ? kLarge : 1.0) * usual;
    case 1:
      return tiny * usual;
    case 2:
      return 0.0;
    case 3:
      return -0.0;
    case 4:
    case 5:
      return static_cast<double>(random_element(seed, i == 0 ? 0 : i - 1));
    case 6:
      return 8.0 * usual;
    default:
      return usual;
  }
}

constexpr std::size_t kFewNumbers = 5;
constexpr std::size_t kPiece = 1 << 16;  // elements that one thread draws at a time

/// Which of a few numbers an element is.
std::size_t place_of_few(std::uint64_t seed, std::size_t i, std::size_t numbers) { return random_bits(seed ^ 0x666577, i) % numbers; }

double least_integer(DType dtype) { return range_of(dtype).least < 0.0 ? -128.0 : 0.0; }
double count_of_integers(DType dtype) { return dtype == DType::kBool ? 2.0 : 256.0; }

/// A few whole numbers, and what scalars are: at a threshold, what is above it and what is not below it differ.
std::vector<double> few_numbers(DType dtype, std::span<const double> scalars) {
  const bool is_whole = is_integer(dtype);
  const double first = !is_whole || least_integer(dtype) < 0.0 ? -2.0 : 0.0;
  const double most = is_whole ? least_integer(dtype) + count_of_integers(dtype) - 1.0 : kLarge;
  std::vector<double> numbers;
  for (std::size_t i = 0; i < kFewNumbers; ++i) {
    numbers.push_back(std::min(most, first + static_cast<double>(i)));
  }
  std::ranges::copy_if(scalars, std::back_inserter(numbers), [&](double scalar) {
    return is_whole ? scalar == std::round(scalar) && scalar >= least_integer(dtype) && scalar <= most
                    : std::fabs(scalar) <= most && (scalar == 0.0 || std::fabs(scalar) >= tiny_of(dtype));
  });
  return numbers;
}

double real_element(InputProfile profile, DType dtype, std::size_t i, std::size_t count, std::uint64_t seed) {
  const double usual = static_cast<double>(random_element(seed, i));
  const double tiny = tiny_of(dtype);
  switch (profile) {
    case InputProfile::kMixed:
      return mixed(seed, i, count, tiny);
    case InputProfile::kLarge:
      return kLarge * usual;
    case InputProfile::kTiny:
      return tiny * usual;
    case InputProfile::kZero:
      return 0.0;
    case InputProfile::kNegativeZero:
      return -0.0;
    case InputProfile::kEqual:
      return static_cast<double>(random_element(seed, 0));
    case InputProfile::kOrdered: {
      const double slope = 2.0 * std::fabs((2.0 * static_cast<double>(i) + 1.0) / static_cast<double>(count) - 1.0) - 1.0;
      return seed % 2 == 0 ? slope : -slope;
    }
    case InputProfile::kNegative:
      return usual - 4.0;
    case InputProfile::kPositive:
      return usual + 4.0;
    default:
      return usual;
  }
}

/// Hardly any are set in the first half, and hardly any are not in the second.
double rare_flag(std::uint64_t seed, std::size_t i, std::size_t count) {
  constexpr std::uint64_t kRare = 97;
  const bool is_rare = random_bits(seed ^ 0x666c6167, i) % kRare == 0, is_set = i >= count / 2;
  return is_rare != is_set ? 1.0 : 0.0;
}

double integer_element(InputProfile profile, DType dtype, std::size_t i, std::size_t count, std::uint64_t seed) {
  switch (profile) {
    case InputProfile::kZero:
    case InputProfile::kNegativeZero:
      return 0.0;
    case InputProfile::kEqual:
      return usual_element(dtype, seed, 0);
    case InputProfile::kOrdered:
      return std::floor(count_of_integers(dtype) * static_cast<double>(i) / static_cast<double>(count)) + least_integer(dtype);
    case InputProfile::kMixed:
      return dtype == DType::kBool ? rare_flag(seed, i, count) : usual_element(dtype, seed, i);
    default:
      return usual_element(dtype, seed, i);
  }
}

}  // namespace

std::vector<std::byte> draw(InputProfile profile, DType dtype, std::size_t count, std::uint64_t seed, std::span<const double> scalars) {
  const std::size_t width = size_of(dtype);
  const std::vector<double> numbers = profile == InputProfile::kFew ? few_numbers(dtype, scalars) : std::vector<double>();
  std::vector<std::byte> drawn(count * width);
  // A part of a large problem has millions: a device would wait for one thread.
  parallel_for(0, (count + kPiece - 1) / kPiece, [&](std::size_t piece) {
    for (std::size_t i = piece * kPiece; i < std::min(count, (piece + 1) * kPiece); ++i) {
      const double element = !numbers.empty()    ? numbers[place_of_few(seed, i, numbers.size())]
                             : is_integer(dtype) ? integer_element(profile, dtype, i, count, seed)
                                                 : real_element(profile, dtype, i, count, seed);
      encode(dtype, element, drawn.data() + i * width);
    }
  });
  return drawn;
}

double scalar(InputProfile profile, DType dtype, double usual) {
  const bool is_real = !is_integer(dtype);
  switch (profile) {
    case InputProfile::kOtherScalars:
      return is_real ? (usual == 0.0 ? 0.5 : 0.75 * usual) : (usual == 0.0 ? 1.0 : usual > 1.0 ? usual - 1.0 : usual);
    case InputProfile::kGreatScalars:
      return is_real ? (usual == 0.0 ? 3.3 : 3.3 * usual) : usual;
    case InputProfile::kOtherSigns:
      return is_real ? (usual == 0.0 ? -0.7 : -1.1 * usual) : usual;
    default:
      return usual;
  }
}

}  // namespace measure
}  // namespace hone
