#!/usr/bin/env python3
"""Pages of reports, and of the documentation's site, in a browser: no error, no network, accessible, readable at several widths.

usage: pages_test.py PAGE.html... [--site DIR --search "WORD=PAGE.html"] [--pictures DIR]

Each page is opened from its file at several widths, light and dark. It fails on an error or warning in the console, a request to the network, a
page that must be scrolled sideways, a file of 1 MB or more, and a serious or critical finding of axe-core. --pictures keeps a picture of each.
With --site, pages are those of a folder that is served from here, where files have no limit; the site's search must find PAGE by WORD. Needs Debian's chromium and PyPI's axe-playwright-python (which brings axe-core and Playwright); exits with 77 without them.
"""

import argparse
import functools
import http.server
import json
import os
import pathlib
import shutil
import sys
import threading

SKIPPED = 77
WIDTHS = (360, 768, 1280)
MOST_BYTES = 1_000_000
SERIOUS = {"serious", "critical"}

try:
    import axe_playwright_python
    from playwright.sync_api import sync_playwright
except ImportError as missing:
    print(f"skipped: {missing.name} is missing (pip install axe-playwright-python)")
    sys.exit(SKIPPED)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def served(folder: pathlib.Path) -> str:
    """Serves a folder on this machine alone until the process ends; its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def is_local(url: str) -> bool:
    return url.startswith(("file:", "data:", "blob:", "http://127.0.0.1:"))


def check(browser, axe: str, address: str, width: int, scheme: str, picture: pathlib.Path | None) -> list[str]:
    faults = []
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.on("console", lambda message: message.type in ("error", "warning") and faults.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: faults.append(f"script: {error}"))
    page.on("request", lambda request: is_local(request.url) or faults.append(f"request: {request.url}"))
    page.goto(address)
    wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if wider > 0:
        faults.append(f"{wider} pixels wider than its window")
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']}).then(result => JSON.stringify(result.violations))")
    for violation in json.loads(found):
        if violation["impact"] in SERIOUS:
            where = "; ".join(str(node["target"][0]) for node in violation["nodes"][:3])
            faults.append(f"axe, {violation['impact']}: {violation['help']} ({len(violation['nodes'])} times: {where})")
    if picture:
        page.screenshot(path=picture, full_page=True)
    page.close()
    return faults


def search(browser, site: str, word: str, wanted: str) -> list[str]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    faults = []
    page.on("request", lambda request: is_local(request.url) or faults.append(f"request: {request.url}"))
    page.goto(site + "index.html")
    page.fill("input[name=query]", word)
    try:
        page.wait_for_selector(f".md-search-result__link[href*='{wanted}']", state="attached", timeout=60_000)
    except Exception as missing:  # Playwright's own kinds of it
        faults.append(f"searching for '{word}' does not find {wanted}: {type(missing).__name__}")
    page.close()
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path)
    parser.add_argument("--site", type=pathlib.Path)
    parser.add_argument("--search", metavar="WORD=PAGE", action="append", default=[])
    given = parser.parse_args()
    chromium = os.environ.get("HONE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium:
        print("skipped: no chromium (apt install chromium, or HONE_CHROMIUM=PATH)")
        return SKIPPED
    if given.pictures:
        given.pictures.mkdir(parents=True, exist_ok=True)
    axe = (pathlib.Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    bad = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        site = served(given.site) if given.site else ""
        for page in given.pages:
            faults = []
            if not site and page.stat().st_size >= MOST_BYTES:
                faults.append(f"{page.stat().st_size} bytes")
            for width in WIDTHS:
                for scheme in ("light", "dark"):
                    picture = given.pictures / f"{page.stem}-{width}-{scheme}.png" if given.pictures else None
                    address = site + str(page) if site else page.resolve().as_uri()
                    faults += [f"{width} {scheme}: {fault}" for fault in check(browser, axe, address, width, scheme, picture)]
            bad += bool(faults)
            print(f"{'FAILED' if faults else 'ok    '} {page}")
            for fault in faults:
                print(f"  {fault}")
        for word, _, wanted in (one.partition("=") for one in given.search):
            faults = search(browser, site, word, wanted)
            bad += bool(faults)
            print(f"{'FAILED' if faults else 'ok    '} search for {word}")
            for fault in faults:
                print(f"  {fault}")
        browser.close()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
