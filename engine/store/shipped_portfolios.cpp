#include "engine/store/shipped_portfolios.hpp"

#include <zlib.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "hone/error.hpp"

namespace hone {

/// Generated when Hone is built (cmake/EmbedTexts.cmake): compressed by gzip.
std::span<const std::span<const unsigned char>> embedded_portfolios();

namespace {

using Loaded = std::shared_ptr<const LoadedPortfolio>;

constexpr std::string_view kDamaged = "a portfolio that came with Hone is damaged: this is not the binary that was built";

struct Inflated {
  std::string text;
  bool whole = false;
};

/// The text, or as much of its beginning as `most` bytes, or as can be read.
Inflated inflated(std::span<const unsigned char> compressed, std::size_t most) {
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
  return {std::move(text), state == Z_STREAM_END};
}

std::deque<ShippedPortfolio> texts_of(std::span<const std::span<const unsigned char>> compressed) {
  std::deque<ShippedPortfolio> texts;
  for (const std::span<const unsigned char> one : compressed) {
    texts.emplace_back(one);
  }
  return texts;
}

std::deque<ShippedPortfolio>& shipped_texts() {
  static std::deque<ShippedPortfolio>& all = *new std::deque<ShippedPortfolio>(texts_of(embedded_portfolios()));
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

/// CUDA's architectures alone: what is fast on them says nothing of others.
bool is_gpu(std::string_view architecture) { return architecture.starts_with("sm_"); }

/// Whether two are for the same operation, dtypes and range.
bool is_alike(const Portfolio& a, const Portfolio& b) { return a.operation == b.operation && a.dtypes == b.dtypes && a.range == b.range; }

}  // namespace

ShippedPortfolio::ShippedPortfolio(std::span<const unsigned char> compressed) : compressed_(compressed) {
  constexpr std::size_t kHead = 2048;  // bytes
  Result<Portfolio> head = parse_portfolio_head(inflated(compressed, kHead).text);
  if (!head) {
    throw ContractError(std::string(kDamaged));
  }
  head_ = *std::move(head);
}

const Result<Loaded>& ShippedPortfolio::loaded() const {
  std::call_once(load_, [this] { loaded_.emplace(load_portfolio(text())); });
  return *loaded_;
}

std::string ShippedPortfolio::text() const {
  Inflated all = inflated(compressed_, std::string::npos);
  if (!all.whole) {
    throw ContractError(std::string(kDamaged));
  }
  return std::move(all.text);
}

std::vector<std::string> shipped_portfolio_texts() {
  std::vector<std::string> all;
  for (const ShippedPortfolio& one : shipped_texts()) {
    all.push_back(one.text());
  }
  return all;
}

struct ReplacedShippedPortfolios::Before {
  std::deque<ShippedPortfolio> texts;
};

ReplacedShippedPortfolios::ReplacedShippedPortfolios(std::span<const std::span<const unsigned char>> compressed)
    : before_(std::make_unique<Before>(std::exchange(shipped_texts(), texts_of(compressed)))) {}

ReplacedShippedPortfolios::~ReplacedShippedPortfolios() { shipped_texts() = std::move(before_->texts); }

std::vector<const ShippedPortfolio*> shipped_by_likeness(std::string_view operation, std::string_view product) {
  std::vector<const ShippedPortfolio*> all;
  for (const ShippedPortfolio& one : shipped_texts()) {
    if (operation.empty() || one.head().operation == operation) {
      all.push_back(&one);
    }
  }
  std::ranges::stable_sort(all, [&](const ShippedPortfolio* one, const ShippedPortfolio* other) {
    const std::string &a = one->head().product, &b = other->head().product;
    const std::size_t like_a = likeness(a, product), like_b = likeness(b, product);
    return like_a != like_b ? like_a > like_b : a < b;
  });
  return all;
}

bool is_of_architecture(const Portfolio& portfolio, std::string_view product, std::string_view architecture) {
  return portfolio.product == product || portfolio.architecture == architecture;
}

std::vector<ShippedGroup> shipped_groups(std::string_view operation, std::string_view product, std::string_view architecture) {
  std::vector<ShippedGroup> groups;
  for (const ShippedPortfolio* const one : shipped_by_likeness(operation, product)) {
    const bool may_serve =
        is_of_architecture(one->head(), product, architecture) || (is_gpu(one->head().architecture) && is_gpu(architecture));
    if (!may_serve) {
      continue;
    }
    const auto group = std::ranges::find_if(groups, [&](const ShippedGroup& all) { return is_alike(all.front()->head(), one->head()); });
    (group == groups.end() ? groups.emplace_back() : *group).push_back(one);
  }
  const auto is_own = [&](const ShippedPortfolio* one) { return is_of_architecture(one->head(), product, architecture); };
  for (ShippedGroup& group : groups) {
    if (std::ranges::any_of(group, is_own)) {
      std::erase_if(group, std::not_fn(is_own));
    }
  }
  return groups;
}

}  // namespace hone
