#pragma once
// Strategies in C++: a class with ask and tell becomes a plugin. Header-only, based on <hone/plugin.h>; needs no other part of Hone.
//
//   class Mine : public hone::plugin::Strategy {
//    public:
//     static constexpr hone::plugin::About kAbout{.name = "mine", .summary = "what it does", .source = "paper or URL"};
//     explicit Mine(const hone::plugin::Context& context);
//     std::vector<hone::plugin::Position> ask(std::size_t wanted) override;
//     void tell(std::span<const hone::plugin::Observation> observations) override;
//   };
//   HONE_STRATEGIES(Mine)

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "hone/plugin.h"

namespace hone::plugin {

/// A position in the search space, or a count of positions.
__extension__ using Position = unsigned __int128;

constexpr hone_position to_c(Position position) {
  return {static_cast<std::uint64_t>(position), static_cast<std::uint64_t>(position >> 64)};
}
constexpr Position from_c(hone_position position) { return Position{position.high} << 64 | position.low; }

struct PositionHash {
  std::size_t operator()(Position position) const {
    const auto high = static_cast<std::uint64_t>(position >> 64), low = static_cast<std::uint64_t>(position);
    return static_cast<std::size_t>((low ^ (high * 0x9e3779b97f4a7c15ULL)) * 0xff51afd7ed558ccdULL);
  }
};

/// Pseudo-random numbers, the same on every platform: splitmix64 (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }
  /// Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// Uniform in [0, size), size > 0: numbers beyond the largest multiple of `size` are drawn again, since they favour small results.
  Position below(Position size) {
    const Position limit = ~Position{0} - ~Position{0} % size;
    for (;;) {
      const Position high = next();
      const Position drawn = high << 64 | next();
      if (drawn < limit) {
        return drawn % size;
      }
    }
  }
  std::size_t index(std::size_t size) { return static_cast<std::size_t>(below(size)); }

 private:
  std::uint64_t state_ = 0;
};

/// For each dimension the index of its value in the list of values.
using Digits = std::vector<std::uint16_t>;

enum class Neighbourhood : std::int32_t { kHamming = HONE_HAMMING, kAdjacent = HONE_ADJACENT };

namespace detail {

/// For arrays whose elements are longer or shorter than this header's structs.
constexpr std::size_t stride_or(std::size_t given, std::size_t known) { return given != 0 ? given : known; }

}  // namespace detail

/// A condition of `likely` in the kernel file, and the reason beside it.
struct Expectation {
  std::string_view text, comment;
};

/// The valid configurations, seen through functions. Cheap to copy.
class Space {
 public:
  explicit Space(const hone_space& functions) : space_(&functions) {}

  [[nodiscard]] Position size() const { return from_c(space_->size); }
  [[nodiscard]] std::size_t dimensions() const { return space_->dimension_count; }
  [[nodiscard]] const hone_dimension& dimension(std::size_t i) const {
    const std::size_t stride = HONE_HAS(hone_space, space_, dimension_stride) ? space_->dimension_stride : 0;
    return *HONE_AT(hone_dimension, space_->dimensions, detail::stride_or(stride, sizeof(hone_dimension)), i);
  }

  /// Throws std::out_of_range for a position that does not exist.
  void at(Position position, std::uint16_t* digits) const {
    if (space_->at(space_->self, to_c(position), digits) != 0) {
      throw std::out_of_range("Space::at: the position is outside the space");
    }
  }
  [[nodiscard]] Digits at(Position position) const {
    Digits digits(dimensions());
    at(position, digits.data());
    return digits;
  }
  /// Nothing if the configuration is not valid.
  [[nodiscard]] std::optional<Position> index(const std::uint16_t* digits) const {
    hone_position position;
    return space_->index(space_->self, digits, &position) == 0 ? std::optional(from_c(position)) : std::nullopt;
  }
  [[nodiscard]] std::optional<Position> index(const Digits& digits) const { return index(digits.data()); }
  /// The valid configuration nearest to one that may be invalid.
  [[nodiscard]] Position nearest(const Digits& digits) const { return from_c(space_->nearest(space_->self, digits.data())); }
  /// Uniform.
  [[nodiscard]] Position sample(Random& random) const { return random.below(size()); }
  /// Up to `count` distinct positions, uniform without replacement.
  [[nodiscard]] std::vector<Position> sample(Random& random, std::size_t count) const {
    std::vector<hone_position> drawn(count);
    drawn.resize(space_->sample(space_->self, random.next(), count, drawn.data()));
    return positions(drawn);
  }
  /// In order of position.
  [[nodiscard]] std::vector<Position> neighbours(Position position, Neighbourhood kind) const {
    std::size_t most = 0;
    for (std::size_t i = 0; i < dimensions(); ++i) {
      most += kind == Neighbourhood::kHamming ? dimension(i).count - 1 : 2;
    }
    std::vector<hone_position> found(most);
    found.resize(space_->neighbours(space_->self, to_c(position), static_cast<std::int32_t>(kind), most, found.data()));
    return positions(found);
  }

