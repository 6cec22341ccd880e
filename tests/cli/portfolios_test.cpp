// hone tune --shapes, hone portfolios, hone warm: from measuring to what a program gets.
#include <doctest/doctest.h>
#include <sqlite3.h>

#include <algorithm>
#include <set>

#include "tests/cli/command.hpp"

namespace hone::test {
namespace {

const std::string kDoubled = HONE_SOURCE_DIR "/tests/cli/doubled.cu";

Ended make_portfolio(const std::string& kernel, const std::string& range, const std::string& store, const Arguments& more) {
  Arguments arguments{"tune", kernel, "--device", "cpu", "--shapes", range, "--largest", "1MiB", "--store", store, "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(arguments);
}

/// `verb` for the sums of rows of a shape that nobody tuned.
Ended of_row_sum(const std::string& verb, const std::string& store, const Arguments& more = {}) {
  Arguments arguments{verb, "row_sum", "--device", "cpu", "--shape", "rows=3,cols=20", "--store", store, "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(arguments);
}

bool tells(const Ended& ended, const std::string& what) {
  CAPTURE(ended.err);
  return ended.err.find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("a range is measured, and goes on where it stopped") {
  const TemporaryDirectory directory;
  const auto made = [&](const std::string& budget) {
    const Ended ended = make_portfolio(kDoubled, "rows=1..64,cols=16..256", directory / "S.db", {"--budget", budget});
    REQUIRE_MESSAGE(ended.exit == 0, ended.err);
    return ended.json();
  };
  const nlohmann::json first = made("20trials");
  CHECK(first["trials"] >= 20);
  CHECK(first["points"] >= 3);
  CHECK(first["code_bytes"] > 0.0);
  CHECK(made("20trials")["measured_now"] == 0);
  const nlohmann::json more = made("32trials");
  CHECK(more["trials"] >= 32);
  CHECK(more["measured_now"] > 0);
  CHECK(more["points"] >= first["points"]);
  CHECK(more["generation"] > first["generation"]);
}

TEST_CASE("a range begins with what came with Hone for other products") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", file = directory / "P.json";
  const Ended made = make_portfolio("softmax", "rows=1..8,cols=64", store, {"--dtype", "f32", "--budget", "6trials"});
  REQUIRE_MESSAGE(made.exit == 0, made.err);
  std::set<std::string> members;
  const nlohmann::json listed = run({"portfolios", "softmax", "--dtype", "f32", "--json"}).json();
  for (const nlohmann::json& one : listed["portfolios"]) {
    const std::string product = one["product"];
    const Ended shipped = run({"portfolios", "softmax", "--dtype", "f32", "--product", product, "--range", one["range"], "--out", file});
    REQUIRE_MESSAGE(shipped.exit == 0, shipped.err);
    const nlohmann::json portfolio = nlohmann::json::parse(contents(file));
    for (const nlohmann::json& member : portfolio["members"]) {
      members.insert(member["config"]);
    }
  }
  const nlohmann::ordered_json session = nlohmann::ordered_json::parse(run({"sessions", "1", "--store", store, "--json"}).out);
  constexpr std::size_t kProposed = 4;  // of so few trials, beside the default and what is likely and nearest to it, whichever ends first
  std::size_t proposed = 0;
  for (const nlohmann::ordered_json& row : session["results"]) {
    std::string name;
    for (const auto& [parameter, value] : row["config"].items()) {
      name += (name.empty() ? "" : ",") + parameter + "=" + value.dump();
    }
    proposed += members.contains(name) ? 1 : 0;
  }
  CHECK(proposed >= kProposed);
  CHECK(session["results"].size() <= kProposed + 2);
}

TEST_CASE("a portfolio serves problems that are similar, says so, and warm compiles it for them") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const Ended made = run({"tune", "row_sum", "--dtype", "bf16", "--shapes", "rows=1..4,cols=16..32", "--budget", "12trials", "--device",
                          "cpu", "--store", store, "--json"});
  REQUIRE_MESSAGE(made.exit == 0, made.err);
  const auto with = [&](const std::string& verb, const std::string& dtype) {
    return run({verb, "row_sum", "--dtype", dtype, "--shape", "rows=3,cols=20", "--device", "cpu", "--store", store, "--json"});
  };
  const nlohmann::json own = with("best", "bf16").json(), similar = with("best", "f16").json();
  CHECK(own["prediction"]["made_for"] == "");
  CHECK(similar["source"] == "predicted");
  CHECK(similar["prediction"]["made_for"] == "bf16");
  CHECK(similar["prediction"]["doubt"] > own["prediction"]["doubt"]);
  CHECK(with("best", "f32").exit != 0);  // of another size

  const Ended warm = with("warm", "f16");
  REQUIRE_MESSAGE(warm.exit == 0, warm.err);
  REQUIRE(warm.json()["portfolios"].size() == 1);
  const nlohmann::json warmed = warm.json()["portfolios"][0];
  CHECK(warmed["dtype"] == "f16");
  CHECK(warmed["made_for"] == "bf16");
  CHECK(warmed["compiled"] == warmed["member_count"]);
  CHECK(with("warm", "f16").json()["portfolios"][0]["compiled"] == 0);
  CHECK(with("run", "f16").json()["source"] == "predicted");
  CHECK(with("warm", "f32").exit == 2);  // nothing serves it
  CHECK(run({"warm", "--shape", "rows=3", "--device", "cpu", "--store", store}).exit == 2);
}

TEST_CASE("a portfolio serves shapes that nobody tuned, also in another store, where its code is made ahead of time") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", file = directory / "P.json", range = "rows=1..4,cols=16..32";
  const Ended made = make_portfolio("row_sum", range, store, {"--budget", "12trials", "--out", file});
  REQUIRE_MESSAGE(made.exit == 0, made.err);

  const Ended best = of_row_sum("best", store);
  REQUIRE_MESSAGE(best.exit == 0, best.err);
  CHECK(best.json()["source"] == "predicted");
  CHECK(best.json()["prediction"]["slowdown"] >= 1.0);
  CHECK(best.json()["prediction"]["doubt"] > 0.0);
  CHECK(best.json()["prediction"]["generation"] == made.json()["generation"]);
  const Ended ran = of_row_sum("run", store);
  REQUIRE_MESSAGE(ran.exit == 0, ran.err);
  CHECK(ran.json()["source"] == "predicted");
  CHECK(ran.json()["config"] == best.json()["config"]);
  const Ended exported = of_row_sum("export", store, {"--out", directory / "plans"});
  REQUIRE_MESSAGE(exported.exit == 0, exported.err);
  CHECK(exported.json()["source"] == "predicted");

  // Another store takes the text; its code is made by warm, and once only.
  const std::string other = directory / "T.db";
  const Ended added = run({"portfolios", "--add", file, "--store", other, "--json"});
  REQUIRE_MESSAGE(added.exit == 0, added.err);
  CHECK(added.json()["current"] == true);
  CHECK(of_row_sum("best", other).json()["config"] == best.json()["config"]);
  const Ended warm = run({"warm", "row_sum", "--device", "cpu", "--store", other, "--json"});
  REQUIRE_MESSAGE(warm.exit == 0, warm.err);
  REQUIRE(warm.json()["portfolios"].size() == 1);
  CHECK(warm.json()["portfolios"][0]["compiled"] == warm.json()["portfolios"][0]["member_count"]);
  CHECK(warm.json()["portfolios"][0]["member_count"] == made.json()["members"].size());
  CHECK(run({"warm", "row_sum", "--device", "cpu", "--store", other, "--json"}).json()["portfolios"][0]["compiled"] == 0);
  CHECK(run({"warm", "softmax", "--device", "cpu", "--store", other, "--json"}).json()["portfolios"].empty());

  const nlohmann::json listed = run({"portfolios", "row_sum", "--store", other, "--json"}).json();
  REQUIRE(!listed["portfolios"].empty());
  CHECK(listed["portfolios"][0]["range"] == range);
  CHECK(listed["portfolios"][0]["current"] == true);
  const Ended copied = run({"portfolios", "row_sum", "--dtype", "f32", "--store", other, "--out", directory / "Q.json", "--json"});
  REQUIRE_MESSAGE(copied.exit == 0, copied.err);
  CHECK(contents(directory / "Q.json") == contents(file));

  // There it goes on from what the text knows, though no session of it is in that store.
  const std::string third = directory / "U.db";
  REQUIRE(run({"portfolios", "--add", file, "--store", third}).exit == 0);
  const Ended continued = make_portfolio("row_sum", range, third, {"--budget", "20trials"});
  REQUIRE_MESSAGE(continued.exit == 0, continued.err);
  CHECK(continued.json()["points"] > made.json()["points"]);
  CHECK(continued.json()["trials"] >= 20);
  const std::int64_t sessions = run({"sessions", "--store", third, "--json"}).json()["sessions"].size();
  CHECK(sessions < continued.json()["points"]);

  // A text of another version of Hone does not serve, and is not hidden.
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(store.c_str(), &database) == SQLITE_OK);
  REQUIRE(sqlite3_exec(database, "UPDATE portfolio SET text = replace(text, 'floor_us', 'least_us')", nullptr, nullptr, nullptr) ==
          SQLITE_OK);
  sqlite3_close(database);
  CHECK(run({"portfolios", "--store", store, "--json"}).json()["unreadable"] == 1);
  CHECK(of_row_sum("best", store).json()["source"] != "predicted");

