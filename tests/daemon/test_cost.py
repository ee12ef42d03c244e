#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
test_cost.py - what viaductd costs: less than 16 MiB with two guests, 50 ms
from start to listening, 10 ms of CPU time in 10 idle seconds.
"""
import os
import socket
import subprocess
import time

from rig import SANITIZED, VIADUCTD, Daemon, Guests, Skip, equal, run

MEMORY_KIB = 16384
LISTEN_MS = 50
IDLE_CPU_MS = 10
IDLE_S = 10


def plain_only():
    if SANITIZED:
        raise Skip("a sanitizer costs more")


def start(folder):
    return Daemon(folder, "--port", "name=a,type=guest,socket=a.sock",
                  "--port", "name=b,type=guest,socket=b.sock", "--port",
                  "name=s,type=stream,socket=s.sock").wait_ready()


def guests(folder, frames):
    return Guests(frames, os.path.join(folder, "a.sock"),
                  os.path.join(folder, "b.sock"))


def field(pid, name):
    with open("/proc/%d/status" % pid, encoding="utf-8") as f:
        for line in f:
            if line.startswith(name + ":"):
                return int(line.split()[1])
    raise KeyError(name)


def cpu_ms(pid):
    total = 0
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/schedstat" % (pid, task),
                  encoding="utf-8") as f:
            total += int(f.read().split()[0])
    return total / 1e6


def memory(folder):
    """Without the guests' own memory, which is shared."""
    plain_only()
    with start(folder) as d, guests(folder, 100000) as g:
        equal(g.lines[0], "1 sent 100000 received 100000", "guest 1")
        kib = field(d.pid, "VmRSS") - field(d.pid, "RssShmem")
        print("# resident %d KiB" % kib)
        assert kib < MEMORY_KIB, "%d KiB" % kib


def idle(folder):
    plain_only()
    with start(folder) as d, guests(folder, 1000):
        time.sleep(1)
        before = cpu_ms(d.pid)
        time.sleep(IDLE_S)
        used = cpu_ms(d.pid) - before
        print("# %.3f ms of CPU time in %d s" % (used, IDLE_S))
        assert used < IDLE_CPU_MS, "%.3f ms" % used


def waited_ms(pid):
    """For a processor, which others had."""
    with open("/proc/%d/schedstat" % pid, encoding="utf-8") as f:
        return int(f.read().split()[1]) / 1e6


def listening(folder):
    """The best of some, less what it waited for a busy machine's processor."""
    plain_only()
    path = os.path.join(folder, "a.sock")
    took = []
    for _ in range(10):
        begin = time.monotonic()
        with subprocess.Popen([VIADUCTD, "--socket-path", path],
                              stderr=subprocess.DEVNULL) as p:
            with socket.socket(socket.AF_UNIX) as s:
                while s.connect_ex(path):
                    assert time.monotonic() - begin < 10, "never"
                wall = 1000 * (time.monotonic() - begin)
            took.append((wall - waited_ms(p.pid), wall))
            p.terminate()
    print("# listening after %.1f ms, with the wait for a processor %.1f ms"
          % min(took))
    assert min(took)[0] < LISTEN_MS, took


run((memory, idle, listening))
