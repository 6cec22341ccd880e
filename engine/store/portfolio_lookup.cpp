#include "engine/store/portfolio_lookup.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "engine/base/digest.hpp"
#include "engine/device/pass_launch.hpp"
#include "engine/kernel/operation.hpp"

namespace hone {

/// Generated when Hone is built (cmake/EmbedTexts.cmake): compressed by gzip.
std::span<const std::span<const unsigned char>> embedded_portfolios();

namespace {

using Loaded = std::shared_ptr<const LoadedPortfolio>;

// Standard deviation, as a share, that what was measured on another product adds to a prediction: between an H200 and an H100 none is
// needed (docs/results/untuned-h100-2026-11-26.md), other two were not measured.
constexpr double kElsewhere = 0.2;
constexpr double kNear = 1.0;           // a factor of 2 outside of its range, a portfolio still says more than one record would
constexpr std::size_t kMostKept = 256;  // texts of which a process remembers the rule

class Kept {
 public:
  Loaded find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto known = loaded_.find(key);
    return known == loaded_.end() ? nullptr : known->second;
  }
  void put(const std::string& key, const Loaded& portfolio) {
    const std::lock_guard lock(mutex_);
    if (loaded_.size() >= kMostKept) {
      loaded_.clear();
    }
    loaded_.emplace(key, portfolio);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Loaded> loaded_;
};

Kept& kept() {
  static Kept& all = *new Kept;  // never goes: a static engine may outlive what was made after it
  return all;
}

/// The text, or as much of its beginning as `most` bytes.
std::string inflated(std::span<const unsigned char> compressed, std::size_t most) {
  constexpr int kGzip = 15 + 16;
  z_stream stream{};
  stream.next_in = const_cast<Bytef*>(compressed.data());
  stream.avail_in = static_cast<uInt>(compressed.size());
  if (::inflateInit2(&stream, kGzip) != Z_OK) {
    throw ContractError("zlib cannot be used");
  }
  std::string text;
  int state = Z_OK;
  while (state == Z_OK && text.size() < most) {
    constexpr std::size_t kStep = 16384;
    const std::size_t had = text.size(), step = std::min(kStep, most - had);
    text.resize(had + step);
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + had);
    stream.avail_out = static_cast<uInt>(step);
    state = ::inflate(&stream, Z_NO_FLUSH);
    text.resize(had + step - stream.avail_out);
  }
  ::inflateEnd(&stream);
  if (state != Z_STREAM_END && text.size() < most) {
    throw ContractError("a portfolio that came with Hone is damaged: this is not the binary that was built");
  }
  return text;
}

/// A text that came with Hone. Its first lines say what it is for; the rest is read when that is asked for, since to read all of them takes
/// longer than a lookup may.
class ShippedText {
 public:
  explicit ShippedText(std::span<const unsigned char> compressed) : compressed_(compressed), head_(inflated(compressed, kHead)) {}

  /// Whether one of its first lines says so.
  [[nodiscard]] bool has(std::string_view key, std::string_view value) const {
    return head_.find(fmt::format("\n \"{}\": \"{}\",\n", key, value)) != std::string::npos;
  }
  [[nodiscard]] std::string product() const {
    constexpr std::string_view kKey = "\n \"product\": \"";
    const std::size_t at = head_.find(kKey);
    return at == std::string::npos ? "" : head_.substr(at + kKey.size(), head_.find('"', at + kKey.size()) - at - kKey.size());
  }
  /// Whether its range may hold the shape, as far as its first lines say: not where an axis has one value alone, and the shape another.
  [[nodiscard]] bool may_hold(const Shape& shape) const {
    return std::ranges::all_of(shape, [&](const auto& field) {
      const std::string axis = fmt::format("{{\"name\":\"{}\",\"parts\":[[", field.first);
      const std::size_t at = head_.find(axis), end = head_.find("}", at);
      const std::string only = fmt::format("{}{},{}]],\"exact\":true", axis, field.second, field.second);
      return at == std::string::npos || end == std::string::npos || head_.compare(at, end - at, only) == 0 ||
             head_.compare(end - kExact.size(), kExact.size(), kExact) != 0 || head_.find("],[", at) < end;
    });
  }
  const std::string& whole() {
    std::call_once(read_, [this] { whole_ = inflated(compressed_, std::string::npos); });
    return whole_;
  }
  const Result<Loaded>& loaded() {
    std::call_once(load_, [this] { loaded_.emplace(load_portfolio(whole())); });
    return *loaded_;
  }

