#pragma once
// What `hone help TOPIC` says of things that several verbs share.

#include <span>
#include <string_view>

namespace hone::cli {

struct Topic {
  std::string_view name, summary;
  std::string_view text;  ///< lines of at most 78 columns
};

/// Sorted by name.
std::span<const Topic> topics();

}  // namespace hone::cli
