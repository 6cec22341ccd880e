#pragma once
// Progress on standard error: redrawn on a terminal, a line every ten seconds elsewhere. Standard output is for results.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "cli/options.hpp"
#include "cli/progress_text.hpp"

namespace hone::cli {

/// --quiet, --verbose, --color.
void add_progress_options(cxxopts::Options& options);

/// How much is to be shown.
struct Volume {
  bool quiet = false;    ///< nothing
  bool verbose = false;  ///< also a line for each trial
  Colour colour = Colour::kAuto;
};
/// Errors: --quiet beside --verbose, a colour that is none.
Result<Volume> find_volume(const cxxopts::ParseResult& arguments);
/// Of many problems: errors also where each trial is asked for.
Result<Volume> find_volume_of_many(const cxxopts::ParseResult& arguments);

/// Of a session, from its construction to its end, when a terminal's lines are erased. update() may be called from any thread.
class ProgressDisplay {
 public:
  ProgressDisplay(const Volume& volume, const Budget& budget);
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;
  void update(const Progress& reached);

 private:
  using Clock = std::chrono::steady_clock;
  void run(const std::stop_token& stop);
  /// Under the lock.
  void draw();
  void erase();

  const Volume volume_;
  const Clock::duration interval_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  ProgressState state_;
  Clock::time_point updated_ = Clock::now();
  std::size_t drawn_ = 0;  ///< lines on the terminal
  std::jthread thread_;    ///< a session that waits for a slow trial still shows its clock
};

/// One line that says what a longer run is doing: replaced on a terminal, at most every ten seconds elsewhere.
class StatusLine {
 public:
  explicit StatusLine(const Volume& volume) : volume_(volume) {}
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  void show(const std::string& text);

 private:
  const Volume volume_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point printed_ = std::chrono::steady_clock::now();
};

}  // namespace hone::cli
