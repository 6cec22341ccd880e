#pragma once
// What a store's file holds, past Hone.

#include <string>
#include <vector>

namespace hone::test {

/// The rows of a query, columns joined by '|'. Empty while there is no store or no schema yet.
std::vector<std::string> query(const std::string& store, const std::string& sql);
/// Trials as first recorded: what may neither be lost, changed nor repeated.
std::vector<std::string> recorded(const std::string& store);

}  // namespace hone::test
