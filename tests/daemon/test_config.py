#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_config.py - every mistake has its message; what is right is taken."""
import json
import os

from rig import VIADUCTD, Daemon, call, equal, has, run, write

GUEST = "name=a,type=guest,socket=a.sock"
MACS = "52:54:00:00:00:01"

# Arguments of one --port, and what is said about it.
PORTS = (
    ("type=guest,socket=s", "a port needs a name"),
    ("name=a,socket=s", 'port "a": a port needs a type: guest, tap, stream, '
     'pcap or null'),
    ("name=a,type=gast", 'port "a": type: "gast" is not allowed; allowed: '
     'guest tap stream pcap null'),
    ("name=a b,type=null", 'name: "a b" is not allowed; allowed: up to 63 '
     'letters, digits, \'-\', \'_\', \'.\''),
    ("name=,type=null", 'name: "" is not allowed'),
    ("name=a,type=null,colour=red", 'port "a": no such key "colour"; there '
     'are name type switch'),
    ("name=a,type=null,name=b", 'port "a": name is given twice'),
    ("name=a,type=null,vlan", 'port "a": "vlan" is not name=value'),
    ("name=a,type=guest", "a guest port needs either socket or fd"),
    (GUEST + ",fd=5", "a guest port needs either socket or fd"),
    ("name=a,type=guest,fd=5,mode=client", "mode goes with socket; a "
     "descriptor tells itself"),
    ("name=a,type=guest,fd=2", 'fd: "2" is not allowed; allowed: '
     '3..2147483647'),
    ("name=a,type=guest,socket=" + 108 * "x", "allowed: a path of less than "
     "108 bytes"),
    (GUEST + ",mode=both", 'mode: "both" is not allowed; allowed: server '
     'client'),
    (GUEST + ",queues=0", "allowed: 1..64"),
    (GUEST + ",queues=65", "allowed: 1..64"),
    (GUEST + ",queues=two", "allowed: 1..64"),
    (GUEST + ",queues=+2", "allowed: 1..64"),
    (GUEST + ",queues=99999999999999999999", "allowed: 1..64"),
    (GUEST + ",mtu=67", "allowed: 68..65535"),
    (GUEST + ",mac=52:54:00:00:00", "allowed: the address of one station, "
     "like 52:54:00:00:00:01"),
    (GUEST + ",mac=53:54:00:00:00:01", "the address of one station"),
    (GUEST + ",mac=52-54-00-00-00-01", "the address of one station"),
    (GUEST + ",features-off=mrg_rxbuf+tso", 'features-off: "mrg_rxbuf+tso" '
     'is not allowed; allowed: csum guest_csum'),
    (GUEST + ",policy=fast", "allowed: notify poll adaptive"),
    (GUEST + ",wait-us=0", "allowed: 1..10000000"),
    (GUEST + ",socket-mode=0999", "allowed: octal permissions, like 0660"),
    (GUEST + ",socket-mode=01777", "allowed: octal permissions, like 0660"),
    (GUEST + ",socket-owner=nobody-at-all", "allowed: user, user:group or "
     ":group, that exist"),
    (GUEST + ",mode=client,socket-mode=0660", "socket-mode and socket-owner "
     "are for sockets that are made here"),
    (GUEST + ",spoof-check=on", "spoof-check needs mac or allow-macs"),
    (GUEST + ",allow-macs=" + "+".join(17 * [MACS]), "allowed: up to 16 "
     "addresses of stations"),
    (GUEST + ",ifname=tap0", "ifname is not for ports of type guest; those "
     "take name type switch socket"),
    (GUEST + ",isolated=maybe", "allowed: on off"),
    (GUEST + ",vlan=0", "allowed: 1..4094"),
    (GUEST + ",vlan=4095", "allowed: 1..4094"),
    (GUEST + ",trunk=10+", None),
    (GUEST + ",trunk=20-10", "allowed: VLANs of 1..4094, like 10+20-29"),
    (GUEST + ",trunk=10+4095", "allowed: VLANs of 1..4094"),
    (GUEST + ",trunk=all", "allowed: VLANs of 1..4094"),
    (GUEST + ",vlan=10,trunk=20", "vlan makes an access port; trunk and "
     "native are for trunks"),
    (GUEST + ",vlan=10,native=20", "vlan makes an access port"),
    (GUEST + ",rate=0", "allowed: a number from 1, with k, M or G behind it"),
    (GUEST + ",rate=10m", "a number from 1, with k, M or G behind it"),
    (GUEST + ",rate=2000G", "a number from 1, with k, M or G behind it"),
    (GUEST + ",storm-limit=-1", "a number from 1"),
    (GUEST + ",log-level=info", 'no such key "log-level"'),
    ("name=a,type=tap", "a tap port needs either ifname or fd"),
    ("name=a,type=tap,ifname=t,fd=4", "a tap port needs either ifname or fd"),
    ("name=a,type=tap,ifname=abcdefghijklmnop", "an interface has at most 15 "
     "letters"),
    ("name=a,type=stream", "a stream port needs either socket or address"),
    ("name=a,type=stream,address=10.0.0.1:5", "allowed: a loopback address "
     "with a port, like 127.0.0.1:5000 or [::1]:5000"),
    ("name=a,type=stream,address=127.0.0.1", "a loopback address"),
    ("name=a,type=stream,socket=s,address=127.0.0.1:5", "a stream port needs "
     "either socket or address"),
    ("name=a,type=pcap", "a pcap port needs capture, replay or both"),
    ("name=a,type=pcap,replay=f,snaplen=100", "snaplen goes with capture"),
    ("name=a,type=pcap,capture=f,snaplen=13", "allowed: 14..262144"),
)

