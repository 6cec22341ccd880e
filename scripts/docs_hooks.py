"""Hooks of mkdocs.yml: the README is the first page, links to files of the repository that are no pages become names, and pictures of reports
come from the commands that the pages show (scripts/docs.sh makes them)."""

import pathlib
import re

from mkdocs.structure.files import File, InclusionLevel

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURES = ROOT / ".cache" / "docs-pictures"
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
FENCE = re.compile(r"^(```|~~~)")


def on_files(files, config):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    # Its links begin at the root; those of a page begin in docs.
    readme = LINK.sub(lambda found: link(found, lambda target: target.removeprefix("docs/") if target.startswith("docs/") else "../" + target), readme)
    files.append(File.generated(config, "index.md", content=readme))
    for picture in sorted(PICTURES.glob("*.svg")):
        files.append(File.generated(config, f"pictures/{picture.name}", abs_src_path=str(picture)))
    for file in files:
        # Results are reached from their list, and reports from the pages that speak of them.
        if file.src_uri.startswith("results/") and file.src_uri != "results/README.md":
            file.inclusion = InclusionLevel.NOT_IN_NAV
    return files


def link(found, moved):
    mark, text, target = found.groups()
    if "://" in target or target.startswith(("#", "mailto:")):
        return found.group(0)
    return f"{mark}[{text}]({moved(target)})"


def on_page_markdown(markdown, page, config, files):
    folder = (pathlib.PurePosixPath("docs") / page.file.src_uri).parent
    pages = {file.src_uri for file in files}

    def kept(found):
        mark, text, target = found.groups()
        path, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:") or not path:
            return found.group(0)
        inside = normalized(folder / path)
        if inside.startswith("docs/") and inside.removeprefix("docs/") in pages:
            return found.group(0)
        if inside == "README.md":
            return f"{mark}[{text}]({'../' * (len(folder.parts) - 1)}index.md{'#' + anchor if anchor else ''})"
        return text  # a file of the repository

    lines, fenced = [], False
    for line in markdown.split("\n"):
        fenced ^= bool(FENCE.match(line.lstrip()))
        lines.append(line if fenced else LINK.sub(kept, line))
    return "\n".join(lines) + (pictures(page, folder) if page.file.src_uri == "report.md" else "")


def pictures(page, folder):
    made = sorted(PICTURES.glob("*.svg"))
    if not made:
        return ""
    shown = "\n\n".join(f"![{picture.stem}](pictures/{picture.name})" for picture in made)
    return f"\n\n## Pictures of a session\n\nAs `hone report 1 --svg pictures` writes them, of a made-up recorded space:\n\n{shown}\n"


def on_post_page(output, page, config):
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"', 1)  # the theme gives it no name


def normalized(path):
    parts = []
    for part in path.parts:
        if part == "..":
            if parts:
                parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
