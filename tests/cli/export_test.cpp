// A winner leaves Hone: its code, and how to launch it.
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/cli/command.hpp"
#include "tests/skip.hpp"

namespace hone::test {
namespace {

const Arguments kProblem{"softmax", "--dtype", "f32", "--shape", "rows=32,cols=100"};

Arguments with(const std::string& verb, const Arguments& more) {
  Arguments all{verb};
  all.insert(all.end(), kProblem.begin(), kProblem.end());
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

bool no_nvrtc(const Ended& ended) { return ended.exit != 0 && ended.err.find("NVRTC") != std::string::npos; }

}  // namespace

TEST_CASE("export: a default for a GPU that is not here") {
  const TemporaryDirectory directory;
  const Ended ended = run(
      with("export", {"--arch", "sm_90a", "--config", "default", "--store", directory / "none.db", "--out", directory / "out", "--json"}));
  if (no_nvrtc(ended)) {
    hone::tests::skip("nvrtc", ended.err);
    return;
  }
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const auto plan = nlohmann::json::parse(contents(directory / "out/softmax.f32.32x100.sm_90a.json"));
  CHECK(plan["device"]["architecture"] == "sm_90a");
  CHECK(plan["source"] == "default");
  CHECK(plan["tuned"].is_null());
  CHECK(plan["problem"]["bytes"] == "20000000000000006400000000000000");
  const std::string cubin = contents(directory / "out/softmax.f32.32x100.sm_90a.cubin");
  CHECK(plan["code"]["file"] == "softmax.f32.32x100.sm_90a.cubin");
  CHECK(cubin.size() == plan["code"]["bytes"]);
  CHECK(
      cubin.starts_with("\x7f"
                        "ELF"));
  REQUIRE(plan["passes"].size() == 1);
  const auto& pass = plan["passes"][0];
  CHECK(cubin.find(pass["symbol"].get<std::string>()) != std::string::npos);
  CHECK(pass["grid"][0] > 0);
  CHECK(pass["block"][0] == plan["config"]["block"]);
  CHECK(pass["cluster"] == nlohmann::json({1, 1, 1}));
  CHECK(pass["parameters"][0] == nlohmann::json({{"kind", "buffer"}, {"argument", "x"}}));
  CHECK(pass["parameters"].back() == nlohmann::json({{"kind", "problem"}}));
  CHECK(plan["arguments"][0] ==
        nlohmann::json({{"name", "x"}, {"role", "in"}, {"dtype", "f32"}, {"elements", 3200}, {"zeroed", false}, {"bytes", 12800}}));
}

TEST_CASE("export: what no device can launch is refused, and leaves what is there") {
  const TemporaryDirectory directory;
  write(directory / "tall.cu",
        "#include <hone/kernel.h>\nstruct Problem { long n = 64; };\nstruct Config { TUNE(1) int a = 1; };\n"
        "constexpr Launch launch(Problem p, Config c) { return {.grid = {1, p.n}, .block = {1}}; }\n"
        "REFERENCE(p.n) void tall_reference(long i, const f32* x, double* y, Problem p) { y[i] = x[i]; }\n"
        "template <Config c> KERNEL void tall(IN(p.n) const f32* x, OUT(p.n) f32* y, Problem p) { y[blockIdx.y] = x[blockIdx.y]; }\n");
  const auto exported = [&](const char* shape) {
    return run({"export", directory / "tall.cu", "--device", "cpu", "--config", "default", "--shape", shape, "--out", directory / "out"});
  };
  const Ended refused = exported("n=100000");
  CHECK(refused.exit == 2);
  CHECK_MESSAGE(refused.err.find("a=1 cannot be launched: a grid of 1 x 100000 x 1") != std::string::npos, refused.err);
  CHECK_FALSE(std::filesystem::exists(directory / "out"));
  CHECK(exported("n=100").exit == 0);
}

TEST_CASE("export: the winner of a store, also where its device is gone and nothing can be compiled") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  REQUIRE(run(with("tune", {"--device", "cpu", "--budget", "3trials", "--store", store})).exit == 0);
  const auto best = run(with("best", {"--device", "cpu", "--store", store, "--json"})).json();
  const auto here = run(with("export", {"--device", "cpu", "--store", store, "--out", directory / "here", "--json"})).json();
  CHECK(here["source"] == "exact");
  CHECK(here["config"] == best["config"]);
  CHECK(here["tuned"]["time_us"] == best["time_us"]);
  // Without a compiler: the code comes from the store.
  const std::string architecture = here["device"]["architecture"];
  const Ended away = run(with("export", {"--arch", architecture, "--store", store, "--out", directory / "away", "--json"}),
                         {{"PATH", ""}, {"CXX", "/nowhere"}});
  REQUIRE_MESSAGE(away.exit == 0, away.err);
  CHECK(away.json()["code"]["digest"] == here["code"]["digest"]);
  const std::string file = here["code"]["file"];
  CHECK(contents(directory / ("away/" + file)) == contents(directory / ("here/" + file)));
}

TEST_CASE("export: what is wrong is said, with what to do") {
  const TemporaryDirectory directory;
  const auto fails = [&](const Arguments& more) {
    const Ended ended = run(with("export", more));
    CHECK(ended.exit == 2);
    return ended.err;
  };
  const std::string none = directory / "none.db", out = directory / "out";
  CHECK(fails({"--device", "cpu", "--store", none, "--out", out}).find("hone tune softmax") != std::string::npos);
  CHECK(fails({"--arch", "sm_9", "--config", "default", "--store", none, "--out", out}).find("sm_90a") != std::string::npos);
  CHECK(fails({"--arch", "sm_90a", "--device", "cpu"}).find("not both") != std::string::npos);
  CHECK(fails({"--device", "cpu", "--config", "block=7", "--out", out}).find("block") != std::string::npos);
  CHECK(run({"export", "gemm", "--device", "cpu", "--dtype", "f32", "--config", "bm=64,layout=2", "--out", out})
            .err.find("'layout' is a field of the Problem: --shape layout=... says it") != std::string::npos);
  CHECK(run({"export", "sofmax"}).err.find("softmax") != std::string::npos);
  write(directory / "file", "");
  const Ended blocked = run(with("export", {"--device", "cpu", "--config", "default", "--store", none, "--out", directory / "file/out"}));
  CHECK(blocked.exit == 1);
  CHECK(blocked.err.find("cannot be created") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(out));
}

TEST_CASE("tuning keeps the default's code, also that of a part of the space, for where there is no compiler") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  Arguments tune{"tune", "copy", "--device", "cpu", "--dtype", "f32", "--shape", "n=4096", "--budget", "2trials", "--store", store};
  SUBCASE("of the whole space") {}
  SUBCASE("of a part without the default") { tune.insert(tune.end(), {"--fix", "bytes=4"}); }
  REQUIRE(run(tune).exit == 0);
  const Ended exported = run({"export", "copy", "--device", "cpu", "--dtype", "f32", "--shape", "n=128", "--config", "default", "--store",
                              store, "--out", directory / ""},
                             {{"HONE_CXX", directory / "no_compiler"}});
  CHECK_MESSAGE(exported.exit == 0, exported.err);
}

