#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_life.py - viaductd starts, follows, leaves, is killed, comes back."""
import os
import shutil
import signal
import socket
import stat
import time

from rig import (SANITIZED, VIADUCTD, Daemon, Guests, Skip, call, equal, has,
                 run, until, write)


def guest(name, more=""):
    return "name=%s,type=guest,socket=%s.sock%s" % (name, name, more)


def sockets(folder):
    return sorted(n for n in os.listdir(folder)
                  if stat.S_ISSOCK(os.lstat(os.path.join(folder, n)).st_mode))


def fds(pid):
    return len(os.listdir("/proc/%d/fd" % pid))


def leaves_when_told(folder):
    for number in (signal.SIGTERM, signal.SIGINT):
        with Daemon(folder, "--port", guest("a"), "--port",
                    "name=s,type=stream,socket=s.sock", "--workers",
                    "2") as d:
            d.wait_ready(1 if number == signal.SIGTERM else 2)
            equal(sockets(folder), ["a.sock", "ctl", "s.sock"], "sockets")
            begin = time.monotonic()
            equal(d.end(number), 0, "exit status")
            assert time.monotonic() - begin < (5 if SANITIZED else 1)
            equal(sockets(folder), [], "sockets left")


def comes_back_after_kill(folder):
    for times in (1, 2, 3):
        with Daemon(folder, "--port", guest("a")) as d:
            d.wait_ready(times)
            equal(sockets(folder), ["a.sock", "ctl"], "sockets")
            d.poke(signal.SIGKILL)
            d.process.wait()
            equal(sockets(folder), ["a.sock", "ctl"], "stale sockets")


def second_is_refused(folder):
    other = os.path.join(folder, "other")
    os.mkdir(other)
    with Daemon(folder, "--port", guest("a")) as d:
        d.wait_ready()
        path = os.path.join(folder, "a.sock")
        with Daemon(other, "--port",
                    "name=x,type=guest,socket=" + path) as second:
            equal(second.process.wait(10), 1, "exit status")
            has(second.log(), "error x: port not opened, %s: in use, is "
                "another viaductd running?" % path)
            equal(sockets(other), [], "sockets of the second")
        with Daemon(other, "--port", "name=n,type=null", "--control",
                    d.control, control=False) as second:
            equal(second.process.wait(10), 1, "exit status")
            has(second.log(), "error control: %s: in use, is another "
                "viaductd running?" % d.control)
        equal(d.port("a")["name"], "a", "the first")
        equal(sockets(folder), ["a.sock", "ctl"], "sockets of the first")


def fails_whole(folder):
    """A port that cannot be opened: none stays."""
    with Daemon(folder, "--port", guest("a"), "--port",
                "name=p,type=pcap,replay=none.pcap") as d:
        equal(d.process.wait(10), 1, "exit status")
        has(d.log(), "error p: port not opened, none.pcap: No such file")
    equal(sockets(folder), [], "sockets left")
    write(folder, "x.pcap", "no capture at all, but long enough")
    with Daemon(folder, "--port", "name=p,type=pcap,replay=x.pcap") as d:
        equal(d.process.wait(10), 1, "exit status")
        has(d.log(), "it is no capture file")


def modes_and_owners(folder):
    args = ["--port", guest("a", ",socket-mode=0620"), "--control-mode",
            "0666"]
    if os.getuid() == 0:
        args += ["--port", guest("b", ",socket-owner=1234:5678"),
                 "--control-owner", ":5678"]
    with Daemon(folder, *args) as d:
        d.wait_ready()

        def look(name):
            return os.stat(os.path.join(folder, name))

        equal(look("a.sock").st_mode & 0o777, 0o620, "mode of a.sock")
        equal(look("ctl").st_mode & 0o777, 0o666, "mode of ctl")
        if os.getuid() == 0:
            equal(look("b.sock").st_mode & 0o777, 0o600, "mode of b.sock")
            equal((look("b.sock").st_uid, look("b.sock").st_gid),
                  (1234, 5678), "owner of b.sock")
            equal(look("ctl").st_gid, 5678, "group of ctl")


FIRST = """
ports:
  - {name: stays, type: guest, socket: stays.sock}
  - {name: changes, type: guest, socket: changes.sock}
  - {name: goes, type: guest, socket: goes.sock}
  - {name: sink, type: null}
"""
SECOND = """
ports:
  - {name: sink, type: null}
  - {name: comes, type: guest, socket: comes.sock, switch: blue}
  - {name: changes, type: guest, socket: changed.sock, vlan: 7}
  - {name: stays, type: guest, socket: stays.sock}
"""


