#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
test_report.py - `viaduct report`: one page that needs nothing else, with a mark
for each figure, the published ones beside ours; read by a parser, and by a
browser where there is one.
"""
import json
import os
import shutil
import subprocess
from html.parser import HTMLParser

from rig import VIADUCT, Skip, equal, run

COLUMNS = ["transactions/s", "kicks/packet"]
ROWS = {"always notify": 100, "+ lazy TX free": 104,
        "+ delayed kick 5/2000us": 90, "EVENT_IDX": 400, "<b>\"odd\" & &amp;": 1}


def answer(**change):
    cells = {name: {column: {"median": x, "min": x / 2, "max": x * 2}
                    for column in COLUMNS} for name, x in ROWS.items()}
    made = {"bench": "rr", "text": "a <question>", "command": "viaduct bench",
            "seconds": 1.0, "repeats": 3, "columns": COLUMNS,
            "machine": {"cpu": "a & b", "kernel": "1", "cores": 2,
                        "load": 0.5},
            "rows": [{"name": name, "values": values}
                     for name, values in cells.items()]}
    made.update(change)
    return made


def write(folder, name, what):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(what if isinstance(what, str) else json.dumps(what))
    return path


def report(*paths):
    return subprocess.run([VIADUCT, "report", *paths], capture_output=True,
                          text=True, timeout=60, check=False)


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.classes, self.widths, self.words = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.classes.append(dict(attrs).get("class"))
        for name, value in attrs:
            assert name not in ("src", "href", "onload"), (tag, name, value)
        if dict(attrs).get("class") == "mark":
            self.widths.append(float(dict(attrs)["width"]))

    def handle_data(self, data):
        self.words.append(data)


def page(folder):
    done = report(write(folder, "rr.json", answer()))
    equal(done.returncode, 0, "exit status: " + done.stderr)
    p = Page(done.stdout)
    equal(p.classes.count("mark"), len(ROWS) * len(COLUMNS), "marks")
    equal(p.classes.count("spread"), len(ROWS) * len(COLUMNS), "spreads")
    equal(p.tags.count("svg"), len(COLUMNS), "plots")
    equal(p.classes.count("effect"), 3, "effects beside published ones")
    equal(p.classes.count("published"), 1, "published tables")
    assert "script" not in p.tags and "b" not in p.tags
    assert '<b>"odd" & &amp;' in p.words, "the odd name as it is"
    # The second is 4 % longer than the first.
    assert abs(p.widths[1] / p.widths[0] - 1.04) < .02, p.widths
    text = "".join(p.words)
    for words in ("+4 %", "-10 %", "+300 %", "The other direction",
                  "more than twice", "about the size"):
        assert words in text, words


def several(folder):
    done = report(write(folder, "a.json", answer()),
                  write(folder, "b.json", answer(bench="idle")))
    equal(done.returncode, 0, "exit status")
    p = Page(done.stdout)
    equal(p.tags.count("section"), 2, "sections")
    equal(p.classes.count("published"), 1, "published tables")


def real(folder):
    done = subprocess.run([VIADUCT, "bench", "idle", "--json", "--time",
                           "0.05", "--repeat", "1"], capture_output=True,
                          text=True, timeout=60, check=True)
    done = report(write(folder, "idle.json", done.stdout))
    equal(done.returncode, 0, "exit status")
    equal(Page(done.stdout).classes.count("mark"), 3 * 2, "marks")


def refusals(folder):
    equal(report().returncode, 2, "no file")
    for what in ("", "{", "[]", "{}", json.dumps(answer(columns=[1])),
                 json.dumps(answer(rows=[1])), json.dumps(answer(rows={}))):
        done = report(write(folder, "bad.json", what))
        equal(done.returncode, 1, "exit status of %r" % what)
        assert "viaduct report: " in done.stderr
    equal(report(os.path.join(folder, "none")).returncode, 1, "no such file")


def browser(folder):
    program = shutil.which("chromium")
    if not program:
        raise Skip("there is no chromium")
    path = write(folder, "page.html",
                 report(write(folder, "rr.json", answer())).stdout)
    done = subprocess.run([program, "--headless", "--no-sandbox",
                           "--disable-gpu", "--disable-background-networking",
                           "--user-data-dir=" + folder, "--dump-dom",
                           "file://" + path], capture_output=True, text=True,
                          timeout=120, check=False)
    equal(done.returncode, 0, "exit status of the browser")
    equal(Page(done.stdout).classes.count("mark"),
          len(ROWS) * len(COLUMNS), "marks as the browser has them")


run((page, several, real, refusals, browser))