  /// The number of expectations of the kernel's author. A configuration that breaks one is valid and may win.
  [[nodiscard]] std::size_t expectations() const { return HONE_HAS(hone_space, space_, broken) ? space_->expectation_count : 0; }
  [[nodiscard]] Expectation expectation(std::size_t i) const {
    const std::size_t stride = detail::stride_or(space_->expectation_stride, sizeof(hone_expectation));
    const hone_expectation& one = *HONE_AT(hone_expectation, space_->expectations, stride, i);
    return {one.text, one.comment};
  }
  /// The number of positions that meet all expectations: at least 1; all if there are no expectations.
  [[nodiscard]] Position likely_size() const { return expectations() > 0 ? from_c(space_->likely_size) : size(); }
  [[nodiscard]] bool is_likely(Position position) const {
    return expectations() > 0 ? space_->is_likely(space_->self, to_c(position)) != 0 : position < size();
  }
  /// Up to `count` distinct likely positions, uniform without replacement.
  [[nodiscard]] std::vector<Position> sample_likely(Random& random, std::size_t count) const {
    if (expectations() == 0) {
      return sample(random, count);
    }
    std::vector<hone_position> drawn(count);
    drawn.resize(space_->sample_likely(space_->self, random.next(), count, drawn.data()));
    return positions(drawn);
  }
  /// The expectations that a position breaks, ascending.
  [[nodiscard]] std::vector<std::uint32_t> broken(Position position) const {
    std::vector<std::uint32_t> places(expectations());
    if (!places.empty()) {
      places.resize(space_->broken(space_->self, to_c(position), places.size(), places.data()));
    }
    return places;
  }

 private:
  static std::vector<Position> positions(const std::vector<hone_position>& given) {
    std::vector<Position> converted(given.size());
    std::ranges::transform(given, converted.begin(), from_c);
    return converted;
  }
  const hone_space* space_;
};

/// The outcome of a configuration.
struct Observation : hone_observation {
  [[nodiscard]] Position at() const { return from_c(position); }
  [[nodiscard]] bool ok() const { return outcome == HONE_OK; }
  /// Dropped after one cold run far behind the fastest: its time is approximate, and it cannot win.
  [[nodiscard]] bool too_slow() const { return outcome == HONE_TOO_SLOW; }
  /// Whether it has a positive finite time. A clock too coarse for a kernel gives 0; a foreign record may contain anything.
  [[nodiscard]] bool timed() const { return (ok() || too_slow()) && time_us > 0.0 && time_us < std::numeric_limits<double>::infinity(); }
  /// Whether it can win: correct, and with such a time.
  [[nodiscard]] bool eligible() const { return ok() && timed(); }
  /// What to minimise: the time, or infinity for a failure or without a time.
  [[nodiscard]] double objective() const { return timed() ? time_us : std::numeric_limits<double>::infinity(); }
};
static_assert(sizeof(Observation) == sizeof(hone_observation));

/// Observations as an array of this header's structs: in place, or copied if they are longer or shorter.
class Observations {
 public:
  Observations(const hone_observation* first, std::size_t count, std::size_t stride) {
    if (stride == sizeof(Observation)) {
      all_ = {static_cast<const Observation*>(first), count};
      return;
    }
    auto copied = std::make_shared<std::vector<Observation>>(count);
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(static_cast<hone_observation*>(&(*copied)[i]), HONE_AT(hone_observation, first, stride, i),
                  std::min(stride, sizeof(hone_observation)));
    }
    all_ = *copied;
    copied_ = std::move(copied);
  }
  [[nodiscard]] std::span<const Observation> all() const { return all_; }
  [[nodiscard]] std::shared_ptr<const void> copied() const { return copied_; }

 private:
  std::span<const Observation> all_;
  std::shared_ptr<const void> copied_;
};

