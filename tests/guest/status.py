#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
status.py - what must hold in the answer of `viaduct status --json`

    status.py FILE [PORT:FEATURE...]

Nothing was dropped for want of room, no queue is broken, no message was
refused, and each PORT has negotiated each FEATURE (with a `!` before it: has
not). Prints a line a port; says what does not hold.

Frames that come while a guest is not there (drops "down") or that nobody may
send ("policy", "rate") are none of a test's business. Environment: DROPS=any
allows full queues too, for tests in which a guest takes its interface down, and
with it the buffers, or is killed.
"""
import json
import os
import sys

BAD_DROPS = ("bad", "offload") + (
    () if os.environ.get("DROPS") == "any" else ("full",))


def complaints(port):
    drops = port["counters"]["drops"]
    for cause in BAD_DROPS:
        if drops[cause]:
            yield "%d frames dropped: %s" % (drops[cause], cause)
    guest = port.get("guest", {})
    if guest.get("refused"):
        yield "%d messages refused" % guest["refused"]
    for queue in guest.get("queues", ()):
        if queue["counters"]["faults"]:
            yield "queue %d broke: %s" % (queue["index"], queue["fault"])


def show(port):
    count = port["counters"]
    text = ["viaductd: %s in=%d out=%d" % (
        port["name"], count["in_frames"], count["out_frames"])]
    text += ["drop_%s=%d" % d for d in count["drops"].items() if d[1]]
    for queue in port.get("guest", {}).get("queues", ()):
        if queue["counters"]["packets"]:
            text.append("%s%d: kicks/packet=%.2f interrupts/packet=%.2f" % (
                queue["role"], queue["index"] // 2, queue["kicks_per_packet"],
                queue["interrupts_per_packet"]))
    print(", ".join(text))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as f:
        ports = json.load(f)["ports"]
    wrong = []
    for port in ports:
        show(port)
        wrong += ["%s: %s" % (port["name"], c) for c in complaints(port)]
    features = {p["name"]: p.get("guest", {}).get("features", ())
                for p in ports}
    for word in sys.argv[2:]:
        name, feature = word.split(":")
        if (feature.lstrip("!") in features[name]) == feature.startswith("!"):
            wrong.append("%s: features are %s, not as %s asks" % (
                name, " ".join(features[name]), feature))
    for line in wrong:
        print("status: " + line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
