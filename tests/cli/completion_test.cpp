// What a shell is told to complete with.
#include <doctest/doctest.h>

#include "tests/cli/command.hpp"

namespace hone::test {
namespace {

/// The words after `hone`, the last one as far as it was typed.
std::string candidates(Arguments words) {
  words.insert(words.begin(), {"completion", "candidates"});
  const Ended ended = run(words);
  CHECK(ended.exit == 0);
  CHECK(ended.err == "");
  return ended.out;
}

}  // namespace

TEST_CASE("completion: verbs, options, kernels, and what an option may be given") {
  CHECK(candidates({"tu"}) == "tune\n");
  CHECK(candidates({"help", "tu"}) == "tune\n");
  CHECK(candidates({"tune", "soft"}) == "softmax\n");
  CHECK(candidates({"tune", "--bud"}) == "--budget\n");
  CHECK(candidates({"tune", "softmax", "--dtype", "bf"}) == "bf16\n");
  CHECK(candidates({"tune", "softmax", "--dtype", "=", "bf"}) == "bf16\n");  // as bash splits --dtype=bf
  CHECK(candidates({"tune", "softmax", "--strategy", "baye"}) == "bayesian\n");
  CHECK(candidates({"run", "copy", "--device", "c"}).find("cpu\n") != std::string::npos);
  CHECK(candidates({"store", "pu"}) == "pull\npush\n");
  CHECK(candidates({"serve-trials", "--kinds", "m"}) == "measure\n");
}

TEST_CASE("completion: nothing where files are meant, or nothing is known") {
  CHECK(candidates({"tune", "my_kernel"}) == "");
  CHECK(candidates({"tune", "softmax", "--store", ""}) == "");
  CHECK(candidates({"nothing", "--x"}) == "");
  CHECK(candidates({"tune", "--json", "soft"}) == "softmax\n");  // --json takes no value
}

TEST_CASE("completion: scripts for two shells, and what is none") {
  CHECK(run({"completion", "bash"}).out.find("complete -o default") != std::string::npos);
  CHECK(run({"completion", "zsh"}).out.starts_with("#compdef hone"));
  CHECK(run({"completion", "bsh"}).err.find("did you mean 'bash'?") != std::string::npos);
  CHECK(run({"completion"}).exit == 2);
}

}  // namespace hone::test
