#!/usr/bin/env python3
"""What each way to misbehave costs a session: runs tests/plugin/hostile_plugin.cpp in each of its ways and prints a table in Markdown.

usage: hostile_table.py BUILD [SECONDS]     BUILD: a build folder with tests; SECONDS: HONE_PLUGIN_TIMEOUT (default: the usual 10)
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

TRIALS = 12
SESSIONS = [
    "", "crash ask", "crash third ask", "exit ask", "abort ask", "throw ask", "invalid ask", "flood ask", "memory third ask", "close ask",
    "garbage ask", "child third ask", "child and crash third ask", "daemon third ask", "surroundings third ask", "kill parent third ask",
    "hang ask", "stop ask", "hang tell", "crash tell", "hang save", "crash save", "large save", "hang destroy", "crash destroy",
    "fail create", "crash create", "exit create", "hang create", "crash entry", "exit entry", "hang entry", "abort constructor",
    "exit constructor",
]
LISTINGS = ["crash entry", "exit constructor", "hang entry", "flood entry", "crash enumerate", "exit enumerate", "hang enumerate"]


def run(command, way, more=None):
    environment = dict(os.environ, HONE_HOSTILE=way, **(more or {}))
    begin = time.monotonic()
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return ended, time.monotonic() - begin


def shown(text):
    text = re.sub(r"/\S*/(hostile\w*\.so)", r"\1", text.strip().split("\n")[0])
    return text.replace("|", "\\|")


def session(hone, plugin, space, way, more):
    with tempfile.TemporaryDirectory() as folder:
        ended, seconds = run([hone, "tune", space, "--plugin", plugin, "--strategy", "hostile", "--budget", f"{TRIALS}trials", "--store",
                              f"{folder}/S.db", "--json"], way, more)
        try:
            report = json.loads(ended.stdout)
        except ValueError:
            report = {}
        faults = report.get("strategy_faults")
        if faults is None:
            said = report.get("error", {}) if isinstance(report.get("error"), dict) else {"message": report.get("error", ended.stderr)}
            outcome = "no session" if ended.returncode >= 0 else "killed; the same command goes on"
            return [way or "none", outcome, ended.returncode, f"{seconds:.2f}", shown(str(said.get("message", said)))]
        lost = ", ".join(f"{faults[kind]} {kind}" for kind in ("invalid", "failed", "stalled", "crashed", "idle") if faults[kind])
        return [way or "none", f"{report['trials']} trials; {lost or 'none lost'}", ended.returncode, f"{seconds:.2f}", shown(faults["first"])]


def listing(hone, plugin, way, more):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "hostile.so").symlink_to(plugin)
        ended, seconds = run([hone, "devices", "--json"], way, dict(more, HONE_PLUGIN_PATH=folder))
        devices = json.loads(ended.stdout)
        reason = [missing["reason"] for missing in devices["missing"] if missing["plugin"] == "hostile_device"]
        return [way, f"{len(devices['devices'])} others listed", ended.returncode, f"{seconds:.2f}", shown(reason[0] if reason else ended.stderr)]


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    more = {"HONE_PLUGIN_TIMEOUT": sys.argv[2]} if len(sys.argv) > 2 else {}
    hone, plugin = str(build / "bin/hone"), str(build / "tests/plugin/hostile/hostile_plugin.so")
    space = str(pathlib.Path(__file__).resolve().parents[1] / "package/toy.json")
    head = ["way", "session", "exit code", "seconds", "message"]
    table(head, [session(hone, plugin, space, way, more) for way in SESSIONS])
    head[1] = "hone devices"
    table(head, [listing(hone, plugin, way, more) for way in LISTINGS])


if __name__ == "__main__":
    main()
