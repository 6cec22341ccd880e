#!/usr/bin/env python3
"""Breaks a copy of the repository in one way at a time and runs the stage that must notice: who watches the stages.

    scripts/mutate.py                        all mutations that scripts/ci.sh must find, a line each
    scripts/mutate.py --list                 their names
    scripts/mutate.py format header          these alone
    scripts/mutate.py --all --report FILE    those of scripts/check_all.sh, too; the table goes to FILE

Each stage first runs on the copy as it is and must be green. The copy is a clone in --folder (build-checks/mutants), kept between runs for its
build folders. The exit code is 1 where a mutation went unnoticed.
"""
import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAMES = "engine/base/names.cpp"
DIGEST = "engine/base/digest.cpp"
BASE = {"HONE_TARGETS": "test_base", "HONE_TESTS": "^base$"}


@dataclass
class Mutation:
    name: str
    stage: str  # "ci.sh STAGE" or "check_all.sh STAGE"
    what: str  # for people
    edits: list = field(default_factory=list)  # (file, pattern, replacement), each of which must match once
    subject: str = "A change"
    environment: dict = field(default_factory=dict)  # for the stage, before and after
    broken_environment: dict = field(default_factory=dict)  # after alone


MUTATIONS = [
    Mutation("subject", "ci.sh repository", "a subject of 80 characters", subject="A subject that goes on and on and on, until nobody can read it in a list of commits"),
    Mutation("link", "ci.sh repository", "a page links to a file that is not there", [("README.md", r"\Z", "\nSee [more](docs/nowhere.md).\n")]),
    Mutation("path", "ci.sh repository", "a comment names a folder of one machine", [(NAMES, r"\Z", "// as in /ho" "me/somebody/notes.txt\n")]),
    Mutation("early_return", "ci.sh repository", "a test case returns early and passes",
             [("tests/base/names_test.cpp", r"(TEST_CASE\(\"two letters[^\n]*\n)", r"\1  if (sizeof(long) == 8) {\n    return;\n  }\n")]),
    Mutation("outside", "ci.sh repository", "a test reads a file of the system",
             [("tests/base/names_test.cpp", r"\Z", "// std::ifstream(\"/etc/passwd\")\n")]),
    Mutation("unlisted", "ci.sh repository", "a test file is dropped from its target",
             [("tests/base/CMakeLists.txt", r"\bnames_test\.cpp\s?", "")]),
    Mutation("format", "ci.sh format", "a line is indented by three", [(NAMES, r"\n  std::string message", r"\n   std::string message")]),
    Mutation("header", "ci.sh headers", "a public header lacks an include",
             [("engine/include/application/hone/budget.hpp", r"#include \"hone/error.hpp\"\n", "")]),
    Mutation("kernel_header", "ci.sh headers", "a kernel file's header does not compile",
             [("engine/include/kernel/hone/random.h", r"\Z", "inline missing_type mutant();\n")]),
    Mutation("warning", "ci.sh build", "a variable is never used",
             [(DIGEST, r"(  const XXH128_hash_t hash)", r"  int unused = 0;\n\1")], environment={"HONE_TARGETS": "hone_base"}),
    Mutation("dropped_test", "ci.sh floor", "a test case is gone",
             [("tests/base/names_test.cpp", r"TEST_CASE\(\"two letters.*?\n}\n", "")], environment={"build first": "build", "HONE_TARGETS": "test_base"}),
    Mutation("failing_test", "ci.sh tests", "a suggestion takes one slip less",
             [(NAMES, r"given\.size\(\) / 3\)", "given.size() / 30)")], environment={"build first": "build", **BASE}),
    Mutation("silent_skip", "ci.sh tests", "libclang cannot be found, so that the reader's tests cannot run",
             environment={"build first": "build", "HONE_TARGETS": "test_reader", "HONE_TESTS": "^reader$"}, broken_environment={"HONE_LIBCLANG": "/nonexistent/libclang.so"}),
    Mutation("fuzz", "ci.sh fuzz", "a real number is written with three digits",
             [("engine/kernel/expression_text.cpp", r'"r\{\}", value', '"r{:.3}", value')],
             environment={"build first": "build", "HONE_TARGETS": "expression_fuzz", "HONE_TESTS": "^fuzz_expression$"}),
    Mutation("package", "ci.sh package", "the worker is not installed",
             [("cmake/HoneInstall.cmake", r"install\(TARGETS hone-worker[^)]*\)\n", "")],
             environment={"build first": "build", "HONE_TARGETS": "hone hone-worker hone_engine hone_runtime_static hone_shared hone_runtime_shared"}),
    Mutation("overrun", "ci.sh sanitizers", "a buffer is one element too short",
             [(NAMES, r"row\(b\.size\(\) \+ 1\)", "row(b.size())")], environment=BASE),
    Mutation("overflow", "ci.sh sanitizers", "a sum of ints overflows",
             [(DIGEST, r"(?<=\n)(std::string digest\(std::string_view text\) \{)", r"\1\n  volatile int sum = 2147483647;\n  sum = sum + static_cast<int>(text.size());\n ")],
             environment=BASE),
    Mutation("leak", "ci.sh sanitizers", "a string is never freed",
             [(DIGEST, r"std::span\(text\.data\(\), text\.size\(\)\)", "std::span((new std::string(text))->data(), text.size())")], environment=BASE),
    Mutation("race", "check_all.sh tsan", "a lock is missing",
             [("engine/plugin/call_with_timeout.cpp", r"(CallWithTimeout::busy\(\) const \{\n)[^\n]*\n", r"\1")],
             environment={"HONE_TARGETS": "test_plugin", "HONE_TESTS": "^plugin$"}),
    Mutation("clang_warning", "check_all.sh clang", "a lambda captures what it does not use",
             [(DIGEST, r"(  const XXH128_hash_t hash)", r"  const auto size = [&bytes] { return 0; };\n  static_cast<void>(size());\n\1")],
             environment={"HONE_TARGETS": "hone_base"}),
    Mutation("tidy", "check_all.sh tidy", "a string is copied in each turn of a loop",
             [(DIGEST, r"\Z", "namespace hone {\nstd::size_t mutant(const std::vector<std::string>& all);\nstd::size_t mutant(const std::vector<std::string>& all) {\n"
               "  std::size_t sum = 0;\n  for (const auto one : all) {\n    sum += one.size();\n  }\n  return sum;\n}\n}  // namespace hone\n"),
              (DIGEST, r"#include <fmt/format.h>\n", "#include <fmt/format.h>\n\n#include <string>\n#include <vector>\n")],
             environment={"HONE_FILES": "engine/base/"}),
]


