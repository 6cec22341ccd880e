#include "plugins/cuda/cublaslt_product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace hone::cuda {
namespace {

constexpr int kMostIds = 128;
constexpr std::uint32_t kAlignment = 16;  // what every pointer of an application has at least (docs/checking.md)

/// In the order of LtTraits.
struct LtAttribute {
  LtAlgorithmAttribute attribute;
  bool narrow = false;  ///< 16 bits instead of 32
};
constexpr std::array<LtAttribute, LtTraits::kCount> kAttributes = {{{LtAlgorithmAttribute::kTile},
                                                                    {LtAlgorithmAttribute::kStages},
                                                                    {LtAlgorithmAttribute::kClusterShape, true},
                                                                    {LtAlgorithmAttribute::kInnerShape, true},
                                                                    {LtAlgorithmAttribute::kSplit},
                                                                    {LtAlgorithmAttribute::kReduction},
                                                                    {LtAlgorithmAttribute::kSwizzle},
                                                                    {LtAlgorithmAttribute::kOption},
                                                                    {LtAlgorithmAttribute::kId}}};

std::int64_t field(const Problem& problem, std::string_view name) {
  const auto found = std::ranges::find(problem.shape, name, &Shape::value_type::first);
  return found == problem.shape.end() ? 1 : found->second;
}

Result<int> type_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return kLtF32;
    case DType::kF16:
      return kLtF16;
    case DType::kBF16:
      return kLtBf16;
    default:
      return Error{ErrorCode::kInvalidArgument, fmt::format("no products of {} by cuBLASLt: f32, f16 and bf16 are known", name(dtype))};
  }
}

/// An attribute of an operation or of a preference, unless something failed before.
template <class Set, class Object, class Name, class T>
void set(int& status, Set function, Object& object, Name attribute, const T& value) {
  status = status == kLtSuccess ? function(&object, attribute, &value, sizeof value) : status;
}

}  // namespace

Result<LtProduct> LtProduct::create(std::shared_ptr<const LtContext> context, const Problem& problem) {
  LtProduct product(std::move(context));
  HONE_TRY(product.describe(problem));
  return product;
}

Result<void> LtProduct::describe(const Problem& problem) {
  const std::int64_t m = field(problem, "m"), n = field(problem, "n"), k = field(problem, "k");
  const std::int64_t layout = field(problem, "layout"), terms = field(problem, "terms"), activation = field(problem, "activation");
  HONE_ASSIGN(type_, type_of(problem.dtype.first()));
  if (layout < 1 || layout > 4 || terms < 1 || terms > 4 || activation < 1 || activation > 2) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("cuBLASLt does not compute layout={}, terms={}, activation={} as the operation says", layout, terms, activation)};
  }
  added_ = terms % 2 == 0;
  biased_ = terms >= 3;
  const bool b_is_k_major = layout % 2 == 0, a_is_k_major = layout <= 2;
  const CublasLtApi& api = context_->api();
  const std::int32_t first = b_is_k_major ? kLtTranspose : 0, second = a_is_k_major ? 0 : kLtTranspose;
  const std::uint32_t epilogue = (activation == 2 ? kLtRelu : 0) + (biased_ ? kLtBias : 0);
  int status = api.operation_init(&operation_, sizeof operation_, kLtComputeF32, kLtF32);
  set(status, api.operation_set, operation_, LtOperationAttribute::kTransposeA, first);
  set(status, api.operation_set, operation_, LtOperationAttribute::kTransposeB, second);
  if (epilogue != 0) {
    set(status, api.operation_set, operation_, LtOperationAttribute::kEpilogue, epilogue);
  }
  const auto layout_of = [&](LtLayout& view, std::int64_t rows, std::int64_t columns) {
    status = status == kLtSuccess
                 ? api.layout_init(&view, sizeof view, type_, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), rows)
                 : status;
  };
  layout_of(a_, b_is_k_major ? k : n, b_is_k_major ? n : k);
  layout_of(b_, a_is_k_major ? k : m, a_is_k_major ? m : k);
  layout_of(out_, n, m);
  return status == kLtSuccess ? Result<void>() : context_->error(status, "the problem cannot be described");
}

