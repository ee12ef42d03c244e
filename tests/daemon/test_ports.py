#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
test_ports.py - frames through a whole daemon, from stream port to stream port,
tap, capture and a passt process: what the keys of a port do to them.
"""
import ctypes
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import time

from rig import PATIENCE, Daemon, Skip, equal, run, until

CLONE_NEWNET = 0x40000000
SIOCGIFMTU = 0x8921
ALL = b"\xff" * 6
TYPE = b"\x88\xb5"


def mac(nr):
    return bytes((2, 0, 0, 0, 0, nr))


def frame(to, source, text=b"", tag=None):
    to = ALL if to is None else mac(to)
    tagged = b"" if tag is None else struct.pack(">HH", 0x8100, tag)
    return to + mac(source) + tagged + TYPE + text.ljust(46, b"\0")


class Peer:
    """The other end of a stream port."""

    def __init__(self, path):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.settimeout(PATIENCE)
        until(lambda: not self.s.connect_ex(path), path)
        self.rest = b""

    def send(self, *frames):
        self.s.sendall(b"".join(struct.pack(">I", len(f)) + f
                                for f in frames))

    def exactly(self, n):
        while len(self.rest) < n:
            more = self.s.recv(65536)
            assert more, "the port hung up"
            self.rest += more
        part, self.rest = self.rest[:n], self.rest[n:]
        return part

    def receive(self):
        return self.exactly(struct.unpack(">I", self.exactly(4))[0])

    def nothing(self, wait=0.05):
        self.s.settimeout(wait)
        try:
            assert not self.rest and False, self.receive()
        except (TimeoutError, socket.timeout):
            pass
        self.s.settimeout(PATIENCE)


def start(folder, ports, *more):
    """A stream port for each of ports: its further keys. And peers."""
    args = []
    for name, keys in ports.items():
        args += ["--port", "name=%s,type=stream,socket=%s.sock%s" % (
            name, name, "," + keys if keys else "")]
    d = Daemon(folder, *args, *more).wait_ready()
    peers = [Peer(os.path.join(folder, n + ".sock")) for n in ports]
    until(lambda: all(d.port(n)["stream"]["connected"] for n in ports),
          "connected")
    return d, peers


def floods_and_learns(folder):
    d, (a, b, c) = start(folder, {"a": "", "b": "", "c": ""})
    with d:
        a.send(frame(None, 1, b"hello"))
        equal(b.receive(), frame(None, 1, b"hello"))
        equal(c.receive(), frame(None, 1, b"hello"))
        b.send(frame(1, 2, b"you"))
        equal(a.receive(), frame(1, 2, b"you"))
        c.nothing()
        equal({m["mac"]: m["port"] for m in d.status()["switches"][0]["macs"]},
              {"02:00:00:00:00:01": "a", "02:00:00:00:00:02": "b"}, "macs")


def switches_are_apart(folder):
    d, (a, b, c) = start(folder, {"a": "", "b": "switch=x", "c": "switch=x"},
                         "--workers", "3")
    with d:
        b.send(frame(None, 2))
        equal(c.receive(), frame(None, 2))
        a.nothing()


def vlans(folder):
    d, (a, b, t) = start(folder, {"a": "vlan=10", "b": "vlan=20",
                                  "t": "trunk=10+15-20,native=7"})
    with d:
        a.send(frame(None, 1))
        equal(t.receive(), frame(None, 1, tag=10))
        b.nothing()
        t.send(frame(None, 3, tag=20), frame(1, 3, tag=0x6000 | 10),
               frame(None, 3, tag=30), frame(None, 3))
        equal(b.receive(), frame(None, 3))
        equal(a.receive(), frame(1, 3))
        a.nothing()
        b.nothing()
        until(lambda: d.port("t")["counters"]["in_frames"] == 4, "frames")
        equal(d.port("t")["counters"]["drops"]["policy"], 1, "VLAN 30")


def isolated(folder):
    d, (a, b, up) = start(folder, {"a": "isolated=on", "b": "isolated=on",
                                   "up": ""})
    with d:
        a.send(frame(None, 1))
        equal(up.receive(), frame(None, 1))
        b.nothing()
        up.send(frame(None, 3))
        equal(b.receive(), frame(None, 3))


def allowed_addresses(folder):
    d, (a, b) = start(folder, {
        "a": "allow-macs=02:00:00:00:00:01+02:00:00:00:00:03", "b": ""})
    with d:
        a.send(frame(None, 1), frame(None, 2), frame(None, 3))
        equal(b.receive(), frame(None, 1))
        equal(b.receive(), frame(None, 3))
        equal(d.port("a")["counters"]["drops"]["policy"], 1, "drops")


def rates(folder):
    """A second's traffic at once: a tenth of the rate passes."""
    d, (a, b) = start(folder, {"a": "rate-packets=10k", "b": "storm-limit=5k"})
    with d:
        a.send(frame(None, 1))
        b.receive()
        b.send(frame(1, 2))
        a.receive()
        a.send(*[frame(2, 1)] * 5000)
        b.send(*[frame(None, 2)] * 5000)

        def counters(name):
            return d.port(name)["counters"]
        until(lambda: counters("a")["in_frames"] == 5001, "frames of a")
        until(lambda: counters("b")["in_frames"] == 5001, "frames of b")
        assert 500 < counters("a")["drops"]["rate"] <= 4001
        assert 500 < counters("b")["drops"]["rate"] <= 4501


