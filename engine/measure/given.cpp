#include "engine/measure/given.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "engine/base/digest.hpp"
#include "engine/measure/element.hpp"
#include "engine/measure/npy.hpp"

namespace hone {
namespace {

using measure::NpyArray;

Error misfit(const std::string& file, const std::string& argument, const std::string& why) {
  return Error{ErrorCode::kInvalidArgument, fmt::format("{}: it cannot be argument '{}': {}", file, argument, why)};
}

/// What the file's elements are, where numbers are all they are.
std::optional<DType> dtype_of(const NpyArray& array) {
  constexpr std::array kFloats{DType::kF16, DType::kF32, DType::kF64};
  constexpr std::array kSigned{DType::kI8, DType::kI16, DType::kI32, DType::kI64};
  constexpr std::array kUnsigned{DType::kU8, DType::kU16, DType::kU32, DType::kU64};
  const auto of_width = [&](const auto& dtypes) {
    const auto* const found = std::ranges::find_if(dtypes, [&](DType dtype) { return size_of(dtype) == array.width; });
    return found == dtypes.end() ? std::nullopt : std::optional<DType>(*found);
  };
  switch (array.kind) {
    case 'f':
      return of_width(kFloats);
    case 'i':
      return of_width(kSigned);
    case 'u':
      return of_width(kUnsigned);
    case 'b':
      return DType::kBool;
    default:
      return std::nullopt;
  }
}

/// NumPy has no type of its own for these: it holds their bits.
bool holds_bits(const NpyArray& array, DType element) {
  const bool foreign = element == DType::kBF16 || size_of(element) == 1;
  return foreign && array.width == size_of(element) && (array.kind == 'V' || (array.kind == 'u' && !is_integer(element)));
}

std::int64_t whole(DType from, const std::byte* at) {
  std::int64_t value = 0;
  std::memcpy(&value, at, size_of(from));
  const auto unused = static_cast<unsigned>(64 - 8 * size_of(from));
  const bool has_sign = from == DType::kI8 || from == DType::kI16 || from == DType::kI32;
  return has_sign ? static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << unused) >> unused : value;
}

Result<NpyArray> read_counted(const std::string& file, const std::string& argument, std::size_t count) {
  HONE_ASSIGN(NpyArray array, measure::read_npy(file));
  if (array.count() != count) {
    return misfit(file, argument, fmt::format("it has {} elements; the problem has {}", array.count(), count));
  }
  return array;
}

/// Of p.rows * p.cols the fields in their order; nothing where it is no product of fields.
std::optional<std::vector<std::string>> factors(const Expression& extent) {
  const Expression::Node& node = extent.node();
  if (node.op == Operator::kVariable && node.name.starts_with("p.")) {
    return std::vector<std::string>{node.name.substr(2)};
  }
  if (node.op != Operator::kMultiply) {
    return std::nullopt;
  }
  auto left = factors(node.operands[0]), right = factors(node.operands[1]);
  if (!left || !right) {
    return std::nullopt;
  }
  left->insert(left->end(), right->begin(), right->end());
  return left;
}

const Argument* find_argument(const KernelSpec& spec, const std::string& name) {
  const auto found = std::ranges::find(spec.arguments, name, &Argument::name);
  return found == spec.arguments.end() ? nullptr : &*found;
}

Result<std::map<std::string, std::string>> checked(const KernelSpec& spec, const std::map<std::string, std::filesystem::path>& files,
                                                   bool answers, std::string& seen) {
  std::map<std::string, std::string> result;
  for (const auto& [name, file] : files) {
    const Argument* const argument = find_argument(spec, name);
    const Direction other = answers ? Direction::kOut : Direction::kIn;
    if (argument == nullptr || (argument->direction != other && argument->direction != Direction::kInOut)) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("'{}' is no {} of {}", name, answers ? "output" : "input", spec.name)};
    }
    HONE_ASSIGN(const NpyArray array, measure::read_npy(file));
    seen += fmt::format("{} {} {}{} {}\n", answers ? "expect" : "input", name, array.kind, array.width, digest(array.bytes));
    result.emplace(name, std::filesystem::absolute(file).lexically_normal().string());
  }
  return result;
}

}  // namespace

