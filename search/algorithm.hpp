#pragma once
// Textbook algorithms under ask and tell. An algorithm is a coroutine that reads like its book: `const double time = co_await
// evaluate(position)`. What it waits for is proposed; what is known already is answered from memory and costs nothing. An algorithm that
// runs in circles over known configurations is given a new one to think about, so a small space ends and a large one never goes silent.

#include <coroutine>
#include <cstddef>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hone/plugin.hpp"

namespace hone::search {

/// An algorithm on its way: a coroutine, suspended while it waits for outcomes.
class Steps {
 public:
  struct promise_type {
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

/// The base of algorithms. Objectives are times; a failure's is infinity.
class Algorithm : public plugin::Strategy {
 public:
  explicit Algorithm(const plugin::Context& context);
  Algorithm(const Algorithm&) = delete;  // the coroutine holds on to it
  Algorithm& operator=(const Algorithm&) = delete;

  std::vector<plugin::Position> ask(std::size_t wanted) override;
  void tell(std::span<const plugin::Observation> observations) override;

 protected:
  /// The algorithm. Begun at the first ask, when the default and a resumed history are known; begun again when it returns.
  virtual Steps run() = 0;

  struct Answer {
    Algorithm* algorithm;
    [[nodiscard]] bool await_ready() const { return algorithm->answered() && ++algorithm->circles_ < kCircles; }
    void await_suspend(std::coroutine_handle<>) const {}
    [[nodiscard]] double await_resume() const { return algorithm->objective(algorithm->request_.front()); }
  };
  struct Answers : Answer {
    [[nodiscard]] std::vector<double> await_resume() const;
  };
  /// `co_await` gives the objective, or objectives in the order of positions. Positions may be known and may repeat.
  Answer evaluate(plugin::Position position);
  Answers evaluate(std::vector<plugin::Position> positions);

  /// How many proposals Hone can use now: as many guesses are worth making at once. At least 1.
  [[nodiscard]] std::size_t wanted() const { return wanted_; }
  [[nodiscard]] bool known(plugin::Position position) const { return known_.contains(position); }
  /// Infinity if it is not known.
  [[nodiscard]] double objective(plugin::Position position) const;
  struct Told {
    bool ok;
    double objective;
    plugin::Position position;
  };
  /// In the order told, also those it did not ask for.
  [[nodiscard]] const std::vector<Told>& told() const { return told_; }
  /// The fastest known; a random position if none is.
  plugin::Position best();
  /// Distinct positions to begin with: the best known, the best few of each prior, the rest random.
  std::vector<plugin::Position> start(std::size_t count);

  /// The valid position nearest to digits.
  [[nodiscard]] plugin::Position repaired(const plugin::Digits& digits) const;
  /// Differs in one dimension, random; by one step if `adjacent` and the dimension is ordered. Itself if there is none.
  plugin::Position random_neighbour(plugin::Position position, bool adjacent = false);
  /// The position, or if it is known one a short random walk away that is not, as far as one is found.
  plugin::Position novel(plugin::Position position);
  /// The valid position nearest to one with `count` dimensions drawn again.
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
  /// How many known requests in a row are answered before something new is asked for.
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
  std::size_t proposed_ = 0, answered_ = 0;  ///< so many of the request
  std::size_t wanted_ = 1;
  int circles_ = 0;
};

/// Removes up to `count` positions from the end.
std::vector<plugin::Position> take(std::vector<plugin::Position>& from, std::size_t count);

}  // namespace hone::search
