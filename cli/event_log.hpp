#pragma once
// --log: what happens, as a line of JSON each, for machines that collect logs.

#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "cli/run_verb.hpp"
#include "engine/tune/serve_trials.hpp"
#include "engine/tune/session_event.hpp"

namespace hone::cli {

enum class LogLevel { kInfo, kWarning, kError };

/// A file to which lines are added, each in one piece, so that several processes may share it. Any thread may write.
class EventLog {
 public:
  /// `verb`: every line has it. Errors: the file cannot be opened.
  static Result<std::unique_ptr<EventLog>> open(const std::filesystem::path& file, std::string verb);
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  /// `fields` follow time, level, event and what else every line has.
  void write(LogLevel level, std::string_view event, const Json& fields);
  void write(const SessionEvent& event);
  void write(const ServeEvent& event);
  /// Why lines are missing, if some are.
  [[nodiscard]] std::optional<std::string> trouble() const;

 private:
  EventLog(int descriptor, std::filesystem::path file, std::string verb);

  const int descriptor_;
  const std::filesystem::path file_;
  const std::string verb_, host_;
  mutable std::mutex mutex_;
  std::size_t lost_ = 0;  ///< lines
  std::string why_;
};

}  // namespace hone::cli