def follows_its_file(folder):
    path = write(folder, "f.yaml", FIRST)
    with Daemon(folder, "--config", path, "--workers", "3") as d, \
            Guests(100, wait_for(d, "stays.sock"),
                   os.path.join(folder, "changes.sock")) as guests:
        equal(guests.lines[0], "1 sent 100 received 100", "guest 1")
        before = d.port("stays")
        write(folder, "f.yaml", SECOND)
        d.poke(signal.SIGHUP)
        until(lambda: "configuration read again" in d.log(), "SIGHUP")
        has(d.log(), "kept=2 closed=2 opened=2 failed=0")
        equal(sockets(folder),
              ["changed.sock", "comes.sock", "ctl", "stays.sock"], "sockets")
        status = d.status()
        equal(sorted(p["name"] for p in status["ports"]),
              ["changes", "comes", "sink", "stays"], "ports")
        equal(sorted(s["name"] for s in status["switches"]),
              ["blue", "main"], "switches")
        after = d.port("stays")
        equal(after["guest"]["connected"], True, "stays connected")
        equal(after["guest"]["sessions"], before["guest"]["sessions"],
              "sessions of stays")
        equal(after["counters"]["in_frames"],
              before["counters"]["in_frames"], "counters of stays")
        equal(d.port("changes")["config"]["vlan"], "7", "vlan of changes")
    equal(call(VIADUCTD, "--check", "--config", path)[0], 0, "the file")


def wait_for(d, name):
    d.wait_ready()
    return os.path.join(d.folder, name)


def keeps_what_it_has_when_the_file_is_wrong(folder):
    path = write(folder, "f.yaml", FIRST)
    with Daemon(folder, "--config", path) as d:
        d.wait_ready()
        write(folder, "f.yaml", SECOND + "\n  - {name: x, type: y}\n")
        d.poke(signal.SIGHUP)
        until(lambda: "everything stays as it is" in d.log(), "SIGHUP")
        has(d.log(), "error config: " + path + ":8: port \"x\": type: \"y\" "
            "is not allowed")
        equal(len(d.status()["ports"]), 4, "ports")
        has("\n".join(sockets(folder)), "goes.sock")
        # And follows when it is right again.
        write(folder, "f.yaml", SECOND)
        d.poke(signal.SIGHUP)
        until(lambda: "configuration read again" in d.log(), "SIGHUP")
        equal(d.end(), 0, "exit status")


def follows_under_traffic(folder):
    """Ports of other workers come and go while two guests talk."""
    text = "ports:\n  - {name: a, type: guest, socket: a.sock}\n" \
        "  - {name: b, type: guest, socket: b.sock}\n"
    more = "  - {name: n%d, type: null, vlan: %d}\n"
    path = write(folder, "f.yaml", text)
    with Daemon(folder, "--config", path, "--workers", "3") as d:
        d.wait_ready()
        frames = 20000 if SANITIZED else 200000
        import threading
        got = []
        talk = threading.Thread(target=lambda: got.append(
            Guests(frames, os.path.join(folder, "a.sock"),
                   os.path.join(folder, "b.sock"))))
        talk.start()
        turns = 0
        while talk.is_alive() or turns < 10:
            write(folder, "f.yaml", text + "".join(
                more % (i, 1 + turns % 100) for i in range(turns % 4)))
            d.poke(signal.SIGHUP)
            turns += 1
            until(lambda: d.log().count("read again") >= turns, "SIGHUP")
        talk.join()
        equal(got[0].end(), (0, ""), "guests")
        for name in "ab":
            count = d.port(name)["counters"]
            equal(count["in_frames"], frames + 1, "frames of " + name)
            equal(count["drops"]["full"], 0, "drops of " + name)
        equal(d.end(), 0, "exit status")


def conventional_program(folder):
    path = os.path.join(folder, "g.sock")
    with Daemon(folder, "--socket-path=" + path) as d:
        d.wait_ready()
        equal(d.port("guest")["guest"]["socket"], path, "socket")
        equal(d.end(), 0, "exit status")


def conventional_descriptor(folder):
    path = os.path.join(folder, "g.sock")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(path)
        s.listen()
        os.set_inheritable(s.fileno(), True)
        import rig
        import subprocess
        log = open(os.path.join(folder, "log"), "ab")
        with subprocess.Popen([rig.VIADUCTD, "--fd=%d" % s.fileno()],
                              stderr=log, pass_fds=[s.fileno()]) as p:
            log.close()
            until(lambda: "ready" in open(
                os.path.join(folder, "log"), encoding="utf-8").read(),
                "ready")
            s.close()
            with Guests(0, path) as guests:
                equal(guests.lines, ["1 sent 0 received 0", "ready"],
                      "guest")
            p.send_signal(signal.SIGTERM)
            equal(p.wait(10), 0, "exit status")