def records_and_replays(folder):
    frames = [frame(None, 1, b"%d" % i) for i in range(100)]
    d, (a,) = start(folder, {"a": ""}, "--port",
                    "name=p,type=pcap,capture=c.pcap")
    with d:
        a.send(*frames)
        until(lambda: d.port("p")["counters"]["out_frames"] == 100, "frames")
        equal(d.end(), 0, "exit status")
    with open(os.path.join(folder, "c.pcap"), "rb") as f:
        data = f.read()
    equal(data[:4], struct.pack("=I", 0xa1b23c4d), "magic")
    at, got = 24, []
    while at < len(data):
        sec, nsec, kept, true = struct.unpack("=IIII", data[at:at + 16])
        assert abs(sec - time.time()) < 600 and nsec < 10 ** 9
        equal(kept, true, "length")
        got.append(data[at + 16:at + 16 + kept])
        at += 16 + kept
    equal(got, frames, "what was captured")
    with Daemon(folder, "--port", "name=r,type=pcap,replay=c.pcap,switch=x",
                "--port", "name=n,type=null,switch=x") as d:
        d.wait_ready(2)
        until(lambda: d.port("r")["pcap"]["replay_done"], "replay")
        equal(d.port("n")["counters"]["out_frames"], 100, "frames")


def host_socket(ifname):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(0x88b5))
    s.bind((ifname, 0x88b5))
    s.settimeout(PATIENCE)
    return s


def reaches_the_host(folder):
    """A tap in a network namespace of the test's own."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        raise Skip("no network namespace: not permitted")
    try:
        d, (a,) = start(folder, {"a": ""}, "--port",
                        "name=up,type=tap,ifname=vdtest9,mtu=4000")
    except AssertionError as why:
        if "not permitted" in str(why) or "no /dev/net/tun" in str(why):
            raise Skip("no tap: not permitted") from None
        raise
    with d, host_socket("vdtest9") as host:
        equal(d.port("up")["tap"]["ifname"], "vdtest9", "ifname")
        request = struct.pack("16sI", b"vdtest9", 0)
        answer = fcntl.ioctl(host, SIOCGIFMTU, request + b"\0" * 20)
        equal(struct.unpack_from("I", answer, 16)[0], 4000, "mtu")
        a.send(frame(None, 1, b"to the host"))
        equal(host.recv(2000), frame(None, 1, b"to the host"))
        host.send(frame(1, 2, b"from the host"))
        while True:
            got = a.receive()
            if got[12:14] == TYPE:
                break
        equal(got, frame(1, 2, b"from the host"))


def arp_request(address):
    return (ALL + mac(1) + b"\x08\x06" +
            struct.pack(">HHBBH", 1, 0x0800, 6, 4, 1) + mac(1) +
            socket.inet_aton("10.9.9.2") + b"\0" * 6 +
            socket.inet_aton(address)).ljust(60, b"\0")


def speaks_with_passt(folder):
    """An uplink without any privilege: passt answers for the gateway."""
    if not shutil.which("passt"):
        raise Skip("no passt")
    path = os.path.join(folder, "passt.sock")
    with subprocess.Popen(
            ["passt", "-f", "--runas", "0", "-s", path, "-a", "10.9.9.2",
             "-n", "24", "-g", "10.9.9.1"], stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True) as passt:
        try:
            until(lambda: os.path.exists(path) or passt.poll() is not None,
                  "passt")
            if passt.poll() is not None:
                raise Skip("passt: " + passt.stderr.read().strip()[-60:])
            d, (a,) = start(folder, {"a": ""}, "--port",
                            "name=up,type=stream,mode=client,socket=" + path)
            with d:
                until(lambda: d.port("up")["stream"]["connected"], "passt")
                a.send(arp_request("10.9.9.1"))
                answer = a.receive()
                while answer[12:14] != b"\x08\x06":
                    answer = a.receive()
                equal(answer[20:22], b"\0\2", "ARP reply")
                equal(answer[28:32], socket.inet_aton("10.9.9.1"), "from")
        finally:
            passt.terminate()


def speaks_with_qemu(folder):
    """A QEMU without a guest, whose hub joins two switches by two of our
    stream ports: one that listens and one that connects."""
    if not shutil.which("qemu-system-x86_64"):
        raise Skip("no QEMU")
    d, (a, b) = start(
        folder, {"a": "", "b": "switch=x"},
        "--port", "name=qa,type=stream,socket=qa.sock",
        "--port", "name=qb,type=stream,socket=qb.sock,switch=x,mode=client")
    stream = "stream,id=%s,server=%s,addr.type=unix,addr.path=" + folder + \
        "/q%s.sock"
    with d, subprocess.Popen(
            ["qemu-system-x86_64", "-machine", "none", "-nodefaults",
             "-display", "none", "-monitor", "none", "-serial", "none",
             "-netdev", stream % ("a", "off", "a"),
             "-netdev", stream % ("b", "on", "b"),
             "-netdev", "hubport,hubid=0,id=ha,netdev=a",
             "-netdev", "hubport,hubid=0,id=hb,netdev=b"],
            stderr=subprocess.PIPE, text=True) as qemu:
        try:
            until(lambda: qemu.poll() is not None or all(
                d.port(n)["stream"]["connected"] for n in ("qa", "qb")),
                "QEMU")
            if qemu.poll() is not None:
                raise Skip("QEMU: " + qemu.stderr.read().strip()[-80:])
            for n in (46, 200, 1400):
                a.send(frame(None, 1, b"x" * n))
                equal(b.receive(), frame(None, 1, b"x" * n))
                b.send(frame(1, 2, b"y" * n))
                equal(a.receive(), frame(1, 2, b"y" * n))
        finally:
            qemu.terminate()


run((floods_and_learns, switches_are_apart, vlans, isolated,
     allowed_addresses, rates, records_and_replays, speaks_with_passt, speaks_with_qemu,
     reaches_the_host))