class Copy:
    def __init__(self, folder):
        self.folder = folder
        if not (folder / ".git").exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["git", "clone", "-q", "--shared", str(ROOT), str(folder)], check=True)
            if (ROOT / ".cache").exists():
                (folder / ".cache").symlink_to(ROOT / ".cache")
        self.git("fetch", "-q", str(ROOT), "HEAD")
        self.start = self.git("rev-parse", "FETCH_HEAD").strip()
        self.reset()

    def git(self, *arguments):
        who = ["-c", "user.name=mutant", "-c", "user.email=mutant@localhost", "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", "-C", str(self.folder), *who, *arguments], check=True, capture_output=True, text=True).stdout

    def reset(self):
        self.git("checkout", "-q", "-f", "--detach", self.start)
        self.git("clean", "-q", "-fd")

    def apply(self, mutation):
        for name, pattern, replacement in mutation.edits:
            path = self.folder / name
            text, count = re.subn(pattern, replacement, path.read_text(), count=1, flags=re.S if ".*?" in pattern else 0)
            if count != 1:
                raise SystemExit(f"{mutation.name}: nothing in {name} matches {pattern}")
            path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "--no-verify", "--allow-empty", "-m", mutation.subject)

    def run(self, stage, environment):
        """The exit code of the stage, the line that says most, and the seconds."""
        environment = dict(environment)
        first = environment.pop("build first", None)
        script, name = stage.split()
        began = time.monotonic()
        stages = [first, name] if first else [name]
        ended = subprocess.run([f"scripts/{script}", *stages], cwd=self.folder, env={**os.environ, **environment}, capture_output=True, text=True)
        red = ended.returncode != 0 and f"FAILED: {name}" in ended.stdout
        return ("red" if red else "green" if ended.returncode == 0 else "not run"), telling(ended.stdout), time.monotonic() - began


def telling(output):
    patterns = (r"(?:ThreadSanitizer|AddressSanitizer|LeakSanitizer): [^\n]*|runtime error: [^\n]*", r"[^\n]*\berror: [^\n]*", r"[^\n]*\[[a-z-]+\]$", r"[^\n]*lines differ[^\n]*allowed[^\n]*",
                r"[^\n]*tests, there were[^\n]*", r"broken: [^\n]*", r"[^\n]*ERROR: [^\n]*", r"[^\n]*\*\*\*Failed[^\n]*")
    for pattern in patterns:
        found = re.search(pattern, output, re.M)
        if found:
            return found.group().strip()
    return ""


def table(rows):
    yield "| mutation | what | stage | before | after | minutes | what the stage said |"
    yield "|---|---|---|---|---|---|---|"
    for mutation, before, after, said, seconds in rows:
        shown = re.sub(r"\S*/", "", said)[:110].replace("|", "\\|").replace("`", "'")
        yield f"| {mutation.name} | {mutation.what} | `{mutation.stage}` | {before} | {after} | {seconds / 60:.1f} | {f'`{shown}`' if shown else ''} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--all", action="store_true", help="those of check_all.sh, too")
    parser.add_argument("--folder", type=Path, default=ROOT / "build-checks/mutants")
    parser.add_argument("--report", type=Path, help="write the table there")
    options = parser.parse_args()
    if options.list:
        for mutation in MUTATIONS:
            print(f"{mutation.name:14} {mutation.stage:22} {mutation.what}")
        return 0
    unknown = set(options.names) - {mutation.name for mutation in MUTATIONS}
    if unknown:
        parser.error(f"no mutation {unknown.pop()}; see --list")
    chosen = [mutation for mutation in MUTATIONS
              if (mutation.name in options.names if options.names else options.all or mutation.stage.startswith("ci.sh"))]
    copy, before, rows = Copy(options.folder.resolve()), {}, []
    for mutation in chosen:
        key = (mutation.stage, tuple(sorted(mutation.environment.items())))
        copy.reset()
        if key not in before:
            before[key], said, _ = copy.run(mutation.stage, mutation.environment)
            if before[key] != "green":
                print(f"{mutation.stage} is not green without a mutation: {said}", file=sys.stderr)
        copy.apply(mutation)
        after, said, seconds = copy.run(mutation.stage, {**mutation.environment, **mutation.broken_environment})
        rows.append((mutation, before[key], after, said, seconds))
        print(f"{mutation.name:14} {mutation.stage:22} {before[key]:6} -> {after:8} {said[:140]}", flush=True)
    copy.reset()
    if options.report:
        options.report.write_text("\n".join(table(rows)) + "\n")
    return 0 if all(before == "green" and after == "red" for _, before, after, _, _ in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
