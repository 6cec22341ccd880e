// What a lookup and a launch cost: nanoseconds of what is loaded, milliseconds of what is not.
//   cmake --build build --target lookup && build/bin/lookup [--device cuda:0] [--threads 1,4,16] [--json]
// The store is made for the run, in a temporary folder: it takes a compiler. Exit code 1 if something failed.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "bench/lookup/cold.hpp"
#include "bench/lookup/driver_launch.hpp"
#include "bench/lookup/hot.hpp"
#include "bench/lookup/predicted.hpp"
#include "bench/lookup/tuned_store.hpp"
#include "engine/plugin/registry.hpp"

namespace {

using hone::Result;
using nlohmann::json;

struct Options {
  std::string device = "cpu";
  std::vector<int> threads{1, 4, 16};
  bool as_json = false;
  std::string child, store;  ///< of a process of this program's own
};

double now_ms() { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// What a child prints: from the moment that it was started on.
Result<json> in_child(const Options& options, const std::string& what) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) {
    return hone::Error{hone::ErrorCode::kIo, "no pipe"};
  }
  const std::string begun = std::to_string(now_ms());
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    execl("/proc/self/exe", "lookup", "--child", what.c_str(), "--store", options.store.c_str(), "--device", options.device.c_str(),
          "--begun", begun.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t bytes = 0; (bytes = read(ends[0], part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(bytes));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  const json read = json::parse(text, nullptr, false);
  return status == 0 && !read.is_discarded() ? Result<json>(read) : hone::Error{hone::ErrorCode::kUnavailable, what + " failed: " + text};
}

/// A process that opens an engine, looks up and launches, and one that only makes a context.
Result<json> child(const Options& options, double begun) {
  if (options.child == "context") {
    HONE_ASSIGN(const double ms, hone::bench::context_ms());
    return json{{"context_ms", ms}, {"process_ms", now_ms() - begun}};
  }
  if (options.child == "cold") {
    return hone::bench::cold_lookups(options.store, options.device);
  }
  json out{{"main_ms", now_ms() - begun}};
  HONE_ASSIGN(hone::Engine engine, hone::Engine::open({.store = options.store, .device = options.device}));
  out["open_ms"] = now_ms() - begun;
  HONE_ASSIGN(const hone::Kernel softmax, engine.kernel("softmax", hone::DType::kF32, {{"rows", 64}, {"cols", 1024}}));
  out["lookup_ms"] = now_ms() - begun;
  HONE_ASSIGN(const auto x, engine.memory().allocate(64 * 1024 * sizeof(float)));
  HONE_TRY(softmax.launch(nullptr, x->address(), x->address()));
  HONE_TRY(engine.memory().synchronize());
  out["launched_ms"] = now_ms() - begun;
  return out;
}

Result<void> make_store(const Options& options) {
  HONE_ASSIGN(const auto device, hone::builtin_registry().device(options.device));
  std::vector<hone::bench::Tuned> all;
  std::vector<hone::bench::Asked> asked = hone::bench::asked_on(options.device);
  for (std::size_t i = 0; i < asked.size();) {
    std::vector<hone::Shape> shapes;
    const std::size_t first = i;
    for (; i < asked.size() && asked[i].name == asked[first].name; ++i) {
      shapes.push_back(asked[i].shape);
    }
    HONE_ASSIGN(auto drawn, hone::bench::draw_configurations(asked[first].name, asked[first].dtype, shapes, device));
    all.insert(all.end(), drawn.begin(), drawn.end());
  }
  return hone::bench::record_all(options.store, all, device);
}

Result<json> measure(const Options& options) {
  HONE_TRY(make_store(options));
  json out{{"device", options.device}};
  if (options.device.starts_with("cuda")) {
    for (int i = 0; i < 3; ++i) {
      HONE_ASSIGN(json context, in_child(options, "context"));
      out["context"].push_back(std::move(context));
    }
  }
  for (int i = 0; i < 3; ++i) {
    HONE_ASSIGN(json first, in_child(options, "first"));
    out["first_launch"].push_back(std::move(first));
  }
  HONE_ASSIGN(out["cold"], in_child(options, "cold"));
  HONE_ASSIGN(out["predicted"], hone::bench::predicted_lookups());
  HONE_ASSIGN(hone::Engine engine, hone::Engine::open({.store = options.store, .device = options.device}));
  out["product"] = engine.device_info().product;
  for (const int threads : options.threads) {
    HONE_ASSIGN(json hot, hone::bench::hot_lookups(engine, threads));
    out["lookups"].push_back(std::move(hot));
  }
  HONE_ASSIGN(out["launches"], hone::bench::launches(engine, options.store));
  return out;
}

void print_table(const json& out) {
  std::printf("%s (%s)\n", out["device"].get<std::string>().c_str(), out["product"].get<std::string>().c_str());
  for (const json& row : out["lookups"]) {
    std::printf("lookup, %2d threads: %s\n", row["threads"].get<int>(), row.dump().c_str());
  }
  for (const json& row : out["launches"]) {
    std::printf("launch: %s\n", row.dump().c_str());
  }
  std::printf("open %.2f ms\n", out["cold"]["open_ms"].get<double>());
  for (const json& row : out["cold"]["lookups"]) {
    std::printf("cold lookup: %-44s %8.3f ms (%s)\n", row["problem"].get<std::string>().c_str(), row["ms"].get<double>(),
                row["source"].get<std::string>().c_str());
  }
  for (const json& row : out["predicted"]) {
    std::printf("choosing of %d members: %-60s %6.2f ms, nine tenths within %.2f\n", row["members"].get<int>(),
                row["portfolio"].get<std::string>().c_str(), row["median_ms"].get<double>(), row["nine_tenths_ms"].get<double>());
  }
  std::printf("parsing, ms: %s\n", out["cold"]["parse_ms"].dump().c_str());
  for (const auto& [problem, row] : out["cold"]["stages"].items()) {
    std::printf("stages of %s, ms: %s\n", problem.c_str(), row.dump().c_str());
  }
  for (const char* const part : {"context", "first_launch"}) {
    for (const json& row : out.value(part, json::array())) {
      std::printf("%s: %s\n", part, row.dump().c_str());
    }
  }
}

bool parse(int argc, char** argv, Options& options, double& begun) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const char* const value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (option == "--json") {
      options.as_json = true;
      continue;
    }
    if (value == nullptr) {
      return false;
    }
    ++i;
    if (option == "--threads") {
      options.threads.clear();
      std::istringstream list(value);
      for (std::string one; std::getline(list, one, ',');) {
        options.threads.push_back(std::atoi(one.c_str()));
      }
    } else if (option == "--begun") {
      begun = std::atof(value);
    } else if (option == "--device" || option == "--child" || option == "--store") {
      (option == "--device" ? options.device : option == "--child" ? options.child : options.store) = value;
    } else {
      return false;
    }
  }
  return !options.threads.empty() && *std::ranges::min_element(options.threads) > 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  double begun = 0.0;
  if (!parse(argc, argv, options, begun)) {
    std::fputs("usage: lookup [--device ID] [--threads N,N,...] [--json]\n", stderr);
    return 2;
  }
  if (!options.child.empty()) {
    const Result<json> out = child(options, begun);
    std::fputs((out ? out->dump() : out.error().message).c_str(), stdout);
    return out ? 0 : 1;
  }
  std::string folder = (std::filesystem::temp_directory_path() / "hone_lookup_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    std::fprintf(stderr, "no temporary folder: %s\n", std::strerror(errno));
    return 1;
  }
  setenv("XDG_DATA_HOME", folder.c_str(), 1);  // the seal of the store's code is the run's own, too
  options.store = folder + "/store.db";
  const Result<json> out = measure(options);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (!out) {
    std::fprintf(stderr, "%s\n", out.error().message.c_str());
    return 1;
  }
  if (options.as_json) {
    std::printf("%s\n", out->dump(1).c_str());
  } else {
    print_table(*out);
  }
  return 0;
}
