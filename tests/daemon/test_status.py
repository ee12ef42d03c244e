#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_status.py - what viaductd answers, and what viaduct makes of it."""
import json
import os
import socket
import time

from rig import (VIADUCT, Daemon, Guests, call, equal, has, run, until)

NUMBER = int
RATIO = (float, type(None))

DROPS = {"full": NUMBER, "down": NUMBER, "bad": NUMBER, "policy": NUMBER,
         "rate": NUMBER, "offload": NUMBER}
PORT = {"name": str, "type": str, "switch": str, "worker": NUMBER,
        "config": dict, "counters": {
            "in_frames": NUMBER, "in_bytes": NUMBER, "out_frames": NUMBER,
            "out_bytes": NUMBER, "drops": DROPS}}
QUEUE = {"index": NUMBER, "role": str, "size": NUMBER, "layout": str,
         "started": bool, "enabled": bool, "fault": str, "position": NUMBER,
         "kicks_per_packet": RATIO, "interrupts_per_packet": RATIO,
         "counters": {n: NUMBER for n in (
             "packets", "bytes_read", "bytes_written", "kicks",
             "kicks_empty", "kick_requests", "interrupts",
             "interrupts_suppressed", "indirect", "faults", "polls_hit",
             "polls_miss", "sleeps", "drops")}}
QUEUE["counters"]["bursts"] = [NUMBER]
GUEST = {"socket": (str, type(None)), "mode": str, "connected": bool,
         "dirty_log": bool, "sessions": NUMBER, "messages": NUMBER,
         "refused": NUMBER, "mem_regions": NUMBER, "mem_bytes": NUMBER,
         "device_status": NUMBER, "features": [str], "features_hex": str,
         "offered": [str], "protocol_features": [str], "queues": [QUEUE]}
SWITCH = {"name": str, "mac_age": NUMBER, "ports": NUMBER, "macs": [
    {"mac": str, "vlan": NUMBER, "port": str, "age_s": NUMBER}]}
BY_TYPE = {"guest": GUEST, "tap": {"ifname": str, "io_uring": bool},
           "stream": {"connected": bool}, "pcap": {"replay_done": bool}}
WHOLE = {"version": str, "pid": NUMBER, "workers": NUMBER, "ports": [dict],
         "switches": [SWITCH]}


def fits(value, shape, where="status"):
    """Exactly these members, of these types."""
    if isinstance(shape, dict):
        equal(sorted(value), sorted(shape), "members of " + where)
        for name, inner in shape.items():
            fits(value[name], inner, where + "." + name)
    elif isinstance(shape, list):
        assert isinstance(value, list), where
        for i, item in enumerate(value):
            fits(item, shape[0], "%s[%d]" % (where, i))
    else:
        assert isinstance(value, shape), "%s is %r" % (where, value)
        assert shape is not NUMBER or not isinstance(value, bool), where


def port_fits(port):
    shape = dict(PORT)
    if port["type"] in BY_TYPE:
        shape[port["type"]] = BY_TYPE[port["type"]]
    fits(port, shape, port["name"])


def start(folder, *more):
    return Daemon(folder, "--port", "name=a,type=guest,socket=a.sock",
                  "--port", "name=b,type=guest,socket=b.sock", "--port",
                  "name=s,type=stream,socket=s.sock,switch=blue", "--port",
                  "name=p,type=pcap,capture=p.pcap,switch=blue", "--port",
                  "name=n,type=null,switch=blue", *more)


def paths(folder):
    return [os.path.join(folder, n) for n in ("a.sock", "b.sock")]


def has_its_shape(folder):
    for workers in ("1", "2"):
        with start(folder, "--workers", workers) as d:
            d.wait_ready(int(workers))
            for frames in (None, 500):
                if frames:
                    guests = Guests(frames, *paths(folder))
                    equal(guests.lines[0], "1 sent 500 received 500",
                          "guest 1")
                status = d.status()
                fits(status, WHOLE)
                for port in status["ports"]:
                    port_fits(port)
            equal([p["name"] for p in status["ports"]],
                  ["a", "b", "s", "p", "n"], "ports")
            equal(guests.end(), (0, ""), "guests")
            equal(d.end(), 0, "exit status")


def counts_what_came(folder):
    with start(folder) as d, Guests(1000, wait_for(d, "a.sock"),
                                    os.path.join(folder, "b.sock")):
        status = d.status()
        for port in status["ports"][:2]:
            c = port["counters"]
            equal((c["in_frames"], c["out_frames"]), (1001, 1001), "frames")
            equal(c["in_bytes"], c["out_bytes"], "bytes")
            equal(sum(c["drops"].values()), 0, "drops")
            g = port["guest"]
            equal(g["connected"], True, "connected")
            equal(g["sessions"], 1, "sessions")
            for word in ("version_1", "mrg_rxbuf"):
                assert word in g["offered"], word
            assert "version_1" in g["features"]
            assert g["mem_bytes"] > 0
            queues = {q["role"]: q for q in g["queues"]}
            for role in ("rx", "tx"):
                q = queues[role]
                assert q["started"] and q["enabled"], role
                equal(q["fault"], "none", "fault")
                equal(q["counters"]["packets"], 1001, role)
                assert 0 <= q["interrupts_per_packet"] <= 1
            assert 0 < queues["tx"]["kicks_per_packet"] <= 1
        macs = {m["mac"]: m for m in status["switches"][0]["macs"]}
        equal({m: e["port"] for m, e in macs.items()},
              {"02:00:00:00:00:01": "a", "02:00:00:00:00:02": "b"}, "macs")


