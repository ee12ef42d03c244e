#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
test_bench.py - `viaduct bench`: every question answers, in every form, and the
answers make sense. How fast anything is depends on the machine and is not
looked at; what a policy saves does not.
"""
import csv
import io
import json
import subprocess

from rig import VIADUCT, equal, run

ROWS = {"idle": 3, "rr": 8, "order": 6, "shared": 6, "latency": 21, "pps": 40}


def bench(*words):
    done = subprocess.run([VIADUCT, "bench", *words], capture_output=True,
                          text=True, timeout=150, check=False)
    equal(done.returncode, 0, "exit status of %s: %s" % (words, done.stderr))
    return done.stdout


def ask(question, *words):
    answer = json.loads(bench(question, "--json", "--repeat", "1", *words))
    equal(answer["bench"], question, "its name")
    equal(answer["repeats"], 1, "repetitions")
    assert answer["command"].startswith("viaduct bench " + question)
    for name in ("cpu", "kernel", "cores", "load"):
        assert name in answer["machine"], name
    for row in answer["rows"]:
        equal(list(row["values"]), answer["columns"], row["name"])
        for name, cell in row["values"].items():
            assert cell["min"] <= cell["median"] <= cell["max"], name
            assert cell["min"] >= 0, (row["name"], name)
    return {row["name"]: {name: cell["median"]
                          for name, cell in row["values"].items()}
            for row in answer["rows"]}


def some_rows(rows, question, column):
    equal(len(rows), ROWS[question], "rows of " + question)
    for name, values in rows.items():
        # Two pollers on a busy core may not come round in so short a time.
        assert values[column] > 0 or "poll" in name, (name, column)


def idle(_):
    rows = ask("idle", "--time", "0.3")
    equal(list(rows), ["no guest", "1 guest", "64 guests"], "rows")
    for name, values in rows.items():
        equal(values["wake-ups/s"], 0, "wake-ups of " + name)


def rr(_):
    rows = ask("rr", "--time", "0.2")
    some_rows(rows, "rr", "transactions/s")
    always = rows["always notify"]
    for name in ("EVENT_IDX", "all policies"):
        assert rows[name]["kicks/packet"] < always["kicks/packet"], name
    assert rows["all policies"]["intr/packet"] < always["intr/packet"]
    delayed = rows["+ delayed kick 5/2000us"]
    assert delayed["kicks/packet"] < always["kicks/packet"]
    equal(rows["both poll"]["kicks/packet"], 0, "kicks of two pollers")
    equal(rows["both poll"]["interrupts/s"], 0, "interrupts of two pollers")
    equal(rows["bare"]["% of bare"], 100, "the measure of all")
    for name, values in rows.items():
        assert values["p50 us"] <= values["p99 us"] <= values["p99.9 us"], name


def pps(_):
    rows = ask("pps", "--time", "0.05")
    some_rows(rows, "pps", "packets/s")


def pps_only(_):
    rows = ask("pps", "--time", "0.05", "--only", "loop split 64")
    equal(list(rows), ["loop split 64"], "rows")


def order(_):
    some_rows(ask("order", "--time", "0.05"), "order", "transactions/s")


def latency(_):
    rows = ask("latency", "--time", "0.1")
    some_rows(rows, "latency", "p50 us")
    equal(rows["1000/s poll"]["device sleeps/s"], 0, "sleeps of a poller")
    assert rows["1000/s notify"]["device sleeps/s"] > 0


def shared(_):
    some_rows(ask("shared", "--time", "0.1"), "shared", "packets/s")


def forms(_):
    words = ("idle", "--time", "0.05", "--repeat", "2")
    table = list(csv.DictReader(io.StringIO(bench(*words, "--csv"))))
    equal(len(table), 3 * 2, "lines")
    equal(table[0]["row"], "no guest", "the first row")
    assert float(table[0]["min"]) <= float(table[0]["max"])
    text = bench(*words)
    for word in ("cores", "64 guests", "wake-ups/s"):
        assert word in text, word


def refusals(_):
    for words in ((), ("nothing",), ("rr", "--time", "0"),
                  ("rr", "--flows", "100000"), ("rr", "--size", "7"),
                  ("rr", "rubbish"), ("idle", "--repeat", "0")):
        done = subprocess.run([VIADUCT, "bench", *words], capture_output=True,
                              text=True, timeout=60, check=False)
        equal(done.returncode, 2, "exit status of %s" % (words,))
        assert "usage" in done.stderr


run((idle, rr, pps, pps_only, order, latency, shared, forms, refusals))
