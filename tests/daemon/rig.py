# SPDX-License-Identifier: BSD-2-Clause
"""
rig.py - a viaductd to test: started in a folder of its own, asked over its
control socket, and always ended. Tests are functions; run() prints TAP.
"""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

VIADUCTD = os.environ["VIADUCTD"]
VIADUCT = os.environ["VIADUCT"]
GUESTS = os.environ["GUESTS"]
SANITIZED = bool(os.environ.get("SANITIZED"))
PATIENCE = 10 * (5 if SANITIZED else 1)


class Skip(Exception):
    """This test cannot be done here; the reason."""


def until(what, why, patience=PATIENCE):
    """Waits until what() is true."""
    end = time.monotonic() + patience
    while not what():
        assert time.monotonic() < end, "in vain: " + why
        time.sleep(0.005)


class Daemon:
    def __init__(self, folder, *args, wrap=(), control=True, env=None):
        self.folder = folder
        self.control = os.path.join(folder, "ctl") if control else None
        args = list(args) + (["--control", self.control] if control else [])
        self.log_path = os.path.join(folder, "log")
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                list(wrap) + [VIADUCTD] + args, stderr=log, stdout=log,
                stdin=subprocess.DEVNULL, cwd=folder,
                env=dict(os.environ, **(env or {})))
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def wait_ready(self, times=1):
        until(lambda: self.log().count("ready version=") >= times
              or self.process.poll() is not None, "ready")
        assert self.process.poll() is None, self.log()
        return self

    def ask(self, text):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(PATIENCE)
            s.connect(self.control)
            s.sendall(text.encode() + b"\n")
            return json.loads(s.makefile().readline())

    def status(self):
        return self.ask('{"cmd":"status"}')

    def port(self, name):
        return next(p for p in self.status()["ports"] if p["name"] == name)

    def poke(self, number):
        os.kill(self.pid, number)

    def end(self, number=signal.SIGTERM):
        """Tell it to leave; its exit status."""
        self.poke(number)
        return self.process.wait(PATIENCE)


class Guests:
    """Embedded guests on sockets; they have exchanged frames when made."""

    def __init__(self, frames, *sockets):
        self.process = subprocess.Popen(
            [GUESTS, str(frames)] + list(sockets), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines = []
        for line in self.process.stdout:
            self.lines.append(line.strip())
            if line == "ready\n":
                break

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        """Their exit status, 0: every frame came; and their complaints."""
        if self.process.poll() is None and not self.process.stdin.closed:
            self.process.stdin.close()
        err = self.process.stderr.read() if not self.process.stderr.closed \
            else ""
        status = self.process.wait(PATIENCE)
        self.process.stderr.close()
        self.process.stdout.close()
        return status, err


def call(*args):
    """Runs a program to its end: status, output, errors."""
    done = subprocess.run(args, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          text=True, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout, done.stderr


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def equal(is_, want, what="value"):
    assert is_ == want, "%s is %r, not %r" % (what, is_, want)


def has(text, part):
    assert part in text, "%r is not in:\n%s" % (part, text)


def run(tests):
    """Every test gets a folder; one TAP line each."""
    failed = 0
    print("1..%d" % len(tests))
    for number, test in enumerate(tests, 1):
        folder = tempfile.mkdtemp(prefix="viaduct-")
        name = test.__name__
        try:
            test(folder)
            print("ok %d - %s" % (number, name), flush=True)
        except Skip as why:
            print("ok %d - %s # SKIP %s" % (number, name, why), flush=True)
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print("not ok %d - %s" % (number, name))
            for line in traceback.format_exc().splitlines():
                print("# " + line)
            path = os.path.join(folder, "log")
            if os.path.exists(path):
                with open(path, encoding="utf-8", errors="replace") as f:
                    for line in f.read().splitlines()[-20:]:
                        print("# log: " + line)
            sys.stdout.flush()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if failed else 0)
