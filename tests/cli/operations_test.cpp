// Operations: several kernels, one of which is chosen.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

#include "tests/cli/command.hpp"
#include "tests/cli/store_rows.hpp"
#include "tests/twice_kernel.hpp"

namespace hone::test {
namespace {

const std::string kOwn = HONE_SOURCE_DIR "/examples/own_kernel/narrow_matmul.cu";
const std::string kShape = "m=24,n=16,k=40";

/// Tunes matmul with a kernel beside those built in.
Ended tune_matmul(const std::string& store, const Arguments& more = {}) {
  Arguments arguments{"tune", "matmul", "--with", kOwn, "--device", "cpu", "--shape", kShape, "--store", store, "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(arguments);
}

nlohmann::json of_kernel(const nlohmann::json& report, const std::string& kernel) {
  for (const auto& entry : report["implementations"]) {
    if (entry["kernel"] == kernel) {
      return entry;
    }
  }
  return {};
}

/// A file that implements `doubling`.
std::string doubling(const TemporaryDirectory& directory, const std::string& name, bool has_reference) {
  std::string text = kTwice;
  text.insert(text.find("struct Problem"), "OPERATION(doubling);\n");
  text.replace(text.find("void twice("), 10, "void " + name);
  text.replace(text.find("twice_reference"), 15, name + "_reference");
  const std::size_t reference = text.find("template <class T> REFERENCE");
  if (!has_reference) {
    text.erase(reference, text.find('\n', reference) + 1 - reference);
  }
  write(directory / (name + ".cu"), text);
  return directory / (name + ".cu");
}

bool says(const std::string& text, const std::string& what) {
  CAPTURE(text);
  return text.find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("kernels lists operations and describes one") {
  const nlohmann::json all = run({"kernels", "--json"}).json();
  const auto matmul =
      std::ranges::find_if(all["operations"], [](const nlohmann::json& operation) { return operation["operation"] == "matmul"; });
  REQUIRE(matmul != all["operations"].end());
  CHECK(says(run({"kernels"}).out, "operations"));
  const nlohmann::json one = run({"kernels", "matmul", "--json"}).json();
  CHECK(one == *matmul);
  CHECK(one["definition"] == "gemm");
  CHECK(one["implementations"].back()["kernel"] == "gemm");
  CHECK(one["arguments"].size() == 7);
  CHECK(says(run({"kernels", "matmul"}).out, "gemm_wgmma"));
  CHECK(run({"kernels", "gemm", "--json"}).json()["operation"] == "matmul");
  const nlohmann::json with = run({"kernels", "matmul", "--with", kOwn, "--json"}).json();
  CHECK(with["implementations"].back()["kernel"] == "narrow_matmul");
}

TEST_CASE("tune searches all kernels of an operation and says what became of each") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const Ended ended = tune_matmul(store, {"--budget", "10trials"});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const nlohmann::json report = ended.json();
  CHECK(report["operation"] == "matmul");
  CHECK(report["trials"] <= 10);
  const std::string winner = report["kernel"];
  CHECK((winner == "gemm" || winner == "narrow_matmul"));
  CHECK(report["best"]["time_us"] > 0.0);
  CHECK(report["best"]["ci95_us"][0] <= report["best"]["time_us"]);  // of the same round
  CHECK(report["best"]["time_us"] <= report["best"]["ci95_us"][1]);
  CHECK(report["best"]["time_us"] == of_kernel(report, winner)["best_us"]);
  CHECK(of_kernel(report, winner)["ended"] == "won");
  CHECK(of_kernel(report, "gemm_wgmma")["ended"] == "illegal");
  CHECK_FALSE(of_kernel(report, "gemm_wgmma")["reason"].get<std::string>().empty());
  for (const std::string kernel : {"gemm", "narrow_matmul"}) {
    CAPTURE(kernel);
    CHECK(of_kernel(report, kernel)["tuned"]["trials"] >= 2);
  }

  const nlohmann::json best =
      run({"best", "matmul", "--with", kOwn, "--device", "cpu", "--shape", kShape, "--store", store, "--json"}).json();
  CHECK(best["kernel"] == winner);
  CHECK(best["source"] == "exact");
  CHECK(best["config"] == report["best"]["config"]);
  const nlohmann::json near =
      run({"best", "matmul", "--with", kOwn, "--device", "cpu", "--shape", "m=25,n=16,k=40", "--store", store, "--json"}).json();
  CHECK(near["source"] == "nearest");
  CHECK(near["kernel"] == winner);
  const Ended ran = run({"run", "matmul", "--with", kOwn, "--device", "cpu", "--shape", kShape, "--store", store, "--json"});
  REQUIRE_MESSAGE(ran.exit == 0, ran.err);
  CHECK(ran.json()["kernel"] == winner);
  CHECK(ran.json()["outcome"] == "ok");
  const Ended untuned =
      run({"run", "matmul", "--with", kOwn, "--device", "cpu", "--shape", kShape, "--store", store, "--config", "default", "--json"});
  CHECK(untuned.json()["kernel"] == "gemm");
  const Ended exported = run(
      {"export", "matmul", "--with", kOwn, "--device", "cpu", "--shape", kShape, "--store", store, "--out", directory / "plans", "--json"});
  REQUIRE_MESSAGE(exported.exit == 0, exported.err);
  CHECK(exported.json()["kernel"] == winner);
}

TEST_CASE("a session in seconds has a look at each kernel before it searches one") {
  const TemporaryDirectory directory;
  const std::string log = directory / "log.jsonl";
  REQUIRE(tune_matmul(directory / "S.db", {"--budget", "6s", "--log", log}).exit == 0);
  std::vector<std::string> kernels;  // of the trials, in their order
  std::istringstream lines(contents(log));
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json event = nlohmann::json::parse(line);
    if (event["event"] == "trial") {
      kernels.push_back(event["kernel"]);
    }
  }
  REQUIRE_FALSE(kernels.empty());
  const auto other = std::ranges::find_if(kernels, [&](const std::string& kernel) { return kernel != kernels.front(); });
  CHECK(other - kernels.begin() <= 6);  // two, and what was proposed with them
}

TEST_CASE("however short the budget, nothing takes the place of what serves before that was measured beside it") {
  const TemporaryDirectory directory;
  for (const std::string budget : {"0.001s", "1trials"}) {
    const std::string store = directory / (budget + ".db");
    const Ended untuned = run({"run", "matmul", "--device", "cpu", "--dtype", "f32", "--shape", "m=1,n=48,k=64", "--store", store,
                               "--config", "default", "--json"});
    REQUIRE_MESSAGE(untuned.exit == 0, untuned.err);
    const Ended tuned = run({"tune", "matmul", "--device", "cpu", "--dtype", "f32", "--shape", "m=1,n=48,k=64", "--budget", budget,
                             "--store", store, "--json"});
    REQUIRE_MESSAGE(tuned.exit == 0, tuned.err);
    const nlohmann::json report = tuned.json();
    CHECK(report["default_us"] > 0.0);
    CHECK(of_kernel(report, untuned.json()["kernel"])["tuned"]["trials"] >= 1);
  }
}

TEST_CASE("what is likely and nearest to a default that is not is tried after it") {
  const TemporaryDirectory directory;
  const std::string file = directory / "twice.cu", store = directory / "S.db";
  std::ofstream(file) << test::kTwice << "constexpr bool likely(Problem p, Config c, Device d) { return c.items == 4; }\n";
  const auto second = [&](const Arguments& more) {
    Arguments arguments{"tune", file, "--device", "cpu", "--budget", "2trials", "--strategy", "exhaustive", "--store", store, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ended tuned = run(arguments);
    REQUIRE_MESSAGE(tuned.exit == 0, tuned.err);
    const std::string id = std::to_string(tuned.json()["session"].get<int>());
    const nlohmann::json session = run({"sessions", id, "--store", store, "--json"}).json();
    REQUIRE(session["results"].size() == 2);
    CHECK(session["results"][0]["config"] == nlohmann::json{{"block", 64}, {"items", 1}});
    return session["results"][1]["config"];
  };
  CHECK(second({}) == nlohmann::json{{"block", 64}, {"items", 4}});
  CHECK(second({"--likely", "ignore", "--no-transfer"}) == nlohmann::json{{"block", 32}, {"items", 1}});  // the first of all
}

TEST_CASE("however short the budget, what the nearest record serves is tried and stands in the final round") {
  struct Case {
    std::string subject, kernel, near, here, fixed;
  };
  for (const Case& one : {Case{"softmax", "softmax", "rows=32,cols=256", "rows=40,cols=256", "block=64"},
                          Case{"matmul", "gemv", "m=1,n=48,k=64", "m=1,n=48,k=72", "threads=512"}}) {
    for (const std::string budget : {"0.001s", "1trials"}) {
      CAPTURE(one.subject);
      CAPTURE(budget);
      const TemporaryDirectory directory;
      const std::string store = directory / "S.db";
      const auto asked = [&](const std::string& verb, const std::string& subject, const std::string& shape, const Arguments& more) {
        Arguments arguments{verb, subject, "--device", "cpu", "--dtype", "f32", "--shape", shape, "--store", store, "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Ended ended = run(arguments);
        REQUIRE_MESSAGE(ended.exit == 0, ended.err);
        return ended.json();
      };
      const nlohmann::json near = asked("tune", one.kernel, one.near, {"--fix", one.fixed, "--budget", "1trials"});
      const nlohmann::json before = asked("best", one.subject, one.here, {});
      REQUIRE(before["source"] == "nearest");
      REQUIRE(before["config"] == near["best"]["config"]);

      asked("tune", one.subject, one.here, {"--budget", budget});
      const auto tried = query(store, "SELECT DISTINCT configuration FROM trial WHERE session > 1");
      const auto finalists =
          query(store,
                "SELECT DISTINCT trial.configuration FROM final_measurement JOIN trial ON final_measurement.trial = trial.id "
                "WHERE trial.session > 1");
      const auto known = query(store, "SELECT configuration FROM trial WHERE session = 1");
      REQUIRE(known.size() == 1);
      CHECK(std::ranges::find(tried, known.front()) != tried.end());
      // On a slow host a final round of a millisecond measures nobody: trials stand.
      CHECK((finalists.empty() || std::ranges::find(finalists, known.front()) != finalists.end()));
    }
  }
}

TEST_CASE("a session of an operation is resumed where it was") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  {
    Running tuner({"tune", "matmul", "--with", kOwn, "--device", "cpu", "--shape", kShape, "--store", store, "--budget", "100trials"});
    while (tuner.alive()) {
      const Ended sessions = run({"sessions", "--store", store, "--json"});
      std::int64_t trials = 0;
      for (const auto& session : sessions.exit == 0 ? sessions.json()["sessions"] : nlohmann::json::array()) {
        trials += session["trials"].get<std::int64_t>();
      }
      if (trials >= 3) {
        break;
      }
    }
    REQUIRE(tuner.alive());
    tuner.kill_and_reap();
  }
  const Ended ended = tune_matmul(store, {"--budget", "12trials"});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const nlohmann::json report = ended.json();
  std::int64_t resumed = 0;
  for (const auto& kernel : report["implementations"]) {
    resumed += kernel["tuned"].is_null() ? 0 : kernel["tuned"]["resumed_trials"].get<std::int64_t>();
  }
  CHECK(resumed >= 3);
}

TEST_CASE("a session of one kernel and one of its operation are two, and feed each other") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const Ended alone =
      run({"tune", kOwn, "--device", "cpu", "--dtype", "f32", "--shape", kShape, "--store", store, "--budget", "3trials", "--json"});
  REQUIRE_MESSAGE(alone.exit == 0, alone.err);
  const nlohmann::json known =
      run({"best", "matmul", "--with", kOwn, "--device", "cpu", "--shape", kShape, "--store", store, "--json"}).json();
  CHECK(known["kernel"] == "narrow_matmul");
  const Ended together = tune_matmul(store, {"--budget", "8trials"});
  REQUIRE_MESSAGE(together.exit == 0, together.err);
  CHECK(of_kernel(together.json(), "narrow_matmul")["tuned"]["session"] != alone.json()["session"]);
  CHECK(of_kernel(together.json(), "narrow_matmul")["tuned"]["prior_trials"] > 0);
}

TEST_CASE("where the first kernel's default was not measured, nothing is said of how far the winner is ahead of it") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const Ended alone = run({"tune", kOwn, "--device", "cpu", "--dtype", "f32", "--shape", kShape, "--store", store, "--budget", "2trials"});
  REQUIRE_MESSAGE(alone.exit == 0, alone.err);
  const Arguments once{"tune", "matmul", "--with", kOwn, "--device", "cpu", "--shape", kShape, "--store", store, "--budget", "1trials"};
  const Ended ended = run(once);
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  // Of two sessions the record is of whichever was faster.
  const bool is_record = ended.out.find("result   narrow_matmul is kept in " + store) != std::string::npos;
  CHECK((is_record || says(ended.out, "result   narrow_matmul in " + store + " as session")));
  CHECK_FALSE(says(ended.out, "speedup"));
  const Ended again = tune_matmul(store, {"--budget", "1trials", "--fresh"});
  REQUIRE_MESSAGE(again.exit == 0, again.err);
  CHECK(again.json()["kernel"] == "narrow_matmul");
  CHECK(again.json()["default_us"].is_null());
  CHECK(again.json()["speedup"] == 0.0);
}

TEST_CASE("an operation of one's own is tuned by its name, too; any of its files has the reference") {
  const TemporaryDirectory directory;
  const std::string first = doubling(directory, "first", true), second = doubling(directory, "second", false);
  const auto tune = [&](const Arguments& subject) {
    Arguments arguments{"tune", "--device", "cpu", "--budget", "2trials", "--store", directory / "S.db", "--fresh", "--json"};
    arguments.insert(arguments.begin() + 1, subject.begin(), subject.end());
    return run(arguments);
  };
  for (const Arguments& subject : {Arguments{first, "--with", second}, Arguments{"doubling", "--with", first, "--with", second}}) {
    const Ended ended = tune(subject);
    REQUIRE_MESSAGE(ended.exit == 0, ended.err);
    CHECK(ended.json()["operation"] == "doubling");
    CHECK(ended.json()["implementations"].size() == 2);
  }
  CHECK(tune({"doubling", "--with", second, "--with", first}).exit == 0);
  CHECK(says(tune({"doubling", "--with", second}).err, "name the file that has it, too"));
}

TEST_CASE("a kernel whose reference another file has is checked, described, run and verified beside that") {
  const TemporaryDirectory directory;
  const std::string first = doubling(directory, "first", true), second = doubling(directory, "second", false), store = directory / "S.db";
  CHECK(run({"check", second}).exit == 2);
  const Ended checked = run({"check", second, "--with", first, "--device", "cpu", "--shape", "n=256"});
  CHECK_MESSAGE(checked.exit == 0, checked.err);
  CHECK(run({"check", second, "--against", first, "--device", "cpu", "--shape", "n=256"}).exit == 0);
  CHECK(run({"space", second, "--with", first, "--device", "cpu", "--json"}).json()["kernel"] == "second");
  const auto ran = run({"run", second, "--with", first, "--config", "block=32", "--device", "cpu", "--store", store, "--json"});
  REQUIRE_MESSAGE(ran.exit == 0, ran.err);
  CHECK(ran.json()["kernel"] == "second");  // the one that the configuration is of

  REQUIRE(run({"tune", second, "--with", first, "--device", "cpu", "--budget", "6trials", "--store", store}).exit == 0);
  const Ended here = run_shell("cd " + directory / "" + " && $HONE verify --all --rivals 0 --device cpu --json --store " + store);
  REQUIRE_MESSAGE(here.exit != 2, here.err);
  const nlohmann::json verified = here.json();
  CHECK_FALSE(verified["records"].empty());
  for (const auto& record : verified["records"]) {
    CHECK((record["standing"] == "ok" || record["standing"] == "slower"));
  }
  const Ended named = run({"verify", second, "--kernel", first, "--rivals", "0", "--device", "cpu", "--store", store, "--json"});
  CHECK_MESSAGE(named.exit != 2, named.err);
}

TEST_CASE("what serves an operation is said by best and run as a program gets it") {
  const TemporaryDirectory directory;
  const std::string first = doubling(directory, "first", true), second = doubling(directory, "second", false), store = directory / "S.db",
                    text = directory / "P.json";
  const Arguments operation{"doubling", "--with", first, "--with", second, "--device", "cpu"};
  const auto with = [&](const std::string& verb, const Arguments& more) {
    Arguments all{verb};
    all.insert(all.end(), operation.begin(), operation.end());
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  REQUIRE(with("tune", {"--without", "second", "--shapes", "n=1..4096", "--budget", "12trials", "--out", text, "--store", store}).exit ==
          0);
  CHECK(with("best", {"--shape", "n=777", "--store", store, "--json"}).json()["source"] == "predicted");

  // A portfolio of another version of one of its kernels does not serve the operation, whatever its others are.
  nlohmann::json portfolio = nlohmann::json::parse(contents(text));
  REQUIRE(portfolio["sources"].size() == 1);
  portfolio["sources"]["second"] = std::string(32, '0');
  write(text, portfolio.dump());
  const std::string other = directory / "T.db";
  const Ended added = run({"portfolios", first, "--with", second, "--add", text, "--store", other, "--json"});
  REQUIRE_MESSAGE(added.exit == 0, added.err);
  CHECK(added.json()["current"] == false);
  CHECK(with("best", {"--shape", "n=777", "--store", other}).exit == 2);
  const Ended ran = with("run", {"--shape", "n=777", "--store", other, "--json"});
  CHECK_MESSAGE(ran.json()["source"] == "default", ran.err);
}

TEST_CASE("a kernel whose default is wrong leaves the others") {
  const TemporaryDirectory directory;
  std::string text = contents(kOwn);
  text.replace(text.find("T(alpha * sums[r])"), 18, "T(alpha * sums[r] + 1.0f)");
  text.replace(text.find("void narrow_matmul"), 18, "void wrong_matmul");
  const std::string file = directory / "wrong_matmul.cu";
  write(file, text);
  const Ended ended = run({"tune", "matmul", "--with", file, "--device", "cpu", "--shape", kShape, "--store", directory / "S.db",
                           "--budget", "6trials", "--json"});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  CHECK(ended.json()["kernel"] == "gemm");
  CHECK(of_kernel(ended.json(), "wrong_matmul")["ended"] == "failed");
  CHECK(says(of_kernel(ended.json(), "wrong_matmul")["reason"], "wrong_result"));
}

TEST_CASE("what an operation cannot be given is said") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const Ended fixed = tune_matmul(store, {"--fix", "block=64"});
  CHECK(fixed.exit == 2);
  CHECK(says(fixed.err, "--fix names parameters of one kernel"));
  CHECK(says(tune_matmul(store, {"--dtype", "f64"}).err, "f64"));
  CHECK(says(run({"space", "matmul"}).err, "matmul is an operation, and one of its kernels is needed here"));
  CHECK(says(run({"check", "matmul"}).err, "is an operation"));
  const Ended verified = run({"verify", "matmul", "--store", store});
  CHECK(verified.exit == 2);
  CHECK(says(verified.err, "matmul is an operation, and one of its kernels is needed here: gemv"));
  CHECK(says(run({"tune", "gemm", "--with", kOwn}).err, "gemm is one kernel of the operation matmul"));
  CHECK(says(run({"tune", "softmax", "--with", kOwn}).err, "does not say that it implements softmax"));
  const std::string other = directory / "other.cu";
  std::string text = contents(kOwn);
  text.replace(text.find("long layout = 1, terms = 1, activation = 1;"), 43, "");
  text.replace(text.find("if (p.layout != 1) return false;      // a[m, k] b[k, n]\n"), 57, "");
  text.replace(text.find("if (p.terms != 1) return false;       // nothing is added\n"), 58, "");
  text.replace(text.find("if (p.activation != 1) return false;  // and nothing applied\n"), 61, "");
  text.replace(text.find("void narrow_matmul"), 18, "void other");
  write(other, text);
  const Ended lacking = run({"tune", "matmul", "--with", other});
  CHECK(lacking.exit == 2);
  CHECK(says(lacking.err, "its Problem lacks 'layout'"));
  CHECK(says(lacking.err, "its Problem lacks 'activation'"));
}

TEST_CASE("--without leaves out kernels of an operation") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const Ended ended = tune_matmul(store, {"--without", "narrow_matmul", "--without", "gemv", "--budget", "3trials"});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  CHECK(ended.json()["kernel"] == "gemm");
  CHECK(of_kernel(ended.json(), "narrow_matmul").is_null());
  CHECK(of_kernel(ended.json(), "gemv").is_null());
  CHECK(says(tune_matmul(store, {"--without", "gem"}).err, "unknown kernel of matmul 'gem'; did you mean"));
  CHECK(says(run({"tune", "gemm", "--without", "gemv", "--device", "cpu", "--store", store}).err, "kernels of an operation"));
}