std::optional<LtTraits> LtProduct::traits_of(const LtAlgorithm& algorithm) const {
  LtTraits traits;
  for (std::size_t i = 0; i < kAttributes.size(); ++i) {
    std::uint32_t wide = 0;
    std::uint16_t narrow = 0;
    std::size_t written = 0;
    void* const into = kAttributes[i].narrow ? static_cast<void*>(&narrow) : &wide;
    const std::size_t size = kAttributes[i].narrow ? sizeof narrow : sizeof wide;
    if (context_->api().algorithm_get(&algorithm, kAttributes[i].attribute, into, size, &written) != kLtSuccess) {
      return std::nullopt;
    }
    traits.values[i] = kAttributes[i].narrow ? narrow : wide;
  }
  return traits;
}

bool LtProduct::apply(const LtTraits& traits, LtAlgorithm& algorithm) const {
  for (std::size_t i = 0; i < LtTraits::kId; ++i) {
    const auto wide = static_cast<std::uint32_t>(traits.values[i]);
    const auto narrow = static_cast<std::uint16_t>(traits.values[i]);
    const void* const from = kAttributes[i].narrow ? static_cast<const void*>(&narrow) : &wide;
    const std::size_t size = kAttributes[i].narrow ? sizeof narrow : sizeof wide;
    if (context_->api().algorithm_set(&algorithm, kAttributes[i].attribute, from, size) != kLtSuccess) {
      return false;
    }
  }
  return true;
}

std::optional<LtChoice> LtProduct::checked(const LtAlgorithm& algorithm, std::size_t workspace_bytes) const {
  LtSuggestion result;
  const int status = context_->api().algorithm_check(context_->handle(), &operation_, &a_, &b_, &out_, &out_, &algorithm, &result);
  const std::optional<LtTraits> traits = traits_of(algorithm);
  if (status != kLtSuccess || result.status != kLtSuccess || !traits || result.workspace_bytes > workspace_bytes) {
    return std::nullopt;
  }
  return LtChoice{*traits, algorithm, result.workspace_bytes};
}

Result<std::vector<LtChoice>> LtProduct::suggested(std::size_t workspace_bytes, int most) const {
  const CublasLtApi& api = context_->api();
  LtPreference preference;
  int status = api.preference_init(&preference, sizeof preference);
  set(status, api.preference_set, preference, LtPreferenceAttribute::kMaxWorkspaceBytes, static_cast<std::uint64_t>(workspace_bytes));
  set(status, api.preference_set, preference, LtPreferenceAttribute::kReductions, kLtSumsInFloat);
  for (const LtPreferenceAttribute attribute : {LtPreferenceAttribute::kAlignmentA, LtPreferenceAttribute::kAlignmentB,
                                                LtPreferenceAttribute::kAlignmentC, LtPreferenceAttribute::kAlignmentD}) {
    set(status, api.preference_set, preference, attribute, kAlignment);
  }
  std::vector<LtSuggestion> suggestions(static_cast<std::size_t>(most));
  int count = 0;
  if (status == kLtSuccess) {
    status = api.suggest(context_->handle(), &operation_, &a_, &b_, &out_, &out_, &preference, most, suggestions.data(), &count);
  }
  if (status != kLtSuccess) {
    return context_->error(status, "no algorithm is known for this problem");
  }
  suggestions.resize(static_cast<std::size_t>(count));
  std::vector<LtChoice> choices;
  for (const LtSuggestion& suggestion : suggestions) {
    const std::optional<LtTraits> traits = traits_of(suggestion.algorithm);
    if (suggestion.status == kLtSuccess && traits) {
      choices.push_back({*traits, suggestion.algorithm, suggestion.workspace_bytes});
    }
  }
  return choices.empty() ? Result<std::vector<LtChoice>>(context_->error(kLtNotSupported, "no algorithm is known for this problem"))
                         : std::move(choices);
}

std::int64_t LtProduct::capability(const LtAlgorithm& algorithm, LtCapability capability) const {
  std::int32_t value = 0;
  std::size_t written = 0;
  const int status = context_->api().algorithm_capability(&algorithm, capability, &value, sizeof value, &written);
  return status == kLtSuccess ? value : 0;
}