 private:
  static constexpr std::size_t kHead = 896;  // bytes
  static constexpr std::string_view kExact = "\"exact\":true";

  std::span<const unsigned char> compressed_;
  std::string head_, whole_;
  std::optional<Result<Loaded>> loaded_;
  std::once_flag read_, load_;
};

std::deque<ShippedText> texts_of(std::span<const std::span<const unsigned char>> compressed) {
  std::deque<ShippedText> texts;
  for (const std::span<const unsigned char> one : compressed) {
    texts.emplace_back(one);
  }
  return texts;
}

std::deque<ShippedText>& shipped_texts() {
  static std::deque<ShippedText>& all = *new std::deque<ShippedText>(texts_of(embedded_portfolios()));
  return all;
}

/// How many words the names of two products begin with in common: "NVIDIA H100 PCIe" is rather like "NVIDIA H100 80GB HBM3" than like
/// "NVIDIA H200".
std::size_t likeness(std::string_view a, std::string_view b) {
  const auto ends = [](std::string_view name, std::size_t at) { return at == name.size() || name[at] == ' '; };
  std::size_t words = 0, at = 0;
  while (true) {
    words += ends(a, at) && ends(b, at) ? 1 : 0;
    if (at == a.size() || at == b.size() || a[at] != b[at]) {
      return words;
    }
    ++at;
  }
}

/// Those for an operation and dtypes (empty: any), that of the product named most like the device first, then by the products' names.
std::vector<ShippedText*> shipped_by_likeness(std::string_view operation, std::string_view dtypes, std::string_view product) {
  std::vector<ShippedText*> all;
  for (ShippedText& text : shipped_texts()) {
    if ((operation.empty() || text.has("operation", operation)) && (dtypes.empty() || text.has("dtypes", dtypes))) {
      all.push_back(&text);
    }
  }
  std::ranges::stable_sort(all, [&](const ShippedText* one, const ShippedText* other) {
    const std::string a = one->product(), b = other->product();
    const std::size_t like_a = likeness(a, product), like_b = likeness(b, product);
    return like_a != like_b ? like_a > like_b : a < b;
  });
  return all;
}

/// Of these what may serve the device: it was made on this product, or on another of its architecture.
std::vector<ShippedText*> shipped_for(std::string_view operation, std::string_view dtypes, const DeviceInfo& device) {
  const std::string own = portfolio_key("", DTypes(), device).device;
  std::vector<ShippedText*> all = shipped_by_likeness(operation, dtypes, own);
  std::erase_if(all, [&](const ShippedText* one) { return one->product() != own && !one->has("architecture", device.architecture); });
  return all;
}

/// Of a kernel whose code has changed since; empty if there is none.
std::string changed(const Portfolio& portfolio, std::span<const Implementation> implementations) {
  for (const Implementation& one : implementations) {
    const auto source = portfolio.sources.find(one.spec->name);
    if (source != portfolio.sources.end() && source->second != one.spec->source_hash) {
      return fmt::format("the portfolio of {} {} was made of another version of {}: hone tune {} --shapes ... makes a new one",
                         portfolio.operation, portfolio.dtypes, one.spec->name, portfolio.operation);
    }
  }
  return "";
}

/// How far the problem lies outside of the range.
double outside(const LoadedPortfolio& from, const Shape& shape) {
  return distance(from.portfolio().range, ordered_as(from.portfolio().range, shape));
}

/// The first one, with the members and the measurements of the others, which are for the same operation, dtypes and range on other
/// products: what is fast there is fast here, more often than not.
Portfolio merged(std::span<const Loaded> all) {
  Portfolio one = all.front()->portfolio();
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (const PortfolioMember& member : one.members) {
    places.emplace(std::pair(member.kernel, member.configuration), places.size());
  }
  for (const Loaded& other : all.subspan(1)) {
    one.sources.insert(other->portfolio().sources.begin(), other->portfolio().sources.end());
    std::vector<std::size_t> place_of;
    for (const PortfolioMember& member : other->portfolio().members) {
      const auto [place, added] = places.emplace(std::pair(member.kernel, member.configuration), one.members.size());
      if (added) {
        one.members.push_back(member);
      }
      place_of.push_back(place->second);
    }
    for (const PortfolioPoint& measured : other->portfolio().points) {
      PortfolioPoint& point = one.points.emplace_back(measured);
      point.elsewhere = true;
      for (PortfolioCell& cell : point.cells) {
        cell.member = place_of[cell.member];
      }
      std::ranges::sort(point.cells, {}, &PortfolioCell::member);
    }
  }
  return one;
}

/// What portfolios are asked about. `withdrawn`: of each implementation, the texts of what the store says must not serve the problem.
struct Question {
  std::span<const Implementation> implementations;
  const DeviceInfo& device;
  std::vector<std::vector<std::string>> withdrawn = {};