def tells_the_service_manager(folder):
    path = os.path.join(folder, "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(path)
        s.settimeout(10)
        with Daemon(folder, "--port", "name=n,type=null",
                    env={"NOTIFY_SOCKET": path}) as d:
            equal(s.recv(100), b"READY=1", "first")
            d.poke(signal.SIGHUP)
            has(s.recv(100).decode(), "RELOADING=1\nMONOTONIC_USEC=")
            equal(s.recv(100), b"READY=1", "after SIGHUP")
            d.poke(signal.SIGTERM)
            equal(s.recv(100), b"STOPPING=1", "last")
            equal(d.process.wait(10), 0, "exit status")


def speaks_to_the_journal(folder):
    with Daemon(folder, "--port", "name=n,type=null") as d:
        d.wait_ready()
        has(d.log(), "info  n: port open type=null switch=main\n")
    log = os.path.join(folder, "log")
    at = os.stat(log)
    with Daemon(folder, "--port", "name=n,type=null", env={
            "JOURNAL_STREAM": "%d:%d" % (at.st_dev, at.st_ino)}) as d:
        d.wait_ready(2)
        has(d.log(), "\n<6>n: port open type=null switch=main\n")


def leaks_nothing(folder):
    if SANITIZED:
        raise Skip("a sanitizer looks already")
    if not shutil.which("valgrind"):
        raise Skip("no valgrind")
    path = write(folder, "f.yaml", FIRST)
    report = os.path.join(folder, "valgrind")
    wrap = ["valgrind", "--leak-check=full", "--show-leak-kinds=all",
            "--errors-for-leak-kinds=all", "--track-fds=yes",
            "--error-exitcode=9", "--log-file=" + report]
    with Daemon(folder, "--config", path, "--workers", "2", "--port",
                "name=s,type=stream,socket=s.sock", "--port",
                "name=p,type=pcap,capture=p.pcap", wrap=wrap) as d:
        until(lambda: "ready version=" in d.log(), "ready", 60)
        with Guests(200, os.path.join(folder, "stays.sock"),
                    os.path.join(folder, "changes.sock")) as guests:
            equal(guests.end(), (0, ""), "guests")
        write(folder, "f.yaml", SECOND)
        d.poke(signal.SIGHUP)
        until(lambda: "configuration read again" in d.log(), "SIGHUP", 60)
        d.status()
        status = d.end()
        with open(report, encoding="utf-8") as f:
            text = f.read()
        assert status == 0, text
        has(text, "ERROR SUMMARY: 0 errors")


def takes_the_descriptors_it_may_have(folder):
    with Daemon(folder, "--port", guest("a"),
                wrap=["sh", "-c", 'ulimit -Sn 100; exec "$@"', "sh"]) as d:
        d.wait_ready()
        with open("/proc/%d/limits" % d.pid, encoding="utf-8") as f:
            soft, hard = next(x for x in f if "open files" in x).split()[3:5]
        equal(soft, hard, "soft limit")
        with open("/proc/%d/status" % d.pid, encoding="utf-8") as f:
            has(f.read(), "NoNewPrivs:\t1")


def keeps_no_descriptor(folder):
    with Daemon(folder, "--port", guest("a"), "--port", guest("b")) as d:
        d.wait_ready()
        paths = [os.path.join(folder, n) for n in ("a.sock", "b.sock")]
        with Guests(1, *paths) as guests:
            guests.end()
        for name in ("a", "b"):
            until(lambda: not d.port(name)["guest"]["connected"], "end")
        before = fds(d.pid)  # perhaps with our question's own connection
        for _ in range(20):
            with Guests(10, *paths) as guests:
                equal(guests.end(), (0, ""), "guests")
            until(lambda: not d.port("b")["guest"]["connected"], "end")
        until(lambda: fds(d.pid) <= before, "descriptors, %d and %d"
              % (before, fds(d.pid)))


run((leaves_when_told, comes_back_after_kill, second_is_refused, fails_whole,
     modes_and_owners, follows_its_file,
     keeps_what_it_has_when_the_file_is_wrong, follows_under_traffic,
     conventional_program, conventional_descriptor,
     tells_the_service_manager, speaks_to_the_journal, leaks_nothing,
     takes_the_descriptors_it_may_have, keeps_no_descriptor))