  // Made anew of the same sessions it is the same, but for its generation.
  const Ended remade = run({"portfolios", "row_sum", "--remake", "--store", store, "--json"});
  REQUIRE_MESSAGE(remade.exit == 0, remade.err);
  REQUIRE(remade.json()["portfolios"].size() == 1);
  CHECK(remade.json()["portfolios"][0]["generation"] > made.json()["generation"]);
  CHECK(remade.json()["portfolios"][0]["points"] == made.json()["points"]);
  CHECK(of_row_sum("best", store).json()["config"] == best.json()["config"]);
  CHECK(tells(run({"portfolios", "softmax", "--remake", "--store", store}), "the store has no such portfolio"));
  CHECK(tells(run({"portfolios", "--remake", "--store", directory / "none.db"}), "no store at"));
  CHECK_FALSE(std::filesystem::exists(directory / "none.db"));
}

TEST_CASE("a name that is no operation is said, and makes no store") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  CHECK(tells(run({"warm", "softmx", "--device", "cpu", "--store", store}), "did you mean 'softmax'?"));
  CHECK(tells(run({"warm", "rmsnorm", "softmx", "--device", "cpu", "--store", store}), "did you mean 'softmax'?"));
  CHECK(tells(run({"warm", "softmx", "--device", "cpu", "--shape", "rows=1", "--store", store}), "did you mean 'softmax'?"));
  CHECK(tells(run({"warm", "softmax", "--device", "cpu", "--dtype", "f64", "--store", store}),
              "no such portfolio: none of those of softmax is of --dtype 'f64'"));
  CHECK(tells(run({"portfolios", "gemv", "--store", store}), "no such portfolio: none is of gemv"));
  CHECK(tells(run({"portfolios", "--generation", "7", "--dtype", "f32", "--store", store}),
              "none of those of --dtype 'f32' is of --generation 7"));
  CHECK(tells(run({"warm", "matmull", "--device", "cpu", "--shape", "m=1", "--store", store}), "did you mean 'matmul'?"));
  CHECK(tells(run({"portfolios", "softmx", "--store", store}), "did you mean 'softmax'?"));
  CHECK_FALSE(std::filesystem::exists(store));
}

