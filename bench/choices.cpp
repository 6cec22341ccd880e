// What many processes choose for the same problems, from one store.
//   build/bin/choices --store S.db [--devices cuda:0,cuda:1] [--kernel softmax:f32] [--range rows=1..1024,cols=1..1024]
//                     [--processes 16] [--problems 1000] [--also SHAPE] [--generation N]
// Each process opens an engine (of several devices, they take turns) and looks up every problem; what it would launch is the kernel, its
// configuration and where that comes from. Prints one JSON object: how many different answers there are, and how many problems were served
// by a record, a prediction, ... Exit code 1 if the processes differ, or one failed.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cxxopts.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "bench/command_line.hpp"
#include "engine/base/digest.hpp"
#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/operation.hpp"
#include "engine/store/shape_range.hpp"
#include "hone/engine.hpp"

namespace {

using nlohmann::json;

struct Asked {
  std::string store, device, kernel, range, also;
  hone::DTypes dtypes;
  std::optional<std::int64_t> generation;  // the newest
  std::uint64_t problems = 0;
};

/// "digest {counts}", or what went wrong.
std::string answers(const Asked& asked) {
  hone::Result<hone::Engine> engine = hone::Engine::open({.store = asked.store, .device = asked.device, .generation = asked.generation});
  if (!engine) {
    return engine.error().message;
  }
  const hone::Result<hone::Operation> operation = hone::find_operation(asked.kernel, {});
  const auto kernel_alone =
      operation ? hone::Result<const hone::KernelSpec*>(operation->definition) : hone::find_builtin_kernel(asked.kernel);
  if (!kernel_alone) {
    return kernel_alone.error().message;
  }
  const hone::KernelSpec& definition = **kernel_alone;
  const hone::Result<hone::ShapeRange> range = hone::parse_range(definition, asked.range);
  if (!range) {
    return range.error().message;
  }
  std::string all;
  std::map<std::string, int> counts;
  const hone::Result<hone::Shape> also = hone::parse_shape(asked.also);
  if (!also) {
    return also.error().message;
  }
  for (std::uint64_t i = 0; i <= asked.problems; ++i) {
    const hone::Shape shape = i < asked.problems ? hone::draw(*range, i) : *also;
    const hone::Result<hone::Kernel> kernel = engine->kernel(asked.kernel, asked.dtypes, shape);
    if (!kernel) {
      return hone::text(shape) + ": " + kernel.error().message;
    }
    ++counts[std::string(hone::name(kernel->source()))];
    all += kernel->implementation() + " " + kernel->configuration_text() + " " + std::string(hone::name(kernel->source())) + "\n";
  }
  return hone::digest(all) + " " + json(counts).dump();
}

/// A process of its own, and the end of the pipe that it writes to.
int start(const Asked& asked) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) {
    return -1;
  }
  if (fork() == 0) {
    const std::string said = answers(asked);
    const bool written = write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size());
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  return ends[0];
}

std::string said_on(int end) {
  std::string all;
  std::array<char, 4096> part{};
  for (ssize_t bytes = 0; (bytes = read(end, part.data(), part.size())) > 0;) {
    all.append(part.data(), static_cast<std::size_t>(bytes));
  }
  close(end);
  return all;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) {
    parts.push_back(part);
  }
  return parts;
}

int run(int argc, char** argv) {
  cxxopts::Options options("choices");
  options.add_options()("store", "", cxxopts::value<std::string>())("devices", "", cxxopts::value<std::string>()->default_value("cpu"))(
      "kernel", "", cxxopts::value<std::string>()->default_value("softmax:f32"))(
      "range", "", cxxopts::value<std::string>()->default_value("rows=1..1024,cols=1..1024"))(
      "processes", "", cxxopts::value<int>()->default_value("16"))("problems", "", cxxopts::value<std::uint64_t>()->default_value("1000"))(
      "also", "", cxxopts::value<std::string>()->default_value(""))("generation", "", cxxopts::value<std::int64_t>());
  const auto parsed = options.parse(argc, argv);
  const std::vector<std::string> kernel = split(parsed["kernel"].as<std::string>(), ':');
  const hone::Result<hone::DTypes> dtypes = kernel.empty() ? hone::parse_dtypes("") : hone::parse_dtypes(kernel.back());
  if (!dtypes) {
    std::fprintf(stderr, "--kernel: %s\n", dtypes.error().message.c_str());
    return 2;
  }
  const std::vector<std::string> devices = split(parsed["devices"].as<std::string>(), ',');
  Asked asked;
  asked.store = parsed["store"].as<std::string>();
  asked.kernel = kernel.front();
  asked.range = parsed["range"].as<std::string>();
  asked.also = parsed["also"].as<std::string>();
  asked.dtypes = *dtypes;
  if (parsed.count("generation") != 0) {
    asked.generation = parsed["generation"].as<std::int64_t>();
  }
  asked.problems = parsed["problems"].as<std::uint64_t>();
  std::vector<int> ends;
  for (int i = 0; i < parsed["processes"].as<int>(); ++i) {
    asked.device = devices[static_cast<std::size_t>(i) % devices.size()];
    ends.push_back(start(asked));
  }
  std::set<std::string> different;
  for (const int end : ends) {
    different.insert(said_on(end));
  }
  while (wait(nullptr) > 0) {
  }
  const std::string one = *different.begin();
  const std::size_t blank = one.find(' ');
  const json counts = json::parse(blank == std::string::npos ? "" : one.substr(blank + 1), nullptr, false);
  json out{{"processes", ends.size()}, {"problems", asked.problems}, {"different_answers", different.size()}};
  out["answer"] = counts.is_object() ? one.substr(0, blank) : one;
  out["sources"] = counts.is_object() ? counts : json();
  std::puts(out.dump().c_str());
  return different.size() == 1 && counts.is_object() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return refuse_wrong_options(run, argc, argv); }