def wait_for(d, name):
    d.wait_ready()
    return os.path.join(d.folder, name)


def command_prints_tables(folder):
    with start(folder) as d, Guests(1000, wait_for(d, "a.sock"),
                                    os.path.join(folder, "b.sock")):
        status, out, err = call(VIADUCT, "status", "--control", d.control)
        equal((status, err), (0, ""), "status")
        lines = out.splitlines()
        head = next(i for i, l in enumerate(lines) if l.startswith("PORT "))
        for line in lines[head + 1:head + 6]:
            # Columns stand under their headings.
            at = lines[head].index("SWITCH")
            equal(line[at - 1], " ", "before the column")
            assert line[at:].startswith(("main", "blue")), line
        has(out, "a     guest   main    connected  1.00k")
        has(out, "GUEST a: socket ")
        has(out, "features: ")
        has(out, "version_1")
        has(out, "INTERRUPTS")
        has(out, "SWITCH main: 2 ports, 2 stations")
        has(out, "02:00:00:00:00:01     0  a")
        status, out, _ = call(VIADUCT, "status", "--json", "--control",
                              d.control)
        equal(status, 0, "status")
        fits(json.loads(out), WHOLE)
        os.environ["VIADUCT_CONTROL"] = d.control
        equal(call(VIADUCT, "status")[0], 0, "with $VIADUCT_CONTROL")
        del os.environ["VIADUCT_CONTROL"]


def command_says_what_is_wrong(folder):
    path = os.path.join(folder, "none")
    status, out, err = call(VIADUCT, "status", "--control", path)
    equal((status, out), (1, ""), "status")
    has(err, path + ": No such file or directory (is viaductd running, with "
        "--control?)")
    status, _, err = call(VIADUCT, "statsu")
    equal(status, 2, "status")
    has(err, 'there is no command "statsu"')
    equal(call(VIADUCT, "status", "--foo")[0], 2, "status")
    equal(call(VIADUCT, "--help")[0], 0, "status")


def refuses_bad_requests(folder):
    with start(folder) as d:
        d.wait_ready()
        for text in ("{}", '{"cmd":"stauts"}', '{"cmd":5}'):
            has(d.ask(text)["error"], "no such cmd; there are status version")
        for text in ("", "status", "[]", '{"cmd":"status"', "{" * 3000,
                     '{"cmd":"a","cmd":"status"}', "\0\xff"):
            has(d.ask(text)["error"], "a request is a line with a JSON "
                "object")
        has(d.ask("x" * 5000)["error"], "a request is a line")
        equal(d.ask('{"cmd":"version"}')["version"][:2], "0.", "version")


def answers_in_pieces(folder):
    """Requests byte by byte, several in one, and nobody who reads."""
    with start(folder) as d:
        d.wait_ready()
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(d.control)
            for c in '{"cmd":"version"}\n{"cmd":"ver':
                s.sendall(c.encode())
                time.sleep(0.001)
            s.sendall(b'sion"}\n{"cmd":"version"}\n')
            f = s.makefile()
            for _ in range(3):
                assert "version" in json.loads(f.readline())
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(d.control)
            s.setblocking(False)
            sent = 0
            try:
                for _ in range(100000):
                    sent += s.send(b'{"cmd":"status"}\n')
            except BlockingIOError:
                pass
            assert sent > 0
            assert d.status()["pid"] == d.pid, "others are answered"
            s.setblocking(True)
            equal(json.loads(s.makefile().readline())["pid"], d.pid, "pid")


def oldest_client_goes(folder):
    with start(folder) as d:
        d.wait_ready()
        clients = []
        for _ in range(40):
            s = socket.socket(socket.AF_UNIX)
            s.connect(d.control)
            clients.append(s)
        equal(d.status()["pid"], d.pid, "pid")
        clients[0].settimeout(10)
        equal(clients[0].recv(1), b"", "the first")
        clients[-1].sendall(b'{"cmd":"version"}\n')
        assert clients[-1].recv(10), "the last"
        for s in clients:
            s.close()
        until(lambda: d.status()["pid"] == d.pid, "status")


run((has_its_shape, counts_what_came, command_prints_tables,
     command_says_what_is_wrong, refuses_bad_requests, answers_in_pieces,
     oldest_client_goes))
