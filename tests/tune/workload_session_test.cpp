// A workload's run: what an interrupted one has finished stays, in whatever order it came.
#include "engine/tune/workload_session.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stop_token>

#include "engine/kernel/operation.hpp"
#include "engine/reader/kernel_file.hpp"
#include "tests/twice_kernel.hpp"

namespace hone {
namespace {

namespace fs = std::filesystem;

/// Two problems, of which the second is launched more often and comes first. The budget is scarce: each gets one whole slice.
class TwoProblems {
 public:
  TwoProblems() : folder_(fs::temp_directory_path() / ("hone_workload_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "twice.cu") << test::kTwice;
    spec_ = read_kernel_file(folder_ / "twice.cu").value();
    twice_ = {spec_.name, {&spec_}, &spec_};
    store_ = open_store(folder_ / "store.db", StoreMode::kReadWrite).value();
  }
  ~TwoProblems() {
    store_.reset();
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  [[nodiscard]] WorkloadRequest request() const {
    WorkloadRequest made;
    for (const auto& [n, weight] : {std::pair{64, 1.0}, {5000, 9.0}}) {
      made.items.push_back({.operation = &twice_, .problem = make_problem(spec_, DType::kF32, {{"n", n}}).value(), .weight = weight});
    }
    made.common.device = builtin_registry().device("cpu").value();
    made.budget = {.seconds = 10.0, .trials = std::nullopt};
    made.store = folder_ / "store.db";
    return made;
  }
  [[nodiscard]] WorkloadReport run(const WorkloadRequest& request) const {
    Result<WorkloadReport> report = tune(request, *store_, builtin_registry());
    REQUIRE_MESSAGE(report.ok(), report.error().message);
    return *std::move(report);
  }
  [[nodiscard]] std::size_t sessions() const { return store_->sessions().value().size(); }

 private:
  fs::path folder_;
  KernelSpec spec_;
  Operation twice_;
  std::unique_ptr<Store> store_;
};

}  // namespace

TEST_CASE("an interrupted workload goes on, and what it has finished stays as it is, in whatever order it was tuned") {
  const TwoProblems problems;
  std::stop_source stop;
  WorkloadRequest interrupted = problems.request();
  interrupted.common.stop = stop.get_token();
  interrupted.on_progress = [&, first = std::int64_t{0}](const WorkloadProgress& progress) mutable {
    first = progress.item == 1 ? progress.trials : first;
    if (progress.item == 0 && progress.trials > first) {
      stop.request_stop();
    }
  };
  const WorkloadReport part = problems.run(interrupted);
  CHECK(part.interrupted);
  REQUIRE(part.items[1].state == ItemState::kTuned);
  REQUIRE(part.items[0].state == ItemState::kSearched);
  CHECK(problems.sessions() == 2);

  const WorkloadReport rest = problems.run(problems.request());
  CHECK(problems.sessions() == 2);
  CHECK(rest.items[1].trials == part.items[1].trials);
  CHECK(rest.items[0].trials >= part.items[0].trials);
  for (const ItemReport& item : rest.items) {
    CHECK(item.state == ItemState::kTuned);
    REQUIRE(item.before.has_value());
    CHECK(item.before->source == Source::kDefault);  // not what the interrupted run has kept
  }

  const WorkloadReport anew = problems.run(problems.request());  // that run is over
  CHECK(problems.sessions() == 4);
  CHECK(anew.items[1].before->source == Source::kExact);
}

}  // namespace hone