TEST_CASE("export --sass writes what nvdisasm says, and in which instructions another configuration differs") {
  const TemporaryDirectory directory;
  write(directory / "nvdisasm",
        "#!/bin/sh\ncase $2 in *against*) echo '  /*0000*/  LDG.E R4 ;';; *) echo '  /*0010*/  @P0 LDG.E.128 R4 ;';; esac\n");
  std::filesystem::permissions(directory / "nvdisasm", std::filesystem::perms::owner_all);
  const Arguments arguments = with("export", {"--arch", "sm_90a", "--config", "default", "--against", "block=512", "--sass", "--ptx",
                                              "--store", directory / "none.db", "--out", directory / "out", "--json"});
  const Ended ended = run(arguments, {{"PATH", directory / "" + ":/usr/bin:/bin"}});
  if (no_nvrtc(ended)) {
    hone::tests::skip("nvrtc", ended.err);
    return;
  }
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const auto plan = ended.json();
  CHECK(contents(plan["sass"].get<std::string>()) == "    @P0 LDG.E.128 R4 ;\n");
  CHECK(contents(plan["against"]["file"].get<std::string>()) == "    LDG.E R4 ;\n");
  CHECK(contents(plan["ptx"].get<std::string>()).find(".target sm_90a") != std::string::npos);
  CHECK(plan["against"]["config"]["block"] == 512);
  REQUIRE(plan["against"]["instructions"].size() == 2);
  CHECK(plan["against"]["instructions"][0]["name"] == "LDG.E");
  CHECK(plan["against"]["instructions"][0]["exported"] == 0);
  CHECK(plan["against"]["instructions"][0]["against"] == 1);
  write(directory / "nvdisasm", "#!/bin/sh\necho no such architecture >&2\nexit 3\n");
  const Ended failed = run(arguments, {{"PATH", directory / "" + ":/usr/bin:/bin"}});
  CHECK(failed.exit == 1);
  CHECK(failed.err.find("no such architecture") != std::string::npos);
}

TEST_CASE("export --sass says what is missing, and what it is not for") {
  const TemporaryDirectory directory;
  const Ended cpu = run(
      with("export", {"--device", "cpu", "--config", "default", "--sass", "--store", directory / "none.db", "--out", directory / "out"}));
  CHECK(cpu.exit == 2);
  CHECK(cpu.err.find("--ptx, --sass and --against are for code of NVIDIA's GPUs") != std::string::npos);
}

}  // namespace hone::test
