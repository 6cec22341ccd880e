// Many processes that write one store: how many writes fail, how many there are a second, how long the slowest takes.
//   cmake --build build --target store_writers && build/bin/store_writers [WRITERS] [TRIALS] [STORE]
// 32 writers of 2,000 trials each into a store of its own in the current directory, unless it is told otherwise (a URL, too). One
// transaction a trial, of 64 samples, as a session makes it. Exit code 1 if one failed.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/store/store.hpp"

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kSamples = 64;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

std::vector<hone::Parameter> parameters() {
  hone::Parameter index;
  index.name = "index";
  index.values = {0, 1};
  index.default_value = 0;
  return {index};
}

hone::SessionKey session_key(int writer) {
  hone::SessionKey key;
  key.record.kernel = "bench";
  key.record.source_hash = "0";
  key.record.problem = {hone::DType::kF32, {{"n", 1}}};
  key.record.device.product = "none";
  key.strategy = "random";
  key.seed = static_cast<std::uint64_t>(writer);
  return key;
}

hone::Trial trial_at(int position) {
  hone::Trial trial;
  trial.configuration.values = {position % 2};
  trial.position = static_cast<hone::Count>(position);
  trial.measurement.samples_us.assign(kSamples, 1.0 + position);
  trial.measurement.median_us = trial.measurement.ci95_low_us = trial.measurement.ci95_high_us = 1.0 + position;
  return trial;
}

/// What a writer tells at its end.
struct Report {
  int written = 0, failed = 0;
  double slowest = 0.0;
};

Report write_trials(const std::string& path, int writer, int trials) {
  Report report;
  const auto store = hone::open_store(path, hone::StoreMode::kReadWrite);
  const auto session = store ? (*store)->begin_session(session_key(writer), "bench") : hone::Result<std::int64_t>(store.error());
  if (!session) {
    std::fprintf(stderr, "writer %d: %s\n", writer, session.error().message.c_str());
    report.failed = trials;
    return report;
  }
  for (int i = 0; i < trials; ++i) {
    const auto begin = Clock::now();
    const auto added = (*store)->add_trial(*session, parameters(), trial_at(i), 0.0);
    report.slowest = std::max(report.slowest, seconds_since(begin));
    ++(added ? report.written : report.failed);
    if (!added) {
      std::fprintf(stderr, "writer %d: %s\n", writer, added.error().message.c_str());
    }
  }
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  const int writers = argc > 1 ? std::atoi(argv[1]) : 32, trials = argc > 2 ? std::atoi(argv[2]) : 2000;
  const bool own = argc < 4;
  const std::string path = own ? "store_writers." + std::to_string(getpid()) + ".db" : argv[3];
  int ends[2];
  if (writers < 1 || trials < 1 || pipe(ends) != 0) {
    std::fputs("usage: store_writers [WRITERS] [TRIALS] [STORE]\n", stderr);
    return 2;
  }
  const auto begin = Clock::now();
  for (int writer = 0; writer < writers; ++writer) {
    if (fork() == 0) {
      const Report report = write_trials(path, writer, trials);
      const bool told = write(ends[1], &report, sizeof report) == sizeof report;
      _exit(told ? 0 : 1);
    }
  }
  close(ends[1]);
  Report all;
  int ended = 0;
  for (Report one; read(ends[0], &one, sizeof one) == sizeof one; ++ended) {
    all = {all.written + one.written, all.failed + one.failed, std::max(all.slowest, one.slowest)};
  }
  const double seconds = seconds_since(begin);
  while (wait(nullptr) > 0) {
  }
  all.failed += (writers - ended) * trials;  // of writers that died
  const int missing = writers * trials - all.written - all.failed;
  std::printf("{\"writers\": %d, \"trials\": %d, \"failed\": %d, \"seconds\": %.1f, \"per_second\": %.0f, \"slowest_seconds\": %.3f}\n",
              writers, all.written, all.failed + missing, seconds, all.written / seconds, all.slowest);
  if (own) {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  return all.failed + missing == 0 ? 0 : 1;
}
