// Runs a target without libFuzzer: a seeded loop of mutations over a corpus, the same on every machine. An input that ends the process,
// throws or takes too long is written to a file, whose path is the last line on stderr.

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/mutate.hpp"

#if defined(__has_feature)
#define HONE_FUZZ_ASAN __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define HONE_FUZZ_ASAN 1
#else
#define HONE_FUZZ_ASAN 0
#endif
#if HONE_FUZZ_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace {

using Input = std::vector<std::uint8_t>;
namespace fs = std::filesystem;

struct Options {
  std::uint64_t runs = 10'000, seed = 1;
  double seconds = 0.0;           ///< 0: until all runs are done
  unsigned slowest_seconds = 20;  ///< of one execution, before it counts as a hang
  std::size_t max_bytes = 4096;
  fs::path corpus, out = ".";
  std::vector<fs::path> files;  ///< run once each, nothing is mutated
};

// What the handler of a crash needs: set before each execution.
const Input* running = nullptr;
char crash_path[4096];

/// Only what a signal handler may call.
void save_running() {
  const int file = ::open(crash_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0 && running != nullptr) {
    static_cast<void>(::write(file, running->data(), running->size()) + 0);
    ::close(file);
  }
  for (const char* text : {"the input is in ", static_cast<const char*>(crash_path), "\n"}) {
    static_cast<void>(::write(2, text, std::strlen(text)) + 0);
  }
}

void on_signal(int signal) {
  save_running();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

/// On a stack of its own: the one that overflowed has no room.
void catch_signals() {
  static char stack[1 << 16];
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  ::sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGABRT, SIGALRM, SIGXCPU, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    if (HONE_FUZZ_ASAN == 0 || signal == SIGABRT || signal == SIGALRM) {  // the sanitizer reports the others, and then calls us
      ::sigaction(signal, &action, nullptr);
    }
  }
#if HONE_FUZZ_ASAN
  __sanitizer_set_death_callback(save_running);
#endif
}

[[noreturn]] void wrong_usage(const std::string& what) {
  std::fprintf(stderr,
               "%s\nusage: NAME_fuzz [--runs N] [--seed S] [--time SECONDS] [--slowest SECONDS] [--max-bytes N] [--corpus FOLDER] [--out "
               "FOLDER] [FILE...]\n",
               what.c_str());
  std::exit(2);
}

template <class Number>
Number number_of(const char* option, const char* text) {
  Number value{};
  const char* end = text == nullptr ? nullptr : text + std::strlen(text);
  if (text == nullptr || std::from_chars(text, end, value).ptr != end) {
    wrong_usage(std::string(option) + " takes a number");
  }
  return value;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (option.rfind("--", 0) != 0) {
      options.files.emplace_back(option);
      continue;
    }
    ++i;
    if (option == "--runs") {
      options.runs = number_of<std::uint64_t>(argv[i - 1], value);
    } else if (option == "--seed") {
      options.seed = number_of<std::uint64_t>(argv[i - 1], value);
    } else if (option == "--time") {
      options.seconds = number_of<double>(argv[i - 1], value);
    } else if (option == "--slowest") {
      options.slowest_seconds = number_of<unsigned>(argv[i - 1], value);
    } else if (option == "--max-bytes") {
      options.max_bytes = number_of<std::size_t>(argv[i - 1], value);
    } else if ((option == "--corpus" || option == "--out") && value != nullptr) {
      (option == "--corpus" ? options.corpus : options.out) = value;
    } else {
      wrong_usage("unknown option " + option);
    }
  }
  return options;
}

Input read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    wrong_usage(file.string() + " cannot be read");
  }
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// In the order of their names, so that a seed means the same everywhere.
std::vector<Input> read_corpus(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Input> corpus;
  for (const fs::path& file : files) {
    corpus.push_back(read(file));
  }
  if (corpus.empty()) {
    wrong_usage("the corpus " + folder.string() + " is empty");
  }
  return corpus;
}

void execute(const Input& input, const Options& options) {
  running = &input;
  ::alarm(options.slowest_seconds);
  try {
    // In memory of its own size: a read beyond the end is one that the sanitizer sees.
    const Input exact(input.begin(), input.end());
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "broken: an exception came out: %s\n", thrown.what());
    std::abort();
  }
  ::alarm(0);
}

hone::fuzz::Random mutations(0);  // of LLVMFuzzerMutate

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size) {
  return hone::fuzz::mutate_bytes(mutations, {}, data, size, max_size);
}

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  std::snprintf(crash_path, sizeof crash_path, "%s/crash-%s-seed%llu", options.out.c_str(), fs::path(argv[0]).filename().c_str(),
                static_cast<unsigned long long>(options.seed));
  catch_signals();
  for (const fs::path& file : options.files) {
    execute(read(file), options);
  }
  if (options.corpus.empty()) {
    return options.files.empty() ? (wrong_usage("--corpus or a file is needed"), 2) : 0;
  }
  const std::vector<Input> seeds = read_corpus(options.corpus);
  for (const Input& seed : seeds) {
    execute(seed, options);
  }
  // A quarter of the inputs go on from what the last ones became, so that changes add up.
  constexpr std::size_t kRecent = 64;
  std::vector<Input> recent;
  hone::fuzz::Random random(options.seed);
  mutations = hone::fuzz::Random(options.seed + 1);
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  std::uint64_t done = 0;
  for (; done < options.runs && (options.seconds <= 0.0 || done % 256 != 0 || elapsed() < options.seconds); ++done) {
    const std::vector<Input>& from = !recent.empty() && random.one_in(4) ? recent : seeds;
    Input input = from[random.below(from.size())];
    const std::size_t size = input.size(), most = std::max(options.max_bytes, size);
    input.resize(most);
    input.resize(LLVMFuzzerCustomMutator(input.data(), size, most, static_cast<unsigned>(random())));
    execute(input, options);
    if (random.one_in(16)) {
      recent.resize(std::min(kRecent, recent.size() + 1));
      recent[random.below(recent.size())] = std::move(input);
    }
  }
  struct rusage used {};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec); };
  std::printf("%llu executions in %.1f s, %.1f s of CPU (%zu seeds, seed %llu), largest resident set %ld MiB\n",
              static_cast<unsigned long long>(done), elapsed(), seconds(used.ru_utime) + seconds(used.ru_stime), seeds.size(),
              static_cast<unsigned long long>(options.seed), used.ru_maxrss / 1024);
  return 0;
}