/// The store's data on the same kernel for another shape, dtype or device, or from an earlier session.
struct Prior {
  std::string_view device, dtype, shape;
  std::span<const Observation> observations;
  std::shared_ptr<const void> kept = nullptr;  ///< owner of the observations, if not the context
};

/// A declared parameter of a strategy.
using Parameter = hone_parameter;
constexpr Parameter real(const char* name, const char* help, double value, double minimum, double maximum) {
  return {name, help, HONE_REAL, value, minimum, maximum};
}
constexpr Parameter integer(const char* name, const char* help, double value, double minimum, double maximum) {
  return {name, help, HONE_INTEGER, value, minimum, maximum};
}
constexpr Parameter flag(const char* name, const char* help, bool value) { return {name, help, HONE_FLAG, value ? 1.0 : 0.0, 0.0, 1.0}; }

/// The description of a strategy, a static member `kAbout` of its class.
struct About {
  const char* name = "";
  const char* summary = "";
  const char* source = "";  ///< paper or URL
  std::span<const Parameter> parameters = {};
  bool weighs_expectations = false;  ///< it sees all valid configurations from the beginning
};

/// The input of an instance; views into it live as long as the instance.
class Context {
 public:
  Context(const hone_strategy_context& context, const About& about) : context_(&context), about_(&about) {}

  [[nodiscard]] Space space() const { return Space(*context_->space); }
  [[nodiscard]] std::uint64_t seed() const { return context_->seed; }
  /// The kernel's default, tried before the strategy is asked.
  [[nodiscard]] std::optional<Position> first() const {
    return context_->first != nullptr ? std::optional(from_c(*context_->first)) : std::nullopt;
  }
  /// The expected number of trials; 0 if unknown.
  [[nodiscard]] std::uint64_t expected_trials() const { return context_->expected_trials; }
  /// The value of a declared parameter. Throws std::invalid_argument for a name that is not declared.
  [[nodiscard]] double parameter(std::string_view name) const {
    for (std::size_t i = 0; i < about_->parameters.size(); ++i) {
      if (about_->parameters[i].name == name) {
        return context_->parameters[i];
      }
    }
    throw std::invalid_argument("the strategy declares no parameter '" + std::string(name) + "'");
  }
  /// An integer parameter, as a count.
  [[nodiscard]] std::size_t count(std::string_view name) const { return static_cast<std::size_t>(parameter(name)); }
  [[nodiscard]] std::vector<Prior> priors() const {
    std::vector<Prior> priors;
    for (std::size_t i = 0; i < context_->prior_count; ++i) {
      const std::size_t stride = HONE_HAS(hone_strategy_context, context_, prior_stride) ? context_->prior_stride : 0;
      const hone_prior& prior = *HONE_AT(hone_prior, context_->priors, detail::stride_or(stride, sizeof(hone_prior)), i);
      const Observations seen(prior.observations, prior.observation_count, observation_stride());
      priors.push_back({prior.device, prior.dtype, prior.shape, seen.all(), seen.copied()});
    }
    return priors;
  }
  /// The data that `save` returned in an earlier session of this kernel and strategy; empty if there was none.
  [[nodiscard]] std::string_view model() const { return {static_cast<const char*>(context_->model), context_->model_bytes}; }
  /// The stride of observations in the C interface.
  [[nodiscard]] std::size_t observation_stride() const {
    const std::size_t stride = HONE_HAS(hone_strategy_context, context_, observation_stride) ? context_->observation_stride : 0;
    return detail::stride_or(stride, sizeof(hone_observation));
  }

 private:
  const hone_strategy_context* context_;
  const About* about_;
};

/// The base class of a strategy. An exception costs its turn, not the session.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Up to `wanted` positions; fewer, or none, while it waits for outcomes.
  virtual std::vector<Position> ask(std::size_t wanted) = 0;
  /// Outcomes in the order of completion, including trials it did not propose.
  virtual void tell(std::span<const Observation> observations) = 0;
  /// A model for later sessions of the same kernel and strategy.
  [[nodiscard]] virtual std::string save() const { return {}; }
};

