#include "engine/store/loaded_portfolio.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "engine/base/digest.hpp"
#include "engine/kernel/configuration_text.hpp"

namespace hone {
namespace {

using Loaded = std::shared_ptr<const LoadedPortfolio>;

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

Portfolio merged(std::span<const Loaded> all) {
  Portfolio one = all.front()->portfolio();
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (const PortfolioMember& member : one.members) {
    places.emplace(std::pair(member.kernel, member.configuration), places.size());  // none is there twice
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

}  // namespace

const PortfolioRule& LoadedPortfolio::rule() const {
  std::call_once(made_, [this] { rule_.emplace(portfolio_); });
  return *rule_;
}

std::shared_ptr<const MemberConfigurations> LoadedPortfolio::configurations(const KernelSpec& spec) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const MemberConfigurations>& known = configurations_[spec.name + " " + spec.source_hash];
  if (known == nullptr) {
    known = std::make_shared<const MemberConfigurations>(configurations_of(portfolio_.members, spec));
  }
  return known;
}

MemberConfigurations configurations_of(std::span<const PortfolioMember> members, const KernelSpec& spec) {
  MemberConfigurations all;
  for (const PortfolioMember& member : members) {
    std::optional<Configuration>& own = all.emplace_back();
    if (member.kernel == spec.name) {
      if (Result<Configuration> read = parse_configuration(spec.parameters, member.configuration)) {
        own = *std::move(read);
      }
    }
  }
  return all;
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

Loaded together(std::span<const Loaded> all) {
  if (all.size() == 1 || all.front()->portfolio().knows_much()) {
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

}  // namespace hone
