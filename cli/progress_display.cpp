#include "cli/progress_display.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace hone::cli {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(200);
constexpr auto kNextLine = std::chrono::seconds(10);

void print_now(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

bool redraws() { return choose_look(surroundings(), Colour::kNever).redraws; }

}  // namespace

void add_progress_options(cxxopts::Options& options) {
  options.add_options()("quiet", "show no progress on standard error")("verbose", "show each trial on standard error")(
      "color", "colours of the progress: auto (on a terminal, unless NO_COLOR is set), always, never",
      cxxopts::value<std::string>()->default_value("auto"), "WHEN");
}

Result<Volume> find_volume(const cxxopts::ParseResult& arguments) {
  Volume volume{.quiet = arguments.count("quiet") > 0, .verbose = arguments.count("verbose") > 0};
  if (volume.quiet && volume.verbose) {
    return Error{ErrorCode::kInvalidArgument, "--quiet shows nothing and --verbose each trial: give one of the two"};
  }
  HONE_ASSIGN(volume.colour, parse_colour(arguments["color"].as<std::string>()));
  return volume;
}

Result<Volume> find_volume_of_many(const cxxopts::ParseResult& arguments) {
  HONE_ASSIGN(const Volume volume, find_volume(arguments));
  return volume.verbose ? Result<Volume>(Error{ErrorCode::kInvalidArgument,
                                               "--verbose shows the trials of one problem; of many, hone sessions lists the sessions, and "
                                               "hone sessions ID the trials of one"})
                        : Result<Volume>(volume);
}

ProgressDisplay::ProgressDisplay(const Volume& volume, const Budget& budget)
    : volume_(volume),
      interval_(redraws() ? Clock::duration(kRedraw) : Clock::duration(kNextLine)),
      state_{.budget = budget, .reached = {}} {
  if (!volume.quiet) {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
}

ProgressDisplay::~ProgressDisplay() {
  if (thread_.joinable()) {
    thread_.request_stop();
    wake_.notify_all();
    thread_.join();
  }
  erase();
}

void ProgressDisplay::update(const Progress& reached) {
  const std::lock_guard lock(mutex_);
  const bool is_trial = reached.stage != SessionStage::kFinals;
  state_.reached = reached;
  updated_ = Clock::now();
  if (volume_.verbose && is_trial) {
    erase();
    print_now(trial_line(reached, choose_look(surroundings(), volume_.colour)) + "\n");
  }
}

void ProgressDisplay::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (wake_.wait_for(lock, stop, interval_, [&] { return stop.stop_requested(); })) {
      return;
    }
    draw();
  }
}

void ProgressDisplay::draw() {
  const Look look = choose_look(surroundings(), volume_.colour);
  state_.seconds =
      (state_.reached ? state_.reached->elapsed_seconds : 0.0) + std::chrono::duration<double>(Clock::now() - updated_).count();
  if (!look.redraws) {
    print_now(progress_line(state_, look) + "\n");
    return;
  }
  const std::vector<std::string> lines = progress_lines(state_, look);
  std::string text = drawn_ > 0 ? fmt::format("\033[{}A", drawn_) : "";
  for (const std::string& line : lines) {
    text += "\r\033[K" + line + "\n";  // replaced line by line: erasing all of them first would flicker
  }
  drawn_ = lines.size();
  print_now(text);
}

void ProgressDisplay::erase() {
  if (drawn_ > 0) {
    print_now(fmt::format("\033[{}A\r\033[J", drawn_));
    drawn_ = 0;
  }
}

StatusLine::~StatusLine() {
  if (drawn_) {
    print_now("\r\033[K");
  }
}

void StatusLine::show(const std::string& text) {
  if (volume_.quiet) {
    return;
  }
  const Look look = choose_look(surroundings(), volume_.colour);
  if (look.redraws) {
    print_now("\r\033[K" + fitted(text, look.width - 1, look.unicode));
    drawn_ = true;
  } else if (const auto now = std::chrono::steady_clock::now(); now - printed_ >= kNextLine) {
    print_now(text + "\n");
    printed_ = now;
  }
}

}  // namespace hone::cli
