#include "engine/report/failures.hpp"

#include <algorithm>
#include <map>

namespace hone::report {
namespace {

constexpr std::size_t kMostMessages = 5;
constexpr std::size_t kFewestForCommon = 3;

/// Messages that differ in numbers alone (the element that is wrong, the seed) are of one cause.
std::string without_numbers(std::string_view message) {
  std::string plain;
  for (const char c : message) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit || plain.empty() || plain.back() != '#') {
      plain += digit ? '#' : c;
    }
  }
  return plain;
}

void add_messages(FailureKind& kind, const std::vector<const Trial*>& trials) {
  std::map<std::string, Message> by_cause;
  for (const Trial* const trial : trials) {
    const std::string_view line = headline(trial->detail);
    ++by_cause.try_emplace(without_numbers(line), Message{std::string(line), 0}).first->second.count;
  }
  for (auto& [cause, message] : by_cause) {
    kind.messages.push_back(std::move(message));
  }
  std::ranges::stable_sort(kind.messages, std::ranges::greater(), &Message::count);
  kind.further = kind.messages.size() - std::min(kind.messages.size(), kMostMessages);
  kind.messages.resize(kind.messages.size() - kind.further);
}

void add_common(FailureKind& kind, const std::vector<Parameter>& parameters, const std::vector<const Trial*>& failed,
                std::span<const Trial> trials) {
  for (std::size_t p = 0; failed.size() >= kFewestForCommon && p < parameters.size(); ++p) {
    const Value& value = failed.front()->configuration.values.at(p);
    const auto has_it = [&](const Trial& trial) { return trial.configuration.values.at(p) == value; };
    if (!std::ranges::all_of(failed, [&](const Trial* trial) { return has_it(*trial); })) {
      continue;
    }
    const auto others = trials.size() - failed.size();
    const auto with_it = static_cast<std::size_t>(std::ranges::count_if(trials, has_it)) - failed.size();
    if (2 * with_it < others) {
      kind.common.push_back(parameters[p].name + "=" + text(parameters[p], value));
    }
  }
}

}  // namespace

std::string_view headline(std::string_view detail) {
  const std::size_t error = detail.find("error:"), before = error == std::string_view::npos ? error : detail.rfind('\n', error);
  detail.remove_prefix(before == std::string_view::npos ? 0 : before + 1);
  return detail.substr(0, detail.find('\n'));
}

std::vector<FailureKind> failures_of(const std::vector<Parameter>& parameters, std::span<const Trial> trials) {
  std::map<Outcome, std::vector<const Trial*>> by_outcome;
  for (const Trial& trial : trials) {
    if (is_failure(trial.outcome)) {
      by_outcome[trial.outcome].push_back(&trial);
    }
  }
  std::vector<FailureKind> kinds;
  for (const auto& [outcome, failed] : by_outcome) {
    FailureKind& kind = kinds.emplace_back(FailureKind{.outcome = outcome, .count = failed.size()});
    kind.example = text(parameters, failed.front()->configuration);
    add_messages(kind, failed);
    add_common(kind, parameters, failed, trials);
  }
  std::ranges::stable_sort(kinds, std::ranges::greater(), &FailureKind::count);
  return kinds;
}

}  // namespace hone::report