TEST_CASE("hone warm makes no store for nothing") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const Ended nothing = run({"warm", "softmax", "--device", "cpu", "--store", store});
  CHECK(nothing.exit == 2);
  CHECK(tells(nothing, "no such portfolio is for"));
  const Ended idle = run({"warm", "--device", "cpu", "--store", store, "--json"});  // as an installer does on any machine
  CHECK(idle.exit == 0);
  CHECK(idle.json()["portfolios"].empty());
  CHECK(run({"warm", "softmax", "--device", "cpu", "--dtype", "f32", "--shape", "rows=8", "--store", store}).exit == 2);
  CHECK_FALSE(std::filesystem::exists(store));
  const Ended made = make_portfolio("row_sum", "rows=1..8,cols=16", store, {"--budget", "4trials"});
  REQUIRE_MESSAGE(made.exit == 0, made.err);
  const Ended warmed = run({"warm", "row_sum", "layernorm", "--device", "cpu", "--store", store, "--json"});
  CHECK(warmed.exit == 0);
  CHECK(warmed.json()["portfolios"].size() == 1);
  REQUIRE(warmed.json()["skipped"].size() == 1);
  CHECK(warmed.json()["skipped"][0].get<std::string>().starts_with("layernorm: no such portfolio"));
}

TEST_CASE("a file that cannot be written is said before a range is measured") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const auto refused = [&](const std::string& file) {
    const Ended ended = make_portfolio("row_sum", "rows=1..8,cols=16", store, {"--budget", "4trials", "--out", file});
    CHECK_FALSE(std::filesystem::exists(store));
    CHECK(ended.exit != 0);
    return ended;
  };
  CHECK(tells(refused(directory / "nowhere/P.json"), "nowhere/P.json cannot be written: No such file or directory"));
  CHECK(tells(refused(directory / ""), "cannot be written: Is a directory"));
  CHECK(tells(refused(""), "a file without a name cannot be written"));
}