TEST_CASE("a library that is missing costs nothing, and it is said where it was looked for") {
  const Environment nowhere{{"HONE_CUBLASLT", "/nonexistent/libcublasLt.so"}};
  const nlohmann::json matmul = run({"kernels", "matmul", "--json"}, nowhere).json();
  REQUIRE(matmul["libraries"].size() == 1);
  CHECK(matmul["libraries"][0]["kernel"] == "cublaslt");
  CHECK(matmul["libraries"][0]["found"] == false);
  CHECK(says(matmul["libraries"][0]["what"], "HONE_CUBLASLT"));
  CHECK(says(run({"kernels", "matmul"}, nowhere).out, "missing"));
  CHECK(says(run({"doctor"}, nowhere).out, "matmul is tuned without it"));
  CHECK(says(run({"run", "cublaslt", "--device", "cpu", "--shape", kShape}, nowhere).err, "/nonexistent/libcublasLt.so"));
  CHECK(run({"kernels", "softmax", "--json"}, nowhere).exit == 0);
  CHECK(says(run({"tune", "cublaslt", "--device", "cpu"}, nowhere).err, "tuned as one of the kernels of matmul"));
}

TEST_CASE("a file that is no cuBLASLt is said to lack what it lacks") {
  const Ended ended = run({"kernels", "matmul", "--json"}, {{"HONE_CUBLASLT", "libm.so.6"}});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  CHECK(says(ended.json()["libraries"][0]["what"], "libm.so.6 lacks cublasLtGetVersion"));
}

TEST_CASE("a library that is here is listed with its version, and is no library of every device") {
  const Environment sham{{"HONE_CUBLASLT", HONE_SHAM_CUBLASLT}};
  const nlohmann::json library = run({"kernels", "matmul", "--json"}, sham).json()["libraries"][0];
  CHECK(library["found"] == true);
  CHECK(says(library["what"], "version 12.9.5, " HONE_SHAM_CUBLASLT));
  CHECK(says(run({"kernels", "matmul"}, sham).out, "version 12.9.5"));
  const TemporaryDirectory directory;
  const Ended elsewhere = run({"run", "cublaslt", "--device", "cpu", "--shape", kShape, "--store", directory / "S.db"}, sham);
  CHECK(elsewhere.exit == 2);
  CHECK(says(elsewhere.err, "cublaslt is no library of cpu"));
  CHECK(says(run({"export", "cublaslt", "--device", "cpu"}, sham).err, "cublaslt is no library of cpu"));
}

}  // namespace hone::test