  [[nodiscard]] const Shape& shape() const { return implementations.front().problem.shape; }
  [[nodiscard]] bool is_withdrawn(std::size_t implementation, const Configuration& configuration) const {
    if (withdrawn.empty() || withdrawn[implementation].empty()) {
      return false;
    }
    const std::string name = text(implementations[implementation].spec->parameters, configuration);
    return std::ranges::find(withdrawn[implementation], name) != withdrawn[implementation].end();
  }
};

std::optional<PortfolioPick> pick(const LoadedPortfolio& from, const Question& question) {
  const Shape shape = ordered_as(from.portfolio().range, question.shape());
  const MemberLaunches launches = launches_of(from.portfolio().members, question.implementations, question.device);
  for (const Opinion& opinion : from.rule().rank(shape, launches)) {
    const PortfolioMember& member = from.portfolio().members[opinion.member];
    for (std::size_t i = 0; i < question.implementations.size(); ++i) {
      const auto& [spec, problem] = question.implementations[i];
      if (spec->name != member.kernel) {
        continue;
      }
      Result<Configuration> configuration = parse_configuration(spec->parameters, member.configuration);
      if (configuration && valid_for(*spec, problem, question.device, *configuration) && !question.is_withdrawn(i, *configuration)) {
        return PortfolioPick{
            i, *std::move(configuration), {std::exp(opinion.slowdown), std::expm1(opinion.doubt), 0, false, from.portfolio().product}};
      }
    }
  }
  return std::nullopt;
}

/// Whether a portfolio is for the problem and today's kernels.
bool may_serve(const Loaded& from, const Question& question, std::string& why) {
  if (!(outside(*from, question.shape()) <= kNear) || from->portfolio().points.empty()) {
    return false;
  }
  const std::string reason = changed(from->portfolio(), question.implementations);
  why = why.empty() ? reason : why;
  return reason.empty();
}

/// Whether two are for the same operation, dtypes and range.
bool is_alike(const LoadedPortfolio& a, const LoadedPortfolio& b) {
  return a.portfolio().operation == b.portfolio().operation && a.portfolio().dtypes == b.portfolio().dtypes &&
         a.portfolio().range == b.portfolio().range;
}

/// What came with Hone for the device and may hold the shape (an empty one: any), together what is alike: of this product first, then of
/// others. Reads no other text: that takes longer than all else of a lookup.
std::vector<std::vector<Loaded>> shipped_groups(std::string_view operation, std::string_view dtypes, const DeviceInfo& device,
                                                const Shape& shape) {
  std::vector<std::vector<Loaded>> groups;
  for (ShippedText* const text : shipped_for(operation, dtypes, device)) {
    if (!text->may_hold(shape) || !text->loaded()) {
      continue;
    }
    const Loaded& one = *text->loaded();
    const auto group = std::ranges::find_if(groups, [&](const std::vector<Loaded>& all) { return is_alike(*all.front(), *one); });
    (group == groups.end() ? groups.emplace_back() : *group).push_back(one);
  }
  return groups;
}

/// Several as one, made once in a process.
Loaded together(std::span<const Loaded> all) {
  if (all.size() == 1) {
    return all.front();
  }
  std::string key;
  for (const Loaded& one : all) {
    key += one->digest();
  }
  if (Loaded known = kept().find(key)) {
    return known;
  }
  Portfolio one = merged(all);
  auto loaded = std::make_shared<const LoadedPortfolio>(std::move(one), key);
  kept().put(key, loaded);
  return loaded;
}

/// The portfolios whose range is nearest to the problem come first, of several that hold it the newest.
Result<std::optional<PortfolioPick>> pick_of_store(const PortfolioKey& key, const Question& question, Store& store, std::string& why) {
  HONE_ASSIGN(const std::vector<StoredPortfolio> stored, store.find_portfolios(key));
  std::vector<std::pair<Loaded, std::int64_t>> all;
  for (const StoredPortfolio& one : stored) {
    Result<Loaded> loaded = load_portfolio(one.text);
    if (loaded) {
      all.emplace_back(*std::move(loaded), one.generation);
    } else {
      why = why.empty() ? loaded.error().message : why;
    }
  }
  std::ranges::sort(all, {}, [&](const auto& one) { return std::pair(outside(*one.first, question.shape()), -one.second); });
  for (const auto& [loaded, generation] : all) {
    std::optional<PortfolioPick> picked = may_serve(loaded, question, why) ? pick(*loaded, question) : std::nullopt;
    if (picked) {
      picked->prediction.generation = generation;
      return picked;
    }
  }
  return std::optional<PortfolioPick>();
}

}  // namespace