TEST_CASE("what is added is what the file has") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", file = directory / "P.json";
  REQUIRE(make_portfolio("row_sum", "rows=1..8,cols=16", store, {"--budget", "4trials", "--out", file}).exit == 0);
  const std::string other = directory / "T.db";
  CHECK(tells(run({"portfolios", "softmax", "--add", file, "--store", other}), "--add takes a file's portfolio as it is"));
  std::string text = contents(file);
  const std::size_t product = text.find("\"product\": \"") + 12;
  text.erase(product, text.find('"', product) - product);
  write(file, text);
  CHECK(tells(run({"portfolios", "--add", file, "--store", other}), "no operation, no dtypes or no product"));
  write(file, "{}");
  CHECK(tells(run({"portfolios", "--add", file, "--store", other}), "is no portfolio as hone portfolios --out writes it"));
  CHECK_FALSE(std::filesystem::exists(other));
}

TEST_CASE("what a range cannot be is said") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const auto refused = [&](const Arguments& arguments) {
    Arguments all{"tune"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    all.insert(all.end(), {"--device", "cpu", "--store", store, "--budget", "5trials"});
    const Ended ended = run(all);
    CHECK(ended.exit == 2);
    return ended;
  };
  CHECK(tells(refused({"softmax", "--shapes", "rows=1..4,columns=5"}), "cols"));
  CHECK(tells(refused({"softmax", "--shapes", "rows=9..4"}), "is empty"));
  CHECK(tells(refused({"softmax", "--shapes", "rows=1..4", "--shape", "rows=4"}), "give one of the two"));
  CHECK(tells(refused({"softmax", "--shapes", "rows=1..4", "--fix", "block=64"}), "give one of the two"));
  CHECK(tells(refused({"softmax", "--shapes", "rows=1..4", "--largest", "many"}), "512MiB"));
  CHECK(tells(refused({"softmax", "--shapes", "rows=1..4", "--hold-out", "lines=4"}), "--hold-out: "));
  CHECK(tells(refused({"softmax", "--hold-out", "rows=4"}), "--hold-out is for a range"));
  CHECK(tells(refused({"gemm", "--shapes", "m=1..4"}), "gemm is one kernel of matmul"));
  CHECK(tells(refused({"matmul", "--shapes", "m=1..4,layout=1|2"}), "STATIC"));
  CHECK(tells(refused({"matmul", "--shapes", "m=1..4", "--without", "gem"}), "unknown kernel of matmul 'gem'"));
  CHECK(tells(refused({"softmax", "--each", "3"}), "--each is for a range"));
  CHECK(tells(refused({"softmax", "--shapes", "rows=1..4", "--each", "-1"}), "--each -1: give seconds above 0"));
  CHECK(tells(refused({"softmax", "--largest", "1MiB"}), "--largest is for a range"));
  CHECK(tells(refused({"matmul", "--members", "4"}), "--members is for a range"));
  CHECK(tells(refused({"softmax", "--out", directory / "P.json"}), "--out is for a range"));
  CHECK(tells(refused({HONE_SOURCE_DIR "/bench/spaces/copy.NVIDIA_H200.json.gz", "--shapes", "n=1..4"}), "a recorded space has the times"));
  CHECK(tells(refused({"softmax", "--shapes", "rows=1..4", "--max-error", "0.01", "--out", directory / "P.json"}), "--max-error"));
}

