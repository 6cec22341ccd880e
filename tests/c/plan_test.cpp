// hone/plan.h on a driver that launches nothing: what it is told, and what `hone export --header` makes of a kernel.
#include <doctest/doctest.h>

#include "tests/cli/command.hpp"
#include "tests/skip.hpp"

namespace hone::test {
namespace {

/// The command, with the fake driver, which writes to `log`.
Ended with_driver(const std::string& command, const std::string& log, const Environment& extra = {}) {
  Environment environment{{"LD_LIBRARY_PATH", HONE_DRIVER_FOLDER}, {"FAKE_CUDA_LOG", log}};
  environment.insert(extra.begin(), extra.end());
  return run_shell(command, environment);
}

bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

const Arguments kExport{"export", "softmax", "--dtype", "f32", "--shape", "rows=32,cols=100", "--config", "default", "--header"};

Arguments exported(const Arguments& more) {
  Arguments all = kExport;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

TEST_CASE("plan: the driver is told all that a plan can have") {
  const TemporaryDirectory directory;
  const Ended ended = with_driver(HONE_PLAN_PROGRAM, directory / "log");
  REQUIRE_MESSAGE(ended.exit == 0, ended.out);
  CHECK(says(ended.out, "kernel: argument 2 (alpha) is missing"));
  const std::string log = contents(directory / "log");
  CHECK(log.substr(log.find("cuModuleLoadData")) ==
        "cuModuleLoadData ELF\n"
        "cuModuleGetFunction shows\n"
        "cuFuncSetAttribute shows 8 100000\n"
        "cuFuncSetAttribute shows 14 1\n"
        "cuModuleGetFunction plain\n"
        "cuModuleGetGlobal_v2 weights\n"
        "cuMemAlloc_v2 32\n"
        "cuMemsetD8Async 0 32 stream 9\n"
        "cuMemsetD8Async 0 64 stream 9\n"
        "cuMemcpyDtoDAsync_v2 8 stream 9\n"
        "cuTensorMapEncodeTiled aligned 1 type 7 rank 2 first 0 size 8 stride 32 box 4,2 steps 1 0 3 2 0\n"
        "cuLaunchKernelEx shows grid 2,3,4 block 128,1,1 shared 100000 stream 9 attributes 4=16,1,1 6=1,0,0\n"
        "parameters 2.5 0.5 7 90 3,5\n"
        "cuLaunchKernelEx plain grid 1,1,1 block 32,1,1 shared 0 stream 9 attributes 2=1,0,0\n"
        "cuMemFree_v2\n"
        "cuModuleUnload 1\n"
        "cuMemFree_v2\n"
        "cuMemFree_v2\n");
}

TEST_CASE("plan: a driver that cannot put an overlap into a graph is not asked for one") {
  const TemporaryDirectory directory;
  REQUIRE(with_driver(HONE_PLAN_PROGRAM, directory / "log", {{"FAKE_CUDA_VERSION", "12020"}}).exit == 0);
  CHECK(says(contents(directory / "log"), "attributes 4=16,1,1\n"));
}

TEST_CASE("plan: what the driver refuses is said, and what was loaded is unloaded") {
  const TemporaryDirectory directory;
  const auto fails = [&](const char* function) {
    return with_driver(HONE_PLAN_PROGRAM, directory / function, {{"FAKE_CUDA_FAILS", function}});
  };
  CHECK(says(fails("cuInit").out, "open the device: out of memory (2)"));
  CHECK(says(fails("cuModuleLoadData").out, "load the code of kernel: out of memory (2)"));
  const Ended missing = fails("cuModuleGetGlobal_v2");
  CHECK(missing.exit == 2);
  CHECK(says(missing.out, "find weights: out of memory (2)"));
  CHECK(says(contents(directory / "cuModuleGetGlobal_v2"), "cuModuleUnload 1"));
  const Ended launched = fails("cuLaunchKernelEx");
  CHECK(launched.exit == 4);
  CHECK(says(launched.out, "launch shows: out of memory (2)"));
}

TEST_CASE("plan: without a driver a program says so") {
  const Ended ended = run_shell(HONE_PLAN_PROGRAM, {{"LD_LIBRARY_PATH", "/nowhere"}});
  if (ended.exit == 0) {
    hone::tests::skip("no driver", "this machine has a CUDA driver");
    return;
  }
  CHECK(says(ended.out, "no NVIDIA driver: libcuda.so.1"));
}

TEST_CASE("plan: an exported softmax is launched by a C program that needs the driver alone") {
  const TemporaryDirectory directory;
  const Ended written = run(exported({"--arch", "sm_90a", "--store", directory / "none.db", "--out", directory / "", "--json"}));
  if (written.exit != 0 && says(written.err, "NVRTC")) {
    hone::tests::skip("nvrtc", written.err);
    return;
  }
  REQUIRE_MESSAGE(written.exit == 0, written.err);
  CHECK(written.json()["header"] == directory / "softmax.f32.32x100.sm_90a.h");
  const std::string build = std::string(HONE_C_COMPILER) + " -std=c99 -Wall -Wextra -pedantic -Werror -I'" + HONE_HEADERS + "' -I'" +
                            (directory / "") + "' '" HONE_SOURCE_DIR "/examples/c_plan/main.c' -o '" + (directory / "softmax") +
                            "' -DPLAN_FILE='\"softmax.f32.32x100.sm_90a.h\"' -DPLAN=softmax_f32_32x100_sm_90a -ldl -lm";
  const Ended built = run_shell(build);
  REQUIRE_MESSAGE(built.exit == 0, built.err);
  const Ended launched = with_driver("'" + (directory / "softmax") + "'", directory / "log");
  CHECK_MESSAGE(launched.exit == 0, launched.err);
  CHECK(says(launched.out, "\"row_sum\": 1.000"));  // computed from the pointers and the Problem of the launch
  const std::string log = contents(directory / "log");
  const auto plan = nlohmann::json::parse(contents(directory / "softmax.f32.32x100.sm_90a.json"));
  const auto& pass = plan["passes"][0];
  CHECK(says(log, "cuModuleLoadData ELF"));
  CHECK(says(log, "cuModuleGetFunction " + pass["symbol"].get<std::string>() + "\n"));
  CHECK(
      says(log, "grid " + pass["grid"][0].dump() + ",1,1 block " + pass["block"][0].dump() + ",1,1 shared " + pass["shared_bytes"].dump()));
}

TEST_CASE("plan: a header is for what the driver launches") {
  const TemporaryDirectory directory;
  const Ended ended = run(exported({"--device", "cpu", "--out", directory / "out"}));
  CHECK(ended.exit == 2);
  CHECK(says(ended.err, "code of cpu is launched by Hone alone"));
}

}  // namespace hone::test