PortfolioKey portfolio_key(const std::string& operation, const DTypes& dtypes, const DeviceInfo& device, const Purpose& purpose) {
  std::string part = device.product;
  for (const std::string& share : {device.mig_profile, device.share}) {
    part += share.empty() ? "" : "/" + share;
  }
  return {operation, name(dtypes), part, "", purpose};
}

Shape ordered_as(const ShapeRange& range, const Shape& shape) {
  Shape ordered;
  for (const RangeAxis& axis : range.axes) {
    const auto field = std::ranges::find(shape, axis.name, &Shape::value_type::first);
    if (field != shape.end()) {
      ordered.push_back(*field);
    }
  }
  return ordered.size() == shape.size() ? ordered : Shape();
}

MemberLaunches launches_of(std::span<const PortfolioMember> members, std::span<const Implementation> implementations,
                           const DeviceInfo& device) {
  std::vector<Bindings> bound;
  for (const Implementation& one : implementations) {
    bound.push_back(bindings(one.problem));
    bound.back().merge(bindings(device));
  }
  MemberLaunches all(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto one = std::ranges::find(implementations, members[i].kernel,
                                       [](const Implementation& each) -> const std::string& { return each.spec->name; });
    if (one == implementations.end()) {
      continue;
    }
    const std::vector<Parameter>& parameters = one->spec->parameters;
    if (const Result<Configuration> configuration = parse_configuration(parameters, members[i].configuration)) {
      Bindings& with = bound[static_cast<std::size_t>(one - implementations.begin())];
      for (auto& [name, value] : bindings(parameters, *configuration)) {
        with.insert_or_assign(name, value);
      }
      all[i] = launch_size(*one->spec, with);
    }
  }
  return all;
}

const PortfolioRule& LoadedPortfolio::rule() const {
  std::call_once(made_, [this] { rule_.emplace(portfolio_); });
  return *rule_;
}

Result<std::shared_ptr<const LoadedPortfolio>> load_portfolio(std::string_view text) {
  const std::string key = digest(text);
  if (Loaded known = kept().find(key)) {
    return known;
  }
  HONE_ASSIGN(Portfolio portfolio, parse_portfolio(text));
  auto loaded = std::make_shared<const LoadedPortfolio>(std::move(portfolio), key);
  kept().put(key, loaded);
  return std::shared_ptr<const LoadedPortfolio>(std::move(loaded));
}

std::vector<std::string> shipped_portfolio_texts() {
  std::vector<std::string> all;
  for (ShippedText& text : shipped_texts()) {
    all.push_back(text.whole());
  }
  return all;
}

struct ReplacedShippedPortfolios::Before {
  std::deque<ShippedText> texts;
};

ReplacedShippedPortfolios::ReplacedShippedPortfolios(std::span<const std::span<const unsigned char>> compressed)
    : before_(std::make_unique<Before>(std::exchange(shipped_texts(), texts_of(compressed)))) {}