TEST_CASE("--without leaves kernels of the operation out of a portfolio") {
  const TemporaryDirectory directory;
  const Ended made = run({"tune", "matmul", "--device", "cpu", "--shapes", "m=1,n=32,k=16..64", "--dtype", "f32", "--without", "gemv",
                          "--budget", "12trials", "--store", directory / "S.db", "--json"});
  REQUIRE_MESSAGE(made.exit == 0, made.err);
  const nlohmann::json members = made.json()["members"];
  for (const nlohmann::json& member : members) {
    CHECK(member["kernel"] != "gemv");
  }
  const nlohmann::json sessions = run({"sessions", "--store", directory / "S.db", "--json"}).json();
  CHECK(sessions.dump().find("gemv") == std::string::npos);
}

TEST_CASE("--out writes the one portfolio that is meant, and none whose purpose a file does not say") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", file = directory / "P.json";
  const auto made = [&](const std::string& range, const Arguments& more = {}) {
    Arguments all{"--budget", "6trials"};
    all.insert(all.end(), more.begin(), more.end());
    const Ended ended = make_portfolio(kDoubled, range, store, all);
    REQUIRE_MESSAGE(ended.exit == 0, ended.err);
    return ended.json()["generation"].get<std::int64_t>();
  };
  const std::int64_t small = made("rows=1..8,cols=16"), large = made("rows=64,cols=16..32");
  const auto out = [&](const Arguments& more) {
    Arguments all{"portfolios", "doubled", "--store", store, "--out", file};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  CHECK(run({"portfolios", "--store", store, "--json"}).json()["portfolios"].size() >= 2);
  CHECK(tells(out({}), "--out writes one portfolio"));
  CHECK_FALSE(std::filesystem::exists(file));
  CHECK(out({"--generation", std::to_string(small)}).exit == 0);
  CHECK(nlohmann::json::parse(contents(file))["range"].dump() != "");
  const std::string of_small = contents(file);
  CHECK(out({"--range", "rows=1..8,cols=16"}).exit == 0);
  CHECK(contents(file) == of_small);
  CHECK(out({"--generation", std::to_string(large)}).exit == 0);
  CHECK(contents(file) != of_small);
  const std::int64_t loose = made("rows=1..8,cols=16", {"--max-error", "0.01"});
  CHECK(tells(out({"--generation", std::to_string(loose)}), "accuracy bound '0.01' alone"));
  CHECK(out({"--generation", std::to_string(small)}).exit == 0);
}

TEST_CASE("a range in which shape after shape fails has the portfolio of those that did not") {
  const TemporaryDirectory directory;
  const std::string file = directory / "small.cu", store = directory / "S.db";
  write(file, R"(// Twice x, but for the larger shapes of the range. The small problems of validation are none of them.
#include <hone/kernel.h>
struct Problem { long n = 64; };
struct Config { TUNE(32, 64) int block = 64; };
constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block)}, .block = {c.block}}; }
template <class T> constexpr Cost cost(Problem p) { return {.flops = 1.0 * p.n, .bytes = 2.0 * p.n * sizeof(T)}; }
template <class T> REFERENCE(p.n) void small_reference(long i, const T* x, double* y, Problem p) { y[i] = 2.0 * (double)(float)x[i]; }
template <class T, Config c> KERNEL void small(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) {
  const long i = (long)blockIdx.x * c.block + threadIdx.x;
  if (i < p.n) y[i] = T((p.n > 600 && p.n <= 4096 ? 3.0f : 2.0f) * (float)x[i]);
}
)");
  const Ended made = run(
      {"tune", file, "--device", "cpu", "--dtype", "f32", "--shapes", "n=1..4096", "--budget", "200trials", "--store", store, "--json"});
  REQUIRE_MESSAGE(made.exit == 0, made.err);
  CHECK(made.json()["points"] >= 1);
  CHECK(made.json()["failures"].size() >= 3);
  CHECK(run({"best", file, "--device", "cpu", "--dtype", "f32", "--shape", "n=50", "--store", store, "--json"}).json()["source"] !=
        "default");
}