/// As far as the library says that the algorithm takes it.
std::vector<LtTraits> LtProduct::neighbours(const LtChoice& choice) const {
  constexpr std::array<std::int64_t, 8> kSplits = {1, 2, 3, 4, 6, 8, 16, 32};
  constexpr std::int64_t kMostOrders = 4, kMostOptions = 16;
  std::vector<LtTraits> all;
  const auto add = [&](LtTraits::Trait trait, std::int64_t value) {
    LtTraits other = choice.traits;
    other.values[trait] = value;
    if (trait == LtTraits::kSplit) {
      other.values[LtTraits::kReduction] = value == 1 ? 0 : 2;  // CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
    }
    if (!(other == choice.traits)) {
      all.push_back(other);
    }
  };
  if (capability(choice.algorithm, LtCapability::kSplit) != 0) {
    std::ranges::for_each(kSplits, [&](std::int64_t split) { add(LtTraits::kSplit, split); });
  }
  const std::int64_t orders = std::min(kMostOrders, capability(choice.algorithm, LtCapability::kSwizzle));
  for (std::int64_t order = 0; order <= orders; ++order) {
    add(LtTraits::kSwizzle, order);
  }
  const std::int64_t options = std::min(kMostOptions, capability(choice.algorithm, LtCapability::kMostOption));
  for (std::int64_t option = 0; option <= options; ++option) {
    add(LtTraits::kOption, option);
  }
  return all;
}

std::vector<LtChoice> LtProduct::variants(const LtChoice& choice, std::size_t workspace_bytes) const {
  std::vector<LtChoice> all;
  for (const LtTraits& traits : neighbours(choice)) {
    LtAlgorithm algorithm = choice.algorithm;
    const std::optional<LtChoice> one = apply(traits, algorithm) ? checked(algorithm, workspace_bytes) : std::nullopt;
    if (one && one->traits == traits) {
      all.push_back(*one);
    }
  }
  return all;
}

Result<LtChoice> LtProduct::find(const LtTraits& traits, std::size_t workspace_bytes) const {
  const CublasLtApi& api = context_->api();
  std::array<int, kMostIds> ids{};
  int count = 0;
  if (const int status =
          api.algorithm_ids(context_->handle(), kLtComputeF32, kLtF32, type_, type_, type_, type_, kMostIds, ids.data(), &count);
      status != kLtSuccess) {
    return context_->error(status, "it has no algorithms");
  }
  const auto end = ids.begin() + count;
  std::stable_partition(ids.begin(), end, [&](int id) { return id == traits.values[LtTraits::kId]; });
  for (auto id = ids.begin(); id != end; ++id) {
    LtAlgorithm algorithm;
    if (api.algorithm_init(context_->handle(), kLtComputeF32, kLtF32, type_, type_, type_, type_, *id, &algorithm) != kLtSuccess ||
        !apply(traits, algorithm)) {
      continue;
    }
    if (const std::optional<LtChoice> one = checked(algorithm, workspace_bytes)) {
      return *one;
    }
  }
  return context_->error(kLtNotSupported, "it has no such algorithm for this problem");
}

Result<void> LtProduct::launch(const LtChoice& choice, StreamHandle stream, const Operands& operands) const {
  static constexpr float kNothing = 0.0F;
  const CublasLtApi& api = context_->api();
  LtOperation with_bias;
  LtOperation* operation = &operation_;
  if (biased_) {  // a copy: other threads launch, too
    with_bias = operation_;
    operation = &with_bias;
    if (const int status = api.operation_set(operation, LtOperationAttribute::kBiasPointer, &operands.bias, sizeof operands.bias);
        status != kLtSuccess) {
      return context_->error(status, "the bias cannot be set");
    }
  }
  std::size_t room = choice.workspace_bytes + kWorkspaceAlignment;
  void* workspace = choice.workspace_bytes == 0 ? nullptr : operands.workspace;
  workspace = workspace == nullptr ? nullptr : std::align(kWorkspaceAlignment, choice.workspace_bytes, workspace, room);
  const int status = api.matmul(context_->handle(), operation, operands.alpha, operands.b, &a_, operands.a, &b_,
                                added_ ? operands.beta : &kNothing, added_ ? operands.added : operands.out, &out_, operands.out, &out_,
                                &choice.algorithm, workspace, choice.workspace_bytes, stream);
  return status == kLtSuccess ? Result<void>() : context_->error(status, "the product cannot be launched");
}

}  // namespace hone::cuda
