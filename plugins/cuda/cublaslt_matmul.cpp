#include "plugins/cuda/cublaslt_matmul.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "plugins/cuda/cublaslt_product.hpp"
#include "plugins/cuda/device_info.hpp"

namespace hone::cuda {
namespace {

constexpr int kOwnChoice = -1;                        // in place of an id: what the library suggests first
constexpr std::int64_t kMostWorkspaceKiB = 32 << 10;  // what NVIDIA recommends for Hopper
constexpr int kMostSuggestions = 32;                  // version 13 makes 8
constexpr std::size_t kMostVaried = 5;                // suggestions of which variants are listed, too
constexpr std::string_view kWorkspace = "workspace";

/// Larger numbers than any version has; `id` begins with kOwnChoice.
constexpr std::array<std::int64_t, LtTraits::kCount> kMostValues = {1023, 127, 255, 31, 511, 4, 15, 127, 255};
constexpr std::array<std::string_view, LtTraits::kCount> kComments = {"cublasLtMatmulTile_t",
                                                                      "cublasLtMatmulStages_t",
                                                                      "cublasLtClusterShape_t",
                                                                      "cublasLtMatmulInnerShape_t",
                                                                      "parts of k, whose products are added up",
                                                                      "cublasLtReductionScheme_t: how they are",
                                                                      "order of the tiles",
                                                                      "of the algorithm's own",
                                                                      "the library's number; -1: its own choice, whatever the others are"};

/// The operation's arguments in its order, and the workspace.
constexpr std::array<std::string_view, 8> kArguments = {"a", "b", "added", "bias", "out", "alpha", "beta", kWorkspace};

std::vector<Value> range_of_values(std::int64_t first, std::int64_t last) {
  std::vector<Value> values;
  for (std::int64_t value = first; value <= last; ++value) {
    values.emplace_back(value);
  }
  return values;
}

std::vector<Value> workspace_sizes() {
  std::vector<Value> sizes{Value(0)};
  for (std::int64_t size = 1; size <= kMostWorkspaceKiB; size *= 2) {
    sizes.emplace_back(size);
  }
  return sizes;
}

std::vector<Parameter> parameters() {
  std::vector<Parameter> all;
  for (std::size_t i = 0; i < LtTraits::kCount; ++i) {
    const bool is_id = i == LtTraits::kId;
    all.push_back({.name = std::string(LtTraits::kNames[i]),
                   .values = range_of_values(is_id ? kOwnChoice : 0, kMostValues[i]),
                   .default_value = Value(is_id ? kOwnChoice : 0),
                   .comment = std::string(kComments[i])});
  }
  all.push_back({.name = std::string(kWorkspace),
                 .values = workspace_sizes(),
                 .default_value = Value(kMostWorkspaceKiB),
                 .comment = "KiB that it may use"});
  return all;
}

/// At least one byte: there are no empty buffers. Else with room for the alignment that the library wants.
Argument workspace_argument() {
  const Expression kib = Expression::variable(fmt::format("c.{}", kWorkspace));
  Argument workspace;
  workspace.name = kWorkspace;
  workspace.direction = Direction::kWorkspace;
  workspace.element_is_t = false;
  workspace.dtype = DType::kU8;
  const Expression bytes = Expression::make(Operator::kMultiply, {kib, Expression::constant(1024)});
  workspace.extent = Expression::make(Operator::kSelect,
                                      {Expression::make(Operator::kEqual, {kib, Expression::constant(0)}), Expression::constant(1),
                                       Expression::make(Operator::kAdd, {bytes, Expression::constant(LtProduct::kWorkspaceAlignment)})});
  return workspace;
}

/// "tile=20,stages=15,...,workspace=0"
struct Named {
  LtTraits traits;
  std::int64_t workspace_kib = 0;
};

Result<Named> parse(std::string_view text) {
  Named named;
  std::size_t known = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const std::string_view name = part.substr(0, part.find('='));
    const auto trait = std::ranges::find(LtTraits::kNames, name);
    std::int64_t* const into = name == kWorkspace ? &named.workspace_kib
                               : trait == LtTraits::kNames.end()
                                   ? nullptr
                                   : &named.traits.values[static_cast<std::size_t>(trait - LtTraits::kNames.begin())];
    const std::string_view digits = part.substr(std::min(part.size(), name.size() + 1));
    if (into == nullptr || std::from_chars(digits.data(), digits.data() + digits.size(), *into).ec != std::errc()) {
      return Error{ErrorCode::kLaunch, fmt::format("'{}' names no algorithm of cuBLASLt", text)};
    }
    ++known;
  }
  return known == LtTraits::kCount + 1 ? Result<Named>(named)
                                       : Error{ErrorCode::kLaunch, fmt::format("'{}' does not say what the algorithm is", text)};
}

/// Nothing where a trait is beyond what the parameters list.
std::optional<Configuration> configuration_of(const LtChoice& choice) {
  Configuration configuration;
  for (std::size_t i = 0; i < LtTraits::kCount; ++i) {
    if (choice.traits.values[i] > kMostValues[i]) {
      return std::nullopt;
    }
    configuration.values.emplace_back(choice.traits.values[i]);
  }
  const std::size_t kib = (choice.workspace_bytes + 1023) / 1024;
  configuration.values.emplace_back(static_cast<std::int64_t>(kib == 0 ? 0 : std::bit_ceil(kib)));
  return configuration;
}

/// What is new among these.
void add(const std::vector<LtChoice>& choices, LibrarySpace& space) {
  for (const LtChoice& choice : choices) {
    const std::optional<Configuration> one = configuration_of(choice);
    if (one && std::ranges::find(space.configurations, *one) == space.configurations.end()) {
      space.configurations.push_back(*one);
    }
  }
}

class LtKernel final : public LoadedKernel {
 public:
  LtKernel(LtProduct product, const LtChoice& choice, const std::vector<int>& arguments)
      : product_(std::move(product)), choice_(choice), arguments_(arguments) {}

