#!/usr/bin/env python3
"""What a compiler does not see: one function a rule, each yields what breaks it as (place, what is wrong).

    scripts/check_repository.py            all rules; exit code 1 if one is broken
    scripts/check_repository.py --list     their names
    scripts/check_repository.py links ...  these alone
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUBJECTS_SINCE = "456d638"  # commits after this one keep to the rule
SUBJECT_LENGTH = 72
SOURCE_FOLDERS = ("engine/", "plugins/", "search/", "cache/", "cli/", "tests/", "bench/")


def git(*arguments):
    ended = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
    if ended.returncode != 0:
        raise SystemExit(f"git {' '.join(arguments)}: {ended.stderr.strip()}")
    return ended.stdout


def tracked(*suffixes):
    """Tracked files that are there, by suffix."""
    return [name for name in git("ls-files", "-z").split("\0") if name.endswith(suffixes) and (ROOT / name).is_file()]


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")


def subjects():
    """A subject is at most 72 characters long."""
    if subprocess.run(["git", "-C", str(ROOT), "cat-file", "-e", f"{SUBJECTS_SINCE}^{{commit}}"], capture_output=True).returncode != 0:
        yield "history", f"commit {SUBJECTS_SINCE} is not here: fetch the whole history (git fetch --unshallow)"
        return
    for line in git("log", "--format=%h %s", f"{SUBJECTS_SINCE}..HEAD").splitlines():
        commit, _, subject = line.partition(" ")
        if len(subject) > SUBJECT_LENGTH:
            yield commit, f"the subject has {len(subject)} characters, {SUBJECT_LENGTH} are allowed: {subject}"


MACHINE_PATH = re.compile(r"(?<![\w.$})\]-])/(?:work|root|Users/\w+|home/\w+)/[\w.]")
MADE_UP_PATHS = ("/home/me", "/home/you", "/home/user")


def paths():
    """No file names a folder of the machine that it was written on."""
    this = str(Path(__file__).resolve().relative_to(ROOT))
    for name in tracked(""):
        if name == this or not is_text(name):
            continue
        for number, line in enumerate(text_of(name).splitlines(), 1):
            found = MACHINE_PATH.search(line)
            if found and not line[found.start():].startswith(MADE_UP_PATHS):
                yield f"{name}:{number}", f"a path of one machine: {line.strip()[:100]}"


def is_text(name):
    with open(ROOT / name, "rb") as file:
        return b"\0" not in file.read(4096)


STRING = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*(?:.|\n)*?\*/')
LAMBDA = re.compile(r"\[[^\[\]]*\]\s*(?:\([^{}]*\))?\s*(?:mutable|noexcept)?\s*(?:->\s*[\w:<>*& ]+)?\s*$")


def code_of(name):
    """The text with strings and comments blanked out, line by line as long as before."""
    return STRING.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text_of(name))


def bodies(code):
    """Each block with what opens it: (head, start, end)."""
    opened = []
    for at, character in enumerate(code):
        if character == "{":
            before = max(code.rfind(character, 0, at) for character in ";{}")
            opened.append((code[before + 1:at].strip(), at))
        elif character == "}" and opened:
            yield *opened.pop(), at


SKIPS = re.compile(r"\bskip\(")


def skippers(codes):
    """Functions of the tests that call skip(): who returns after one of them has said why."""
    for code in codes:
        for head, start, end in bodies(code):
            function = re.search(r"(\w+)\([^()]*(?:\([^()]*\)[^()]*)*\)(?: const)?$", head)
            if function and not head.startswith(("if", "for", "while", "TEST_CASE", "SUBCASE")) and SKIPS.search(code[start:end]):
                yield function.group(1)


def early_returns():
    """A test case that cannot run calls skip(); it does not pass by returning early."""
    codes = {name: code_of(name) for name in tracked(".cpp", ".hpp") if name.startswith("tests/")}
    calls = "|".join(sorted(set(skippers(codes.values())))) or "skip"
    for name, code in codes.items():
        blocks = list(bodies(code))
        for found in re.finditer(r"\breturn;", code):
            around = sorted((start, end, head) for head, start, end in blocks if start < found.start() < end)
            if not any(head.startswith("TEST_CASE") for _, _, head in around) or any(LAMBDA.search(head) for _, _, head in around):
                continue
            start, _, head = around[-1]
            case = next(start for start, _, head in around if head.startswith("TEST_CASE"))
            said = SKIPS.search(code[start:found.start()]) or re.search(rf"\b(?:{calls})\(", head) or head.startswith("SUBCASE")
            for variable in re.findall(r"\w+", head.removeprefix("if")):
                said = said or re.search(rf"\b{variable} = (?:\w+::)?(?:{calls})\(", code[case:start])
            if not said:
                line = code.count("\n", 0, found.start()) + 1
                yield f"{name}:{line}", f"a test case returns early and counts as passed: `{' '.join(head.split())}`; call skip() first"


FOLDERS_OF_MACHINES = "usr|etc|opt|var|mnt|srv|home|root|work|media|lib|share"
OUTSIDE = re.compile(rf'"/(?:{FOLDERS_OF_MACHINES})/[^"\n]*"|(?:_DIR|_DIR\)|DIR\}}) ?/? ?"?/?\.\./\.\./[^"\n]*|SOURCE_DIR\)? ?/? ?"/?\.\.[^"\n]*"')


def outside():
    """No test reads a file that is neither in the repository nor in the build folder."""
    for name in tracked(".cpp", ".hpp", ".py", ".cmake", "CMakeLists.txt"):
        if not name.startswith("tests/"):
            continue
        for number, line in enumerate(text_of(name).splitlines(), 1):
            found = OUTSIDE.search(line)
            if found and not found.group().startswith(tuple(f'"{path}' for path in MADE_UP_PATHS)):
                yield f"{name}:{number}", f"a path outside the repository and the build folder: {found.group()}"


def listed():
    """Each source file is in a list of CMake, each test file in a target."""
    lists = {name: text_of(name) for name in tracked("CMakeLists.txt", ".cmake")}
    for name in tracked(".cpp", ".c"):
        if not name.startswith(SOURCE_FOLDERS):
            continue
        path, found = Path(name), False
        for folder in path.parents:
            there = lists.get(str(folder / "CMakeLists.txt"), "")
            inside = str(path.relative_to(folder))
            found = found or bool(re.search(rf"(?<![\w./-]){re.escape(inside)}(?![\w./-])", there)) or by_function(path, folder, there)
        if not found and not any(name in text for text in lists.values()):
            yield name, "in no CMakeLists.txt: it is not built"
    for name in tracked(".cu"):
        path = Path(name)
        if name.startswith("kernels_src/") and path.stem == path.parent.name and f"hone_add_kernel({path.stem}" not in lists["kernels_src/CMakeLists.txt"]:
            yield name, "in no hone_add_kernel(): it is not built in"


def by_function(path, folder, text):
    """Sources that a CMakeLists.txt completes from a name: NAME_fuzz.cpp of a fuzz target, ${name}.cpp of a list."""
    if folder != path.parent:
        return False
    if path.name.endswith("_fuzz.cpp"):
        return f"hone_add_fuzz_target({path.name.removesuffix('_fuzz.cpp')} " in text
    return "${name}.cpp" in text and re.search(rf"(?<![\w./-]){re.escape(path.stem)}(?![\w./-])", text) is not None


LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)|!\[[^\]]*\]\(([^)\s]+)\)")


def anchors(name):
    seen = {}
    for heading in re.findall(r"^#{1,6}\s+(.*?)\s*#*$", re.sub(r"^```.*?^```", "", text_of(name), flags=re.S | re.M), re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        yield slug if count == 0 else f"{slug}-{count}"


def links():
    """Each relative link of a page leads to a tracked file, and its anchor to a heading there."""
    files = set(git("ls-files", "-z").split("\0"))
    folders = {str(parent) for name in files for parent in Path(name).parents}
    for name in tracked(".md"):
        text = re.sub(r"^```.*?^```|`[^`\n]*`", lambda found: re.sub(r"[^\n]", " ", found.group()), text_of(name), flags=re.S | re.M)
        for found in LINK.finditer(text):
            target, _, anchor = (found.group(1) or found.group(2)).partition("#")
            place = f"{name}:{text.count(chr(10), 0, found.start()) + 1}"
            if re.match(r"[a-z]+:", target):
                continue
            full = (ROOT / name).parent.joinpath(target).resolve() if target else ROOT / name
            inside = str(full.relative_to(ROOT)) if full.is_relative_to(ROOT) else None
            if inside is None or (inside not in files and inside not in folders):
                yield place, f"the link leads nowhere: {target}"
            elif anchor and inside.endswith(".md") and anchor not in anchors(inside):
                yield place, f"no heading #{anchor} in {inside}"


def unresolved():
    """No conflict marker, no trailing blank, a newline at each end."""
    for name in tracked(".cpp", ".hpp", ".h", ".c", ".cu", ".py", ".sh", ".cmake", ".txt", ".md"):
        if "/corpus/" in name:
            continue
        text = text_of(name)
        if text and not text.endswith("\n"):
            yield name, "no newline at its end"
        for number, line in enumerate(text.splitlines(), 1):
            if re.match(r"(?:<{7}|>{7}) ", line):
                yield f"{name}:{number}", "a conflict marker"
            elif line != line.rstrip():
                yield f"{name}:{number}", "a blank at the line's end"


def modules():
    """A module of the engine includes none that engine/CMakeLists.txt and ARCHITECTURE.md name after it."""
    built = re.findall(r"^add_subdirectory\((\w+)\)", text_of("engine/CMakeLists.txt"), re.M)
    told = [name for name in re.findall(r"^\*\*engine/(\w+)\*\*", text_of("ARCHITECTURE.md"), re.M) if name != "include"]
    if built != told:
        yield "ARCHITECTURE.md", f"its modules are {' '.join(told)}; engine/CMakeLists.txt has {' '.join(built)}"
    for name in tracked(".cpp", ".hpp"):
        module = Path(name).parts[1] if name.startswith("engine/") else None
        if module not in built:
            continue
        for number, line in enumerate(text_of(name).splitlines(), 1):
            used = re.match(r'#include "engine/(\w+)/', line)
            if used and (used.group(1) not in built or built.index(used.group(1)) > built.index(module)):
                yield f"{name}:{number}", f"{module} comes before {used.group(1)} and must not include it"


def commands():
    """What begins with #! is executable, what is executable begins with #!."""
    for line in git("ls-files", "-s", "-z").split("\0"):
        name = line.partition("\t")[2]
        if not line.startswith("100") or not (ROOT / name).is_file():
            continue
        with open(ROOT / name, "rb") as file:
            begins, is_executable = file.read(2) == b"#!", line.startswith("100755")
        if begins and not is_executable:
            yield name, "begins with #! and is not executable: git add --chmod=+x"
        elif is_executable and not begins:
            yield name, "is executable and does not begin with #!: git add --chmod=-x"


RULES = {"subjects": subjects, "paths": paths, "early-returns": early_returns, "outside": outside, "listed": listed, "links": links,
         "unresolved": unresolved, "modules": modules, "commands": commands}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rules", nargs="*", metavar="RULE", help=", ".join(RULES))
    parser.add_argument("--list", action="store_true", help="print the rules")
    options = parser.parse_args()
    if options.list:
        for name, rule in RULES.items():
            print(f"{name:14} {rule.__doc__}")
        return 0
    unknown = [name for name in options.rules if name not in RULES]
    if unknown:
        parser.error(f"no rule {unknown[0]}; there are: {', '.join(RULES)}")
    broken = 0
    for name in options.rules or RULES:
        for place, what in RULES[name]():
            print(f"{place}: {what} [{name}]")
            broken += 1
    print(f"{broken} finding(s)" if broken else "nothing found")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