# Files, and what is said about them.
FILES = (
    ("", "f.yaml:1: the file is empty"),
    ("ports: [", "f.yaml:2: this is not YAML: "),
    ("- ports", 'f.yaml:1: a file begins with "key: value" lines'),
    ("\nprots:\n", 'f.yaml:2: no such key "prots"; there are ports switches '
     'control'),
    ("ports:\n  name: a\n", "f.yaml:2: ports: a list is allowed, each item "
     'beginning with "- name: ..."'),
    ("ports:\n  - a\n", 'f.yaml:2: ports: an item is a list of "key: value"'),
    ("ports: []\nports: []\n", "f.yaml:2: ports is given twice"),
    ("ports:\n  - name: a\n    type: null\n    vlan: 5000\n",
     'f.yaml:4: port "a": vlan: "5000" is not allowed; allowed: 1..4094'),
    ("ports:\n  - type: guest\n    name: a\n    # none\n    color: red\n",
     'f.yaml:5: port "a": no such key "color"; there are name'),
    ("ports:\n  - name: a\n    type: null\n    vlan: {a: b}\n",
     'f.yaml:4: port "a": vlan: a value or a list of values is allowed'),
    ("ports:\n  - name: a\n    type: null\n\n  - name: a\n    type: null\n",
     'f.yaml:5: port "a": another port has the same name "a"'),
    ("ports:\n  - name: a\n    type: guest\n    socket: s\n"
     "  - name: b\n    type: guest\n    socket: s\n",
     'f.yaml:5: port "b": another port has the same socket "s"'),
    ("workers: 0\n", 'f.yaml:1: configuration: workers: "0" is not allowed; '
     'allowed: 1..64'),
    ("log-level: loud\n", "allowed: error warn info debug"),
    ("switches:\n  - mac-age: 5\nports:\n", "f.yaml:2: a switch needs a name"),
    ("switches:\n  - name: s\n  - name: s\n",
     'f.yaml:3: another switch has the name "s"'),
    ("switches:\n  - name: s\n    mac-age: 0\n",
     'f.yaml:3: switch "s": mac-age: "0" is not allowed; allowed: 1..1000000'),
    ("switches:\n  - name: blue\nports:\n  - name: a\n    type: null\n"
     "    switch: bleu\n",
     'f.yaml:4: port "a": there is no switch "bleu"; there are main blue'),
)


def ports_table(_):
    for args, want in PORTS:
        status, out, err = call(VIADUCTD, "--check", "--port", args)
        if want is None:
            equal((status, err), (0, ""), args)
            continue
        equal(status, 2, "status of " + args)
        equal(out, "", "output of " + args)
        has(err, want)
        has(err, "viaductd: command line: ")


def files_table(folder):
    for text, want in FILES:
        path = write(folder, "f.yaml", text)
        status, _, err = call(VIADUCTD, "--check", "--config", path)
        equal(status, 2, "status of " + repr(text))
        has(err.replace(folder + "/", ""), want)


def says_everything_at_once(folder):
    path = write(folder, "f.yaml", "workers: x\nports:\n  - name: a\n"
                 "    type: null\n    vlan: x\n    rate: x\n")
    _, _, err = call(VIADUCTD, "--check", "--config", path)
    equal(len(err.splitlines()), 3, "lines")