  Result<void> launch(void* stream, std::span<void* const> arguments) const override {
    const auto pointer = [&](std::size_t i) { return *static_cast<void* const*>(value(arguments, i)); };
    const LtProduct::Operands operands{.a = pointer(0),
                                       .b = pointer(1),
                                       .added = pointer(2),
                                       .bias = pointer(3),
                                       .out = pointer(4),
                                       .workspace = pointer(7),
                                       .alpha = static_cast<const float*>(value(arguments, 5)),
                                       .beta = static_cast<const float*>(value(arguments, 6))};
    const auto scope = product_.context().enter();
    return product_.launch(choice_, static_cast<StreamHandle>(stream), operands);
  }
  [[nodiscard]] Resources resources() const override { return {}; }

 private:
  [[nodiscard]] void* value(std::span<void* const> arguments, std::size_t i) const {
    return arguments[static_cast<std::size_t>(arguments_[i])];
  }

  LtProduct product_;
  LtChoice choice_;
  std::vector<int> arguments_;  ///< where each of kArguments is
};

class LtSession final : public LibrarySession {
 public:
  explicit LtSession(std::shared_ptr<const LtContext> context) : context_(std::move(context)) {}

  Result<std::unique_ptr<LoadedKernel>> load(const std::string& configuration, const PassLaunch& pass, const Problem& problem) override {
    if (pass.arguments.size() != kArguments.size()) {
      return Error{ErrorCode::kLaunch, fmt::format("cublaslt takes {} arguments, not {}", kArguments.size(), pass.arguments.size())};
    }
    HONE_ASSIGN(const Named named, parse(configuration));
    const auto scope = context_->enter();
    HONE_ASSIGN(LtProduct product, LtProduct::create(context_, problem));
    HONE_ASSIGN(const LtChoice choice, chosen(product, named));
    return std::unique_ptr<LoadedKernel>(std::make_unique<LtKernel>(std::move(product), choice, pass.arguments));
  }

 private:
  static Result<LtChoice> chosen(const LtProduct& product, const Named& named) {
    const std::size_t workspace = static_cast<std::size_t>(named.workspace_kib) << 10U;
    if (named.traits.values[LtTraits::kId] != kOwnChoice) {
      return product.find(named.traits, workspace);
    }
    HONE_ASSIGN(const std::vector<LtChoice> suggested, product.suggested(workspace, 1));
    return suggested.front();
  }

  std::shared_ptr<const LtContext> context_;
};

class LtMatmul final : public CudaLibraryKernel {
 public:
  [[nodiscard]] std::string_view name() const override { return "cublaslt"; }
  [[nodiscard]] std::string_view operation() const override { return "matmul"; }
  [[nodiscard]] std::string_view summary() const override { return "NVIDIA's cuBLASLt: the space is its algorithms for the problem"; }

  [[nodiscard]] Result<LibraryVersion> version() const override {
    HONE_ASSIGN(const CublasLt* const library, cublaslt());
    return LibraryVersion{library->version, library->path};
  }

  void describe(KernelSpec& spec) const override {
    spec.dtypes = {DType::kF32, DType::kF16, DType::kBF16};
    spec.parameters = parameters();
    const Expression plain = Expression::make(Operator::kLessEqual, {Expression::variable("p.activation"), Expression::constant(2)});
    spec.constraints = {{.condition = plain, .text = "p.activation <= 2", .comment = "its gelu is an approximation, silu it has none"}};
    spec.arguments.push_back(workspace_argument());
    if (!std::ranges::equal(spec.arguments, kArguments, {}, &Argument::name)) {
      throw ContractError("the arguments of matmul are not those that cublaslt is called with");
    }
  }

  [[nodiscard]] Result<LibrarySpace> space(const DeviceInfo& info, const Problem& problem) const override {
    constexpr std::size_t kMostBytes = std::size_t{kMostWorkspaceKiB} << 10U;
    HONE_ASSIGN(const DeviceOrdinal ordinal, find_device(info));
    HONE_ASSIGN(std::shared_ptr<PrimaryContext> context, PrimaryContext::retain(ordinal));
    HONE_ASSIGN(const std::shared_ptr<const LtContext> library, LtContext::start(std::move(context)));
    const auto scope = library->enter();
    HONE_ASSIGN(const LtProduct product, LtProduct::create(library, problem));
    HONE_ASSIGN(const std::vector<LtChoice> suggested, product.suggested(kMostBytes, kMostSuggestions));
    LibrarySpace space;
    add(suggested, space);
    space.suggested = space.configurations.size();
    for (std::size_t i = 0; i < std::min(suggested.size(), kMostVaried); ++i) {
      add(product.variants(suggested[i], kMostBytes), space);
    }
    return space;
  }

  Result<std::shared_ptr<LibrarySession>> start(std::shared_ptr<PrimaryContext> context) const override {
    HONE_ASSIGN(std::shared_ptr<const LtContext> started, LtContext::start(std::move(context)));
    return std::shared_ptr<LibrarySession>(std::make_shared<LtSession>(std::move(started)));
  }
};

}  // namespace

const CudaLibraryKernel& cublaslt_matmul() {
  static const LtMatmul kernel;
  return kernel;
}

}  // namespace hone::cuda
