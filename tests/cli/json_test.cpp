// docs/json.md says what --json prints, and this holds both together: no field more, none less, and each of its type.
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "tests/cli/command.hpp"

namespace hone::test {
namespace {

using nlohmann::json;

/// A field as the document writes it: "space{size exact}", "stale?[what then now]", "kernels[...]".
struct Field {
  std::string name;
  bool optional = false, described = true;
  char kind = ' ';  ///< '{' an object, '[' a list of objects
  std::vector<Field> fields;
};

class FieldParser {
 public:
  explicit FieldParser(std::string_view text) : rest_(text) {}

  std::vector<Field> fields() {
    std::vector<Field> all;
    while (!rest_.empty() && rest_.front() != '}' && rest_.front() != ']') {
      if (rest_.front() == ' ') {
        rest_.remove_prefix(1);
        continue;
      }
      all.push_back(field());
    }
    return all;
  }

 private:
  Field field() {
    Field field;
    const std::size_t end = std::min(rest_.find_first_of(" ?{[}]"), rest_.size());
    REQUIRE_MESSAGE(end > 0, "a name is missing before: " << rest_);
    field.name = rest_.substr(0, end);
    rest_.remove_prefix(end);
    field.optional = take('?');
    if (!rest_.empty() && (rest_.front() == '{' || rest_.front() == '[')) {
      field.kind = rest_.front();
      rest_.remove_prefix(1);
      field.described = !rest_.starts_with("...");
      rest_.remove_prefix(field.described ? 0 : 3);
      field.fields = fields();
      CHECK(take(field.kind == '{' ? '}' : ']'));
    }
    return field;
  }

  bool take(char wanted) {
    const bool there = !rest_.empty() && rest_.front() == wanted;
    rest_.remove_prefix(there ? 1 : 0);
    return there;
  }

