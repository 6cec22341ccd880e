#include "engine/space/truth_tables.hpp"

#include <bit>
#include <utility>

namespace hone::space {

TableId TruthTables::intern(std::size_t combinations, std::vector<std::uint64_t> bits) {
  std::size_t members = 0;
  for (const std::uint64_t word : bits) {
    members += static_cast<std::size_t>(std::popcount(word));
  }
  if (members == 0 || members == combinations) {
    return members == 0 ? kNone : kAll;
  }
  std::vector<std::uint64_t> key{combinations};
  key.insert(key.end(), bits.begin(), bits.end());
  const auto [at, fresh] = known_.try_emplace(std::move(key), static_cast<TableId>(tables_.size()));
  if (fresh) {
    tables_.push_back({combinations, std::move(bits), {}});
  }
  return at->second;
}

TableId TruthTables::intersect(TableId a, TableId b) {
  if (a == kAll || b == kAll || a == b) {
    return a == kAll ? b : a;
  }
  const std::uint64_t key = std::uint64_t{std::min(a, b)} << 32 | std::max(a, b);
  if (const auto at = intersected_.find(key); at != intersected_.end()) {
    return at->second;
  }
  std::vector<std::uint64_t> bits = tables_[a].bits;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    bits[i] &= tables_[b].bits[i];
  }
  const TableId both = intern(tables_[a].combinations, std::move(bits));
  intersected_.emplace(key, both);
  return both;
}

TableId TruthTables::restrict_first(TableId table, std::size_t digit, std::size_t values) {
  if (table == kAll) {
    return kAll;
  }
  if (const auto at = tables_[table].children.find(values); at != tables_[table].children.end()) {
    return at->second[digit];
  }
  const std::size_t each = tables_[table].combinations / values;
  std::vector<TableId> children;
  for (std::size_t first = 0; first < tables_[table].combinations; first += each) {
    std::vector<std::uint64_t> bits(words(each), 0);
    for (std::size_t i = 0; i < each; ++i) {
      bits[i / 64] |= (tables_[table].bits[(first + i) / 64] >> ((first + i) % 64) & 1) << (i % 64);
    }
    children.push_back(intern(each, std::move(bits)));
  }
  return tables_[table].children.emplace(values, std::move(children)).first->second[digit];
}

}  // namespace hone::space