Result<Given> find_given(const KernelSpec& spec, const std::map<std::string, std::filesystem::path>& inputs,
                         const std::map<std::string, std::filesystem::path>& answers) {
  Given given;
  std::string seen;
  HONE_ASSIGN(given.inputs, checked(spec, inputs, false, seen));
  HONE_ASSIGN(given.answers, checked(spec, answers, true, seen));
  given.digest = given.empty() ? "" : digest(seen);
  return given;
}

Result<std::map<std::string, std::int64_t>> given_fields(const KernelSpec& spec, const Given& given) {
  std::map<std::string, std::int64_t> fields;
  for (const auto* files : {&given.inputs, &given.answers}) {
    for (const auto& [name, file] : *files) {
      const auto named = factors(find_argument(spec, name)->extent);
      HONE_ASSIGN(const NpyArray array, measure::read_npy(file));
      if (!named || named->size() != array.shape.size()) {
        continue;  // the number of elements is compared when the array is used
      }
      for (std::size_t axis = 0; axis < named->size(); ++axis) {
        const auto [known, is_new] = fields.emplace((*named)[axis], array.shape[axis]);
        if (!is_new && known->second != array.shape[axis]) {
          return misfit(file, name, fmt::format("p.{} is {} here but {} in another array", known->first, array.shape[axis], known->second));
        }
      }
    }
  }
  return fields;
}

std::vector<DTypes> given_dtypes(const KernelSpec& spec, const Given& given) {
  std::vector<DTypes> left = spec.dtypes;
  for (const auto& [name, file] : given.inputs) {
    const Argument* const argument = find_argument(spec, name);
    const Result<NpyArray> array = measure::read_npy(file);
    if (!argument->element_is_t || !array) {
      continue;
    }
    std::vector<DTypes> fitting = left;
    std::erase_if(fitting, [&](const DTypes& dtypes) {
      const DType element = argument->element(dtypes);
      return dtype_of(*array) != element && !(holds_bits(*array, element) && !dtype_of(*array));
    });
    left = fitting.empty() ? left : fitting;
  }
  return left;
}

Result<std::vector<std::byte>> given_elements(const std::string& file, const std::string& argument, DType element, std::size_t count) {
  HONE_ASSIGN(NpyArray array, read_counted(file, argument, count));
  const std::optional<DType> type = dtype_of(array);
  if (type == element || holds_bits(array, element)) {
    return std::move(array.bytes);
  }
  if (!type || is_integer(*type) != is_integer(element)) {
    return misfit(file, argument, fmt::format("its elements are '{}{}', those of the argument {}", array.kind, array.width, name(element)));
  }
  std::vector<std::byte> elements(count * size_of(element));
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* const from = array.bytes.data() + i * array.width;
    std::byte* const to = elements.data() + i * size_of(element);
    if (!is_integer(element)) {
      measure::encode(element, measure::decode(*type, from), to);
      continue;
    }
    const double value = measure::decode(*type, from);
    if (value < range_of(element).least || value > range_of(element).most) {
      return misfit(file, argument, fmt::format("{} at index {} does not fit into {}", value, i, name(element)));
    }
    measure::encode(element, whole(*type, from), to);
  }
  return elements;
}

Result<std::vector<double>> given_answer(const std::string& file, const std::string& argument, DType element, std::size_t count) {
  HONE_ASSIGN(const NpyArray array, read_counted(file, argument, count));
  const std::optional<DType> type = dtype_of(array) ? dtype_of(array) : holds_bits(array, element) ? std::optional(element) : std::nullopt;
  if (!type) {
    return misfit(file, argument, fmt::format("its elements are '{}{}', those of the argument {}", array.kind, array.width, name(element)));
  }
  std::vector<double> answer(count);
  for (std::size_t i = 0; i < count; ++i) {
    answer[i] = measure::decode(*type, array.bytes.data() + i * array.width);
  }
  return answer;
}

}  // namespace hone