  std::string_view rest_;
};

/// The document: the fields of each command, and the types of each name.
struct Document {
  std::map<std::string, std::vector<Field>> commands;
  std::map<std::string, std::string> types;
};

const Document& document() {
  static const Document read = [] {
    Document made;
    std::istringstream lines(contents(HONE_SOURCE_DIR "/docs/json.md"));
    for (std::string line; std::getline(lines, line);) {
      const std::size_t first = line.find(" | "), second = line.find(" |", first + 2);
      if (!line.starts_with("| ") || line.starts_with("| ---") || first == std::string::npos || second == std::string::npos) {
        continue;
      }
      const std::string cell = line.substr(2, first - 2), next = line.substr(first + 3, second - first - 3);
      if (cell.starts_with("`")) {
        made.commands[cell.substr(1, cell.size() - 2)] = FieldParser(next).fields();
      } else {
        CHECK_MESSAGE(made.types.emplace(cell, " or " + next + " or ").second, cell, " is explained twice");
      }
    }
    return made;
  }();
  return read;
}

std::string type_of(const json& value) {
  return value.is_string()    ? "text"
         : value.is_number()  ? "number"
         : value.is_boolean() ? "true or false"
         : value.is_array()   ? "list"
         : value.is_object()  ? "object"
                              : "null";
}

void check_fields(const json& object, const std::vector<Field>& fields);

void check_value(const Field& field, const json& value) {
  const auto type = document().types.find(field.name);
  REQUIRE_MESSAGE(type != document().types.end(), field.name, " is not explained");
  CHECK_MESSAGE(type->second.find(" or " + type_of(value) + " or ") != std::string::npos, field.name, " is ", value.dump());
  if (field.kind == ' ' || !field.described || value.is_null()) {
    return;
  }
  if (field.kind == '{') {
    check_fields(value, field.fields);
    return;
  }
  REQUIRE(value.is_array());
  for (const json& one : value) {
    check_fields(one, field.fields);
  }
}

void check_fields(const json& object, const std::vector<Field>& fields) {
  REQUIRE(object.is_object());
  for (const Field& field : fields) {
    CHECK_MESSAGE((field.optional || object.contains(field.name)), "not printed: ", field.name);
    if (object.contains(field.name)) {
      check_value(field, object[field.name]);
    }
  }
  for (const auto& [name, value] : object.items()) {
    CHECK_MESSAGE(std::ranges::find(fields, name, &Field::name) != fields.end(), "not in docs/json.md: ", name);
  }
}

/// Runs a command and checks what it prints against the row of `command`.
void check(const std::string& command, Arguments arguments) {
  CAPTURE(command);
  arguments.emplace_back("--json");
  const auto row = document().commands.find(command);
  REQUIRE(row != document().commands.end());
  check_fields(run(arguments).json(), row->second);
}

}  // namespace

TEST_CASE("the tables of docs/json.md begin with their headers") {
  std::istringstream lines(contents(HONE_SOURCE_DIR "/docs/json.md"));
  bool is_in_table = false;
  for (std::string line; std::getline(lines, line);) {
    const bool begins = line.starts_with("|") && !is_in_table;
    is_in_table = line.starts_with("|");
    if (begins && std::getline(lines, line)) {
      CHECK_MESSAGE(line.starts_with("| ---"), line);
    }
  }
}

TEST_CASE("--json prints what docs/json.md says: of the store") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const auto on_cpu = [&](const std::string& verb, const Arguments& more) {
    Arguments all{verb, "copy", "--device", "cpu", "--shape", "n=4096", "--store", store};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  check("tune", on_cpu("tune", {"--budget", "2trials"}));
  check("tune", on_cpu("tune", {"--budget", "1trials", "--fix", "bytes=4"}));
  check("best", on_cpu("best", {}));
  check("run", on_cpu("run", {"--config", "default"}));
  check("check", {"check", "copy", "--device", "cpu", "--dtype", "f32", "--shape", "n=64", "--configurations", "0"});
  check("verify", {"verify", "copy", "--device", "cpu", "--store", store});
  write(directory / "suite.toml", "processes = 1\n[[case]]\nkernel = \"copy\"\nshape = \"n=64\"\n");
  check("bench", {"bench", directory / "suite.toml", "--device", "cpu", "--store", store});
  check("sessions", {"sessions", "--store", store});
  check("sessions ID", {"sessions", "1", "--store", store});
  check("report ID...", {"report", "1", "--store", store});
  check("sessions ID --record FILE", {"sessions", "1", "--store", store, "--record", directory / "r.json"});
  check("records", {"records", "--store", store});
  check("records --set STATE", {"records", "1", "--set", "approved", "--store", store});
  check("records --roll-back GENERATION", {"records", "--roll-back", "1", "--store", store});
  check("records --log", {"records", "--log", "--store", store});
  check("store info", {"store", "info", "--store", store});
  check("store check", {"store", "check", "--store", store});
  check("store pull", {"store", "pull", "--store", store, "--out", directory / "pulled.db"});
  check("store backup", {"store", "backup", "--store", store, "--out", directory / "backup.db"});
  check("store prune", {"store", "prune", "--store", store});
  check("store merge", {"store", "merge", store, "--store", directory / "other.db"});
  check("compare", {"compare", "--spaces", directory / "r.json", "--strategy", "random", "--budgets", "2", "--repeats", "2"});
}

TEST_CASE("--json prints what docs/json.md says: of portfolios") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", file = directory / "P.json";
  check("tune --shapes",
        {"tune", "row_sum", "--shapes", "rows=1..4,cols=16..64", "--budget", "6trials", "--device", "cpu", "--store", store});
  check("best PREDICTED", {"best", "row_sum", "--shape", "rows=3,cols=48", "--device", "cpu", "--store", store});
  check("portfolios", {"portfolios", "--store", store});
  check("portfolios --out FILE", {"portfolios", "row_sum", "--dtype", "f32", "--store", store, "--out", file});
  check("portfolios --add FILE", {"portfolios", "--add", file, "--store", store});
  check("warm", {"warm", "row_sum", "--device", "cpu", "--store", store});
}

TEST_CASE("--json prints what docs/json.md says: of workloads") {
  const TemporaryDirectory directory;
  const std::string file = directory / "calls.jsonl";
  write(file,
        "{\"hone_workload\": 1}\n{\"kernel\": \"copy\", \"dtype\": \"f32\", \"shape\": {\"n\": 4096}, \"count\": 3}\n"
        "{\"kernel\": \"no_kernel\", \"shape\": {}, \"count\": 1}\n");
  check("tune --workload", {"tune", "--workload", file, "--budget", "3trials", "--device", "cpu", "--store", directory / "S.db"});
}

TEST_CASE("--json prints what docs/json.md says: of kernels, spaces and the machine") {
  const TemporaryDirectory directory;
  check("kernels", {"kernels"});
  check("kernels KERNEL", {"kernels", "gemm"});
  check("space KERNEL", {"space", "copy", "--device", "cpu", "--sample", "2", "--time-queries", "2"});
  check("space KERNEL --explain", {"space", "copy", "--device", "cpu", "--explain"});
  write(directory / "spaces.json", R"([{"name": "some", "parameters": {"x": [1, 2]}, "constraints": ["x > 1"], "valid": 1},
    {"name": "none", "parameters": {"x": [1, 2]}, "constraints": ["x > 2"]}])");
  check("space FILE", {"space", directory / "spaces.json"});
  check("strategies", {"strategies"});
  check("strategies NAME", {"strategies", "auto"});
  check("devices", {"devices"});
  check("trust", {"trust"});
  check("completion", {"completion", "bash"});
  check("doctor", {"doctor", "--store", directory / "S.db"});
}

}  // namespace hone::test
