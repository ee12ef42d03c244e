#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Sends commands to QEMU's machine protocol: qmp.py SOCKET COMMAND [JSON]...

Each COMMAND may be followed by its arguments as JSON. `migrate` waits until the
migration has ended and fails if it did not complete. Prints each answer.
"""
import json
import socket
import sys
import time


class Monitor:
    def __init__(self, path):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(path)
        self.file = sock.makefile("rw")
        self.file.readline()
        self.command("qmp_capabilities")

    def command(self, name, arguments=None):
        message = {"execute": name, "arguments": arguments or {}}
        self.file.write(json.dumps(message) + "\n")
        self.file.flush()
        while True:
            answer = json.loads(self.file.readline())
            if "error" in answer:
                sys.exit(f"qmp: {name}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]

    def wait_for_migration(self):
        while True:
            answer = self.command("query-migrate")
            if answer.get("status") in ("completed", "failed", "cancelled"):
                return answer
            time.sleep(0.1)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    monitor = Monitor(sys.argv[1])
    words = sys.argv[2:]
    while words:
        name, arguments = words.pop(0), None
        if words and words[0].startswith("{"):
            arguments = json.loads(words.pop(0))
        answer = monitor.command(name, arguments)
        if name == "migrate":
            answer = monitor.wait_for_migration()
            print(f"qmp: migration {answer['status']}",
                  f"total-time={answer.get('total-time')} ms",
                  f"downtime={answer.get('downtime')} ms", flush=True)
            if answer["status"] != "completed":
                sys.exit(1)
        else:
            print(f"qmp: {name}: {json.dumps(answer)}", flush=True)


if __name__ == "__main__":
    main()