TEST_CASE("what was measured on another share of a product is no part of a portfolio") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const Ended tuned = run({"tune", kDoubled, "--device", "cpu", "--shape", "rows=8,cols=32", "--budget", "3trials", "--store", store});
  REQUIRE_MESSAGE(tuned.exit == 0, tuned.err);
  const auto measured_now = [&](const std::string& of) {
    const Ended made = make_portfolio(kDoubled, "rows=8,cols=32", of, {"--budget", "4trials"});
    REQUIRE_MESSAGE(made.exit == 0, made.err);
    return made.json()["measured_now"].get<int>();
  };
  const std::string other = directory / "T.db";
  std::filesystem::copy_file(store, other);
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(other.c_str(), &database) == SQLITE_OK);
  CHECK(sqlite3_exec(database, "UPDATE device SET share = 'half', digest = 'another'", nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
  const int here = measured_now(store), elsewhere = measured_now(other);
  CHECK(elsewhere == here + 1);
}

TEST_CASE("shapes that are held out of a range have no part in it, whatever is not named of them") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const Ended made = make_portfolio(kDoubled, "rows=3|5,cols=48|64", store, {"--hold-out", "rows=3", "--budget", "24trials"});
  REQUIRE_MESSAGE(made.exit == 0, made.err);
  CHECK(made.json()["points"] == 2);
  const nlohmann::json records = run({"records", "--store", store, "--json"}).json()["records"];
  REQUIRE(records.size() == 2);
  CHECK(std::ranges::all_of(records, [](const nlohmann::json& record) { return record["shape"]["rows"] == 5; }));
  const Ended none = make_portfolio(kDoubled, "rows=3,cols=48", directory / "T.db", {"--hold-out", "rows=1..4", "--budget", "6trials"});
  CHECK(none.exit == 2);
  CHECK(tells(none, "--hold-out"));
}

TEST_CASE("a range of many shapes leaves no records, which would hide what it finds; one of few tunes each") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  REQUIRE(make_portfolio(kDoubled, "rows=1..64,cols=16..256", store, {"--budget", "20trials"}).exit == 0);
  CHECK(run({"records", "--all", "--store", store, "--json"}).json()["records"].empty());
  CHECK(run({"verify", "--all", "--device", "cpu", "--store", store, "--json"}).json()["records"].empty());
  REQUIRE(make_portfolio(kDoubled, "rows=3,cols=48|64", store, {"--budget", "12trials"}).exit == 0);
  CHECK(run({"records", "--all", "--store", store, "--json"}).json()["records"].size() == 2);
}