ReplacedShippedPortfolios::~ReplacedShippedPortfolios() { shipped_texts() = std::move(before_->texts); }

std::vector<std::shared_ptr<const LoadedPortfolio>> shipped_portfolios(const DeviceInfo& device) {
  const std::vector<std::vector<Loaded>> groups = shipped_groups("", "", device, Shape());
  std::vector<Loaded> all;
  std::ranges::transform(groups, std::back_inserter(all), [](const std::vector<Loaded>& group) { return together(group); });
  return all;
}

std::shared_ptr<const LoadedPortfolio> shipped_portfolio(const PortfolioKey& key, const ShapeRange& range) {
  for (ShippedText& text : shipped_texts()) {
    if (text.has("operation", key.operation) && text.has("dtypes", key.dtypes) && text.product() == key.device && text.loaded() &&
        (*text.loaded())->portfolio().range == range) {
      return *text.loaded();
    }
  }
  return nullptr;
}

Result<std::optional<PortfolioPick>> pick_from_portfolios(const std::string& operation, std::span<const Implementation> implementations,
                                                          const DeviceInfo& device, Store* store, const Lookup& lookup, std::string& why) {
  if (!lookup.portfolios || implementations.empty()) {
    return std::optional<PortfolioPick>();
  }
  const PortfolioKey key = portfolio_key(operation, implementations.front().problem.dtype, device, lookup.purpose);
  Question question{implementations, device};
  if (store != nullptr) {
    for (const auto& [spec, problem] : implementations) {
      HONE_ASSIGN(std::vector<std::string> own, store->withdrawn_configurations(record_key(*spec, problem, device, lookup.purpose)));
      question.withdrawn.push_back(std::move(own));
    }
    HONE_ASSIGN(std::optional<PortfolioPick> picked, pick_of_store(key, question, *store, why));
    if (picked) {
      return picked;
    }
  }
  if (lookup.purpose == Purpose()) {
    // Of this product, then of others.
    for (std::vector<Loaded>& group : shipped_groups(operation, key.dtypes, device, question.shape())) {
      std::erase_if(group, [&](const Loaded& one) { return !may_serve(one, question, why); });
      std::optional<PortfolioPick> picked = group.empty() ? std::nullopt : pick(*together(group), question);
      if (picked) {
        picked->prediction.shipped = true;
        if (group.front()->portfolio().product != key.device) {
          picked->prediction.doubt = std::hypot(picked->prediction.doubt, kElsewhere);
        }
        return picked;
      }
    }
  }
  return std::optional<PortfolioPick>();
}

void read_shipped_portfolios(const KernelSpec& spec, const Problem& like, const DeviceInfo& device) {
  for (const std::vector<Loaded>& group : shipped_groups(operation_of(spec), name(like.dtype), device, like.shape)) {
    (void)together(group)->rule();
  }
}

std::vector<Configuration> shipped_proposals(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device, std::size_t most) {
  std::vector<Configuration> all;
  for (ShippedText* const text : shipped_by_likeness(operation_of(spec), name(problem.dtype), device.product)) {
    if (all.size() == most) {
      break;
    }
    const Result<Loaded>& loaded = text->loaded();
    if (!loaded) {
      continue;
    }
    const Loaded& shipped = *loaded;
    const Shape shape = ordered_as(shipped->portfolio().range, problem.shape);
    if (shipped->portfolio().points.empty() || std::isinf(distance(shipped->portfolio().range, shape))) {
      continue;
    }
    const std::array<Implementation, 1> only{Implementation{&spec, problem}};
    for (const Opinion& opinion : shipped->rule().rank(shape, launches_of(shipped->portfolio().members, only, device))) {
      const PortfolioMember& member = shipped->portfolio().members[opinion.member];
      const Result<Configuration> configuration = parse_configuration(spec.parameters, member.configuration);
      if (all.size() < most && member.kernel == spec.name && configuration && valid_for(spec, problem, device, *configuration) &&
          std::ranges::find(all, *configuration) == all.end()) {
        all.push_back(*configuration);
      }
    }
  }
  return all;
}

}  // namespace hone
