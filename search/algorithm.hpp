#pragma once
// Textbook algorithms with ask and tell. An algorithm is a coroutine that reads like the textbook: `const double time = co_await
// evaluate(position)`. The awaited configuration is proposed; a known one is answered from memory at no cost. If an algorithm keeps
// evaluating known configurations, a new one is proposed in between, so it exhausts a small space and never stops proposing in a large one.

#include <coroutine>
#include <cstddef>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hone/plugin.hpp"

namespace hone::search {

/// A running algorithm: a coroutine, suspended while it waits for outcomes.
class Steps {
 public:
  struct promise_type {  // NOLINT(readability-identifier-naming): the language's name
    Steps get_return_object() { return Steps(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { throw; }
  };

  Steps() = default;
  Steps(Steps&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Steps& operator=(Steps&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Steps() {
    if (handle_) {
      handle_.destroy();
    }
  }

  [[nodiscard]] bool done() const { return !handle_ || handle_.done(); }
  void resume() { handle_.resume(); }

 private:
  explicit Steps(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

/// The base class of algorithms. Objectives are times; a failure has infinity.
class Algorithm : public plugin::Strategy {
 public:
  explicit Algorithm(const plugin::Context& context);
  Algorithm(const Algorithm&) = delete;  // the coroutine refers to it
  Algorithm& operator=(const Algorithm&) = delete;

  std::vector<plugin::Position> ask(std::size_t wanted) override;
  void tell(std::span<const plugin::Observation> observations) override;

 protected:
  /// The algorithm. Starts at the first ask, when the default and a resumed history are known; restarts when it returns.
  virtual Steps run() = 0;

  struct Answer {
    Algorithm* algorithm;
    [[nodiscard]] bool await_ready() const { return algorithm->answered() && ++algorithm->circles_ < kCircles; }
    void await_suspend(std::coroutine_handle<>) const {}
    [[nodiscard]] double await_resume() const { return algorithm->objective(algorithm->request_.front()); }
  };
  struct Answers : Answer {
    std::vector<double> await_resume() const;  ///< may be ignored: objective() tells it later
  };
  /// `co_await` returns the objective, or the objectives in the order of positions. Positions may be known and may repeat.
  Answer evaluate(plugin::Position position);
  Answers evaluate(std::vector<plugin::Position> positions);

  /// The number of proposals that Hone can use now, at least 1: make as many guesses at once.
  [[nodiscard]] std::size_t wanted() const { return wanted_; }
  [[nodiscard]] bool known(plugin::Position position) const { return known_.contains(position); }
  /// Infinity if unknown.
  [[nodiscard]] double objective(plugin::Position position) const;
  struct Told {
    bool ok;
    double objective;
    plugin::Position position;
  };
  /// In the order told, including trials it did not propose.
  [[nodiscard]] const std::vector<Told>& told() const { return told_; }
  /// The fastest known; a random position if none is.
  plugin::Position best();
  /// Distinct initial positions: the best known, a few of the best of each prior, the rest random.
  std::vector<plugin::Position> start(std::size_t count);

  /// The valid position nearest to digits.
  [[nodiscard]] plugin::Position repaired(const plugin::Digits& digits) const;
  /// Differs in one dimension, random; by one step if `adjacent` and the dimension is ordered. Itself if there is none.
  plugin::Position random_neighbour(plugin::Position position, bool adjacent = false);
  /// The position; if it is known, an unknown one a short random walk away, if one is found.
  plugin::Position novel(plugin::Position position);
  /// The valid position nearest to this one with `count` random dimensions redrawn.
  plugin::Position perturbed(plugin::Position position, std::size_t count);
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t left = items.size(); left > 1; --left) {
      std::swap(items[left - 1], items[random_.index(left)]);
    }
  }
  /// Normal with mean 0 and variance 1.
  double normal();

  plugin::Space space_;
  plugin::Random random_;

 private:
  /// The number of consecutive requests answered from memory before something new is proposed.
  static constexpr int kCircles = 40;

  bool answered();
  bool advance();
  void append(std::vector<plugin::Position>& to, plugin::Position position, std::size_t most) const;

  plugin::Taken taken_;
  std::optional<plugin::Position> first_;
  std::vector<plugin::Position> prior_best_;
  std::unordered_map<plugin::Position, double, plugin::PositionHash> known_;
  std::vector<Told> told_;
  plugin::Position best_ = 0;
  double best_objective_;
  Steps steps_;
  std::vector<plugin::Position> request_;
  std::size_t asked_ = 0;                    ///< of the request, by the algorithm
  std::size_t proposed_ = 0, answered_ = 0;  ///< counts for the request
  std::size_t wanted_ = 1;
  int circles_ = 0;
};

/// Removes up to `count` positions from the end.
std::vector<plugin::Position> take(std::vector<plugin::Position>& from, std::size_t count);

}  // namespace hone::search