/// Positions that must not be proposed again: those proposed, those told and the default.
class Taken {
 public:
  explicit Taken(const Context& context) : size_(context.space().size()) {
    if (context.first()) {
      claim(*context.first());
    }
  }
  /// Takes the position; returns whether it was free.
  bool claim(Position position) { return position < size_ && taken_.insert(position).second; }
  void claim(std::span<const Observation> observations) {
    for (const Observation& observation : observations) {
      claim(observation.at());
    }
  }
  [[nodiscard]] bool contains(Position position) const { return taken_.contains(position); }
  /// The number of free positions.
  [[nodiscard]] Position left() const { return size_ - taken_.size(); }
  /// A free position near a random one; at least one must be free. Uniform while few are taken.
  [[nodiscard]] Position any(Random& random) const {
    constexpr int kDraws = 64;
    Position position = random.below(size_);
    for (int draw = 0; draw < kDraws && contains(position); ++draw) {
      position = random.below(size_);
    }
    while (contains(position)) {
      position = position + 1 == size_ ? 0 : position + 1;
    }
    return position;
  }

 private:
  Position size_ = 0;
  std::unordered_set<Position, PositionHash> taken_;
};

namespace detail {

/// No exception may cross the C interface: it becomes a message.
template <class Body>
std::int32_t guarded(hone_message* message, const Body& body) noexcept {
  const auto fail = [&](const char* what) {
    std::strncpy(message->text, what, sizeof(message->text) - 1);
    message->text[sizeof(message->text) - 1] = '\0';
    return 1;
  };
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    return fail(error.what());
  } catch (...) {
    return fail("it threw something that is not a std::exception");
  }
}

/// The target of a handle.
struct Instance {
  std::unique_ptr<Strategy> strategy;
  std::size_t observation_stride;
};

template <class S>
std::int32_t create(const hone_strategy_context* context, void** instance, hone_message* message) {
  return guarded(message, [&] {
    const Context seen(*context, S::kAbout);
    *instance = new Instance{std::make_unique<S>(seen), seen.observation_stride()};
  });
}

inline std::int32_t ask(void* instance, std::size_t wanted, hone_position* positions, std::size_t* count, hone_message* message) {
  return guarded(message, [&] {
    const std::vector<Position> proposed = static_cast<Instance*>(instance)->strategy->ask(wanted);
    *count = std::min(wanted, proposed.size());
    std::transform(proposed.begin(), proposed.begin() + static_cast<std::ptrdiff_t>(*count), positions, to_c);
  });
}

inline std::int32_t tell(void* instance, const hone_observation* observations, std::size_t count, hone_message* message) {
  return guarded(message, [&] {
    Instance& told = *static_cast<Instance*>(instance);
    const Observations seen(observations, count, told.observation_stride);
    told.strategy->tell(seen.all());
  });
}

inline std::int32_t save(void* instance, void* sink, void (*write)(void*, const void*, std::size_t), hone_message* message) {
  return guarded(message, [&] {
    const std::string model = static_cast<Instance*>(instance)->strategy->save();
    write(sink, model.data(), model.size());
  });
}

inline void destroy(void* instance) { delete static_cast<Instance*>(instance); }

}  // namespace detail

/// The table of a strategy class.
template <class S>
const hone_strategy* table() {
  static const hone_strategy table{.struct_size = sizeof(hone_strategy),
                                   .name = S::kAbout.name,
                                   .summary = S::kAbout.summary,
                                   .source = S::kAbout.source,
                                   .parameters = S::kAbout.parameters.data(),
                                   .parameter_count = S::kAbout.parameters.size(),
                                   .create = detail::create<S>,
                                   .ask = detail::ask,
                                   .tell = detail::tell,
                                   .save = detail::save,
                                   .destroy = detail::destroy,
                                   .parameter_stride = sizeof(hone_parameter),
                                   .weighs_expectations = S::kAbout.weighs_expectations ? 1 : 0};
  return &table;
}

/// The table of a plugin with these strategies.
template <class... S>
const hone_plugin* strategies(const char* name) {
  static const hone_strategy* const tables[] = {table<S>()...};
  static const hone_plugin plugin{.abi = HONE_PLUGIN_ABI,
                                  .struct_size = sizeof(hone_plugin),
                                  .name = name,
                                  .version = "",
                                  .strategies = tables,
                                  .strategy_count = sizeof...(S),
                                  .devices = nullptr,
                                  .device_count = 0};
  return &plugin;
}

}  // namespace hone::plugin

/// Once in a shared object, outside any namespace: exports these strategy classes.
#define HONE_STRATEGIES(...)                                                                 \
  extern "C" __attribute__((visibility("default"))) const hone_plugin* hone_plugin_entry() { \
    return hone::plugin::strategies<__VA_ARGS__>(#__VA_ARGS__);                              \
  }