def starts_nothing_when_wrong(folder):
    with Daemon(folder, "--port", GUEST, "--port",
                "name=b,type=guest,socket=b.sock,queues=0") as d:
        equal(d.process.wait(10), 2, "status")
    equal(sorted(os.listdir(folder)), ["log"], "what is in the folder")


def options(_):
    for args, status, want in (
            (["--foo"], 2, "unrecognized option '--foo'"),
            (["--port"], 2, "option '--port' requires an argument"),
            (["foo"], 2, 'what is "foo"?'),
            ([], 2, "no ports: give --port, --socket-path, --fd or a file"),
            (["--config", "/none"], 2, "/none:1: cannot be opened: No such"),
            (["--config", "/a", "--config", "/b"], 2,
             "--config is given twice"),
            (["--workers", "65"], 2, 'workers: "65" is not allowed'),
            (["--workers", "1", "--workers", "1"], 2,
             "workers is given twice")):
        got, _, err = call(VIADUCTD, *args)
        equal(got, status, "status of %r" % args)
        has(err, want)
    status, out, err = call(VIADUCTD, "--help")
    equal((status, err), (0, ""), "help")
    has(out, "--print-capabilities")
    status, out, _ = call(VIADUCTD, "--version")
    equal(status, 0, "status")
    has(out, "viaductd 0.")


def capabilities(_):
    status, out, err = call(VIADUCTD, "--print-capabilities")
    equal((status, err), (0, ""), "status")
    equal(json.loads(out)["type"], "net", "type")
    # They go before everything that runs.
    equal(call(VIADUCTD, "--print-capabilities", "--port", GUEST)[0], 0)


def right_ones(folder):
    path = write(folder, "f.yaml", """
control: %s/ctl
control-mode: 0660
workers: 2
log-level: debug
switches:
  - name: main
    mac-age: 60
  - name: blue
ports:
  - name: a
    type: guest
    socket: %s/a.sock
    socket-mode: 0660
    queues: 4
    mac: 52:54:00:00:00:01
    mtu: 9000
    features-off: [ring_packed, mrg_rxbuf]
    policy: notify
    wait-us: 20000
    spoof-check: on
    rate: 100M
    rate-packets: 10k
    storm-limit: 100
  - {name: b, type: stream, address: "127.0.0.1:5000", mode: client,
     trunk: [10, 20-29], native: 5}
  - {name: c, type: pcap, capture: c.pcap, snaplen: 128, switch: blue}
  - {name: d, type: null, vlan: 10, isolated: yes}
""" % (folder, folder))
    status, out, err = call(VIADUCTD, "--check", "--config", path)
    equal((status, err), (0, ""), "status")
    equal(out, "4 ports, 2 switches: fine\n", "output")


def command_line_goes_before_file(folder):
    path = write(folder, "f.yaml", "workers: 3\nlog-level: error\n"
                 "ports:\n  - name: a\n    type: null\n")
    with Daemon(folder, "--workers", "2", "--log-level", "info", "--config",
                path, "--port", "name=b,type=null") as d:
        d.wait_ready()
        status = d.status()
        equal(status["workers"], 2, "workers")
        equal([p["name"] for p in status["ports"]], ["a", "b"], "ports")


def keys_are_documented(_):
    """Every key has its row in docs/config.md and its word in the manual,
    and the example is right."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    with open(os.path.join(root, "docs/config.md"), encoding="utf-8") as f:
        tables = {line.split("`")[1] for line in f if line[:3] == "| `"}
    with open(os.path.join(root, "docs/man/viaductd.8"),
              encoding="utf-8") as f:
        manual = f.read().replace("Fl -", "Cm ")
    for args in (["--port", "x=y"], ["--switch", "x=y"]):
        _, _, err = call(VIADUCTD, "--check", *args)
        keys = err.splitlines()[0].split("there are ")[1].split()
        assert len(keys) >= 2, keys
        for key in keys:
            assert key in tables, key + " is not in docs/config.md"
            has(manual, "Cm " + key)
    status, _, err = call(VIADUCTD, "--check", "--config",
                          os.path.join(root, "data/viaductd.yaml"))
    equal((status, err), (0, ""), "the example")


run((ports_table, files_table, says_everything_at_once,
     starts_nothing_when_wrong, options, capabilities, right_ones,
     command_line_goes_before_file, keys_are_documented))