TEST_CASE("the text of a kernel file's portfolio is added and made again where the file is named") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", other = directory / "T.db", text = directory / "P.json", file = directory / "doubled.cu";
  std::filesystem::copy_file(kDoubled, file);
  const Ended made = make_portfolio(file, "rows=1..4,cols=16..32", store, {"--budget", "4trials", "--out", text});
  REQUIRE_MESSAGE(made.exit == 0, made.err);
  const Ended unnamed = run({"portfolios", "--add", text, "--store", other});
  CHECK(unnamed.exit == 2);
  CHECK(tells(unnamed, "where it is of a kernel file: hone portfolios FILE --add TEXT"));
  CHECK(tells(run({"portfolios", HONE_SOURCE_DIR "/examples/own_kernel/narrow_matmul.cu", "--add", text, "--store", other}),
              "the portfolio is of doubled, and the kernel file of matmul"));
  CHECK_FALSE(std::filesystem::exists(other));

  const Ended added = run({"portfolios", file, "--add", text, "--store", other, "--json"});
  REQUIRE_MESSAGE(added.exit == 0, added.err);
  CHECK(added.json()["operation"] == "doubled");
  CHECK(added.json()["current"] == true);
  const Ended best = run({"best", file, "--device", "cpu", "--shape", "rows=3,cols=20", "--store", other, "--json"});
  REQUIRE_MESSAGE(best.exit == 0, best.err);
  CHECK(best.json()["source"] == "predicted");

  CHECK(run({"portfolios", "--remake", "--store", store, "--json"}).json()["skipped"].size() == 1);
  const Ended remade = run({"portfolios", file, "--remake", "--store", store, "--json"});
  REQUIRE_MESSAGE(remade.exit == 0, remade.err);
  CHECK(remade.json()["portfolios"].size() == 1);

  // Of another version of the file the text is out of date, and whoever names the file is told so.
  std::string changed = contents(file);
  changed.replace(changed.find("3.0f : 2.0f"), 11, "4.0f : 2.0f");
  write(file, changed);
  CHECK(run({"portfolios", file, "--store", other, "--json"}).json()["portfolios"][0]["current"] == false);
  CHECK(run({"portfolios", "--store", other, "--json"}).json()["portfolios"][0]["current"] == true);  // nothing is known of it here
  CHECK(run({"portfolios", file, "--add", text, "--store", other, "--json"}).json()["current"] == false);
}

TEST_CASE("a file that is no portfolio is refused") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", file = directory / "P.json";
  write(file, "{}");
  CHECK(run({"portfolios", "--add", file, "--store", store}).exit != 0);
  CHECK(run({"portfolios", "--add", directory / "none.json", "--store", store}).exit == 2);
  CHECK(run({"portfolios", "nothing", "--out", file, "--store", store}).exit == 2);
  CHECK(contents(file) == "{}");
}

TEST_CASE("a text whose members are no configurations is refused, and so are names that nothing fits") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", file = directory / "P.json";
  const Ended made = make_portfolio("row_sum", "rows=1..4,cols=16..32", store, {"--budget", "3trials", "--out", file});
  REQUIRE_MESSAGE(made.exit == 0, made.err);
  CHECK(made.json()["trials"] <= 3);
  std::string text = contents(file);
  for (std::size_t at = text.find("block="); at != std::string::npos; at = text.find("block=", at)) {
    text.replace(at, 6, "blok=");
  }
  write(file, text);
  const Ended refused = run({"portfolios", "--add", file, "--store", directory / "T.db"});
  CHECK(refused.exit == 2);
  CHECK_MESSAGE(refused.err.find("no configuration of row_sum") != std::string::npos, refused.err);
  CHECK(run({"portfolios", "--remake", "--add", file, "--store", store}).exit == 2);
  CHECK(run({"portfolios", "row_sun", "--store", store}).exit == 2);
  CHECK(run({"warm", "row_sun", "--device", "cpu", "--store", store}).exit == 2);
  const Ended remade = run({"portfolios", "--remake", "--store", store, "--json"});
  REQUIRE_MESSAGE(remade.exit == 0, remade.err);
  CHECK(remade.json()["portfolios"].size() == 1);
  CHECK(remade.json()["skipped"].empty());
}

TEST_CASE("a record that takes the place of what served without being measured beside it is noted") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  REQUIRE(make_portfolio("row_sum", "rows=1..4,cols=16..32", store, {"--budget", "12trials"}).exit == 0);
  const Ended tuned = of_row_sum("tune", store, {"--budget", "1trials", "--no-transfer"});
  REQUIRE_MESSAGE(tuned.exit == 0, tuned.err);
  CHECK_MESSAGE(tuned.json()["notes"].dump().find("takes the place of") != std::string::npos, tuned.out);
}

}  // namespace hone::test
