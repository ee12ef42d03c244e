#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Records the vhost-user messages between a front end and a back end as text.

  record.py proxy LISTEN BACKEND [net|vsock]   stands between QEMU and a real
                                   back end; the kind names the feature bits
  record.py fake LISTEN net|vsock  answers for a back end that does not exist:
                                   enough for the guest's driver to bind, no
                                   queue is ever served; the environment's
                                   FEATURES and PROTOCOL replace what it offers

Each line: seconds since start, direction (FE is QEMU), message, flags, the
decoded payload, and each descriptor with what it is. The reply to a request
carries the request's name. Messages of the back-end channel are recorded too
(proxy), marked FE<BE* and FE>BE*. Ends when QEMU closes; prints to standard
output. Needs nothing but Python 3.
"""
import array
import os
import selectors
import socket
import struct
import sys
import time

REQUESTS = {
    1: "GET_FEATURES", 2: "SET_FEATURES", 3: "SET_OWNER", 4: "RESET_OWNER",
    5: "SET_MEM_TABLE", 6: "SET_LOG_BASE", 7: "SET_LOG_FD",
    8: "SET_VRING_NUM", 9: "SET_VRING_ADDR", 10: "SET_VRING_BASE",
    11: "GET_VRING_BASE", 12: "SET_VRING_KICK", 13: "SET_VRING_CALL",
    14: "SET_VRING_ERR", 15: "GET_PROTOCOL_FEATURES",
    16: "SET_PROTOCOL_FEATURES", 17: "GET_QUEUE_NUM", 18: "SET_VRING_ENABLE",
    19: "SEND_RARP", 20: "NET_SET_MTU", 21: "SET_BACKEND_REQ_FD",
    22: "IOTLB_MSG", 23: "SET_VRING_ENDIAN", 24: "GET_CONFIG",
    25: "SET_CONFIG", 26: "CREATE_CRYPTO_SESSION", 27: "CLOSE_CRYPTO_SESSION",
    28: "POSTCOPY_ADVISE", 29: "POSTCOPY_LISTEN", 30: "POSTCOPY_END",
    31: "GET_INFLIGHT_FD", 32: "SET_INFLIGHT_FD", 33: "GPU_SET_SOCKET",
    34: "RESET_DEVICE", 35: "VRING_KICK", 36: "GET_MAX_MEM_SLOTS",
    37: "ADD_MEM_REG", 38: "REM_MEM_REG", 39: "SET_STATUS", 40: "GET_STATUS",
    41: "GET_SHARED_OBJECT", 42: "SET_DEVICE_STATE_FD",
    43: "CHECK_DEVICE_STATE", 44: "GET_SHMEM_CONFIG",
}
BACKEND_REQUESTS = {
    1: "IOTLB_MSG", 2: "CONFIG_CHANGE_MSG", 3: "VRING_HOST_NOTIFIER_MSG",
    4: "VRING_CALL", 5: "VRING_ERR", 6: "SHARED_OBJECT_ADD",
    7: "SHARED_OBJECT_REMOVE", 8: "SHARED_OBJECT_LOOKUP",
}
PROTOCOL = ["MQ", "LOG_SHMFD", "RARP", "REPLY_ACK", "NET_MTU", "BACKEND_REQ",
            "CROSS_ENDIAN", "CRYPTO_SESSION", "PAGEFAULT", "CONFIG",
            "BACKEND_SEND_FD", "HOST_NOTIFIER", "INFLIGHT_SHMFD",
            "RESET_DEVICE", "INBAND_NOTIFICATIONS", "CONFIGURE_MEM_SLOTS",
            "STATUS", "XEN_MMAP", "SHARED_OBJECT", "DEVICE_STATE"]
TRANSPORT = {24: "NOTIFY_ON_EMPTY", 26: "LOG_ALL", 27: "ANY_LAYOUT",
             28: "INDIRECT_DESC", 29: "EVENT_IDX", 30: "PROTOCOL_FEATURES",
             32: "VERSION_1", 33: "ACCESS_PLATFORM", 34: "RING_PACKED",
             35: "IN_ORDER", 36: "ORDER_PLATFORM", 37: "SR_IOV",
             38: "NOTIFICATION_DATA", 40: "RING_RESET", 41: "ADMIN_VQ"}
NET = {0: "CSUM", 1: "GUEST_CSUM", 2: "CTRL_GUEST_OFFLOADS", 3: "MTU",
       5: "MAC", 6: "GSO", 7: "GUEST_TSO4", 8: "GUEST_TSO6", 9: "GUEST_ECN",
       10: "GUEST_UFO", 11: "HOST_TSO4", 12: "HOST_TSO6", 13: "HOST_ECN",
       14: "HOST_UFO", 15: "MRG_RXBUF", 16: "STATUS", 17: "CTRL_VQ",
       18: "CTRL_RX", 19: "CTRL_VLAN", 20: "CTRL_RX_EXTRA",
       21: "GUEST_ANNOUNCE", 22: "MQ", 23: "CTRL_MAC_ADDR", 53: "NOTF_COAL",
       54: "GUEST_USO4", 55: "GUEST_USO6", 56: "HOST_USO", 57: "HASH_REPORT",
       60: "RSS", 61: "RSC_EXT", 62: "STANDBY", 63: "SPEED_DUPLEX"}
VSOCK = {0: "STREAM", 1: "SEQPACKET", 2: "NO_IMPLIED_STREAM"}

REPLY, NEED_REPLY = 4, 8
GUEST_CID = 42
start = time.monotonic()
device_bits = NET


def names(value, table):
    """Bit numbers and names of a mask."""
    get = table.get if isinstance(table, dict) else (
        lambda b, d: table[b] if b < len(table) else d)
    bits = [get(b, f"bit{b}") for b in range(64) if value >> b & 1]
    return f"{value:#x} = " + " ".join(bits) if bits else "0"


def features(value):
    return names(value, {**TRANSPORT, **device_bits})


def regions(data, at, count):
    out = []
    for i in range(count):
        gpa, size, uva, offset = struct.unpack_from("<4Q", data, at + 32 * i)
        out.append(f"[gpa={gpa:#x} size={size:#x} uva={uva:#x} "
                   f"mmap_offset={offset:#x}]")
    return " ".join(out)


def decode(name, data):
    """The payload in words; hex where this table knows nothing better."""
    if not data:
        return ""
    if name in ("GET_FEATURES", "SET_FEATURES") and len(data) == 8:
        return features(struct.unpack("<Q", data)[0])
    if name.endswith("PROTOCOL_FEATURES") and len(data) == 8:
        return names(struct.unpack("<Q", data)[0], PROTOCOL)
    if name == "SET_MEM_TABLE" and len(data) >= 8:
        count = struct.unpack_from("<I", data)[0]
        return f"regions={count} " + regions(data, 8, count)
    if name in ("ADD_MEM_REG", "REM_MEM_REG") and len(data) >= 40:
        return regions(data, 8, 1)
    if name in ("SET_VRING_NUM", "SET_VRING_BASE", "GET_VRING_BASE",
                "SET_VRING_ENABLE", "SET_VRING_ENDIAN") and len(data) == 8:
        return "index=%u num=%#x" % struct.unpack("<2I", data)
    if name == "SET_VRING_ADDR" and len(data) == 40:
        index, flags, desc, used, avail, log = struct.unpack("<2I4Q", data)
        return (f"index={index} flags={flags:#x} desc={desc:#x} "
                f"used={used:#x} avail={avail:#x} log={log:#x}")
    if name in ("SET_VRING_KICK", "SET_VRING_CALL", "SET_VRING_ERR"):
        value = struct.unpack("<Q", data)[0]
        return f"index={value & 0xff}" + (" NOFD" if value & 0x100 else "")
    if name in ("GET_CONFIG", "SET_CONFIG") and len(data) >= 12:
        offset, size, flags = struct.unpack_from("<3I", data)
        return f"offset={offset} size={size} flags={flags} {data[12:].hex()}"
    if name in ("GET_INFLIGHT_FD", "SET_INFLIGHT_FD") and len(data) >= 20:
        size, offset, queues, length = struct.unpack_from("<2Q2H", data)
        return f"mmap_size={size} offset={offset} queues={queues} size={length}"
    if name == "SET_LOG_BASE" and len(data) == 16:
        return "size=%#x offset=%#x" % struct.unpack("<2Q", data)
    if name == "SEND_RARP":
        return data[:6].hex(":")
    if name == "IOTLB_MSG" and len(data) >= 26:
        iova, size, uaddr, perm, kind = struct.unpack_from("<3Q2B", data)
        return f"iova={iova:#x} size={size:#x} uva={uaddr:#x} perm={perm} type={kind}"
    if len(data) == 8:
        return "u64=%#x" % struct.unpack("<Q", data)[0]
    return data.hex()


def describe_fd(fd):
    what = os.readlink(f"/proc/self/fd/{fd}")
    st = os.fstat(fd)
    return f"{what}" + (f" {st.st_size:#x} bytes" if st.st_size else "")


def log(arrow, name, flags, data, fds):
    text = [f"{time.monotonic() - start:9.4f} {arrow} {name}"]
    if flags & REPLY:
        text.append("reply")
    if flags & NEED_REPLY:
        text.append("need_reply")
    status = flags & REPLY and not name.startswith("GET_") and len(data) == 8
    payload = "status=%u" % struct.unpack("<Q", data) if status else decode(
        name, data)
    if payload:
        text.append(payload)
    text += [f"fd<{describe_fd(fd)}>" for fd in fds]
    print(" ".join(text), flush=True)


def receive(sock):
    """One message: (request, flags, payload, fds), or None at the end."""
    room = socket.CMSG_SPACE(32 * 4)
    head, ancillary, _, _ = sock.recvmsg(12, room)
    fds = []
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            got = array.array("i")
            got.frombytes(data[:len(data) - len(data) % got.itemsize])
            fds += got
    while 0 < len(head) < 12:
        head += sock.recv(12 - len(head))
    if not head:
        return None
    request, flags, size = struct.unpack("<3I", head)
    data = b""
    while len(data) < size:
        data += sock.recv(size - len(data))
    return request, flags, data, fds


def send(sock, request, flags, data, fds=()):
    packet = struct.pack("<3I", request, flags, len(data)) + data
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
    sock.sendmsg([packet], rights if fds else [])


def close_all(fds):
    for fd in fds:
        os.close(fd)


class Proxy:
    """Relays whole messages both ways and slips into the back-end channel."""

    def __init__(self, front, back):
        self.select = selectors.DefaultSelector()
        self.link(front, back, "FE>BE ", REQUESTS)
        self.link(back, front, "FE<BE ", REQUESTS)

    def link(self, source, sink, arrow, table):
        self.select.register(source, selectors.EVENT_READ, (sink, arrow, table))

    def slip_in(self, fd):
        ours, theirs = socket.socketpair()
        front = socket.socket(fileno=os.dup(fd))
        self.link(front, ours, "FE>BE*", BACKEND_REQUESTS)
        self.link(ours, front, "FE<BE*", BACKEND_REQUESTS)
        return theirs.detach()

    def run(self):
        while True:
            for key, _ in self.select.select():
                sink, arrow, table = key.data
                message = receive(key.fileobj)
                if message is None:
                    if not arrow.endswith("*"):
                        return
                    self.select.unregister(key.fileobj)
                    continue
                request, flags, data, fds = message
                name = table.get(request, f"request {request}")
                log(arrow, name, flags, data, fds)
                if name == "SET_BACKEND_REQ_FD" and len(fds) == 1:
                    fds = fds + [self.slip_in(fds[0])]
                    send(sink, request, flags, data, fds[1:])
                else:
                    send(sink, request, flags, data, fds)
                close_all(fds)


class Fake:
    """A back end that agrees to everything and moves nothing."""

    COMMON = 1 << 24 | 1 << 26 | 1 << 28 | 1 << 29 | 1 << 30 | 1 << 32 | \
        1 << 34 | 1 << 35 | 1 << 36 | 1 << 40
    NET_BITS = 1 << 0 | 1 << 1 | 1 << 15 | 1 << 22
    VSOCK_BITS = 1 << 1
    PROTOCOL = 1 << 0 | 1 << 1 | 1 << 3 | 1 << 5 | 1 << 9 | 1 << 12 | 1 << 15

    def __init__(self, front, kind):
        self.front = front
        own = self.NET_BITS if kind == "net" else self.VSOCK_BITS
        self.bits = int(os.environ.get("FEATURES", "0"), 0) or self.COMMON | own
        self.protocol = int(os.environ.get("PROTOCOL", "-1"), 0)
        if self.protocol < 0:
            self.protocol = self.PROTOCOL

    def answer(self, name, data):
        if name == "GET_FEATURES":
            return struct.pack("<Q", self.bits)
        if name == "GET_PROTOCOL_FEATURES":
            return struct.pack("<Q", self.protocol)
        if name == "GET_QUEUE_NUM":
            return struct.pack("<Q", 4)
        if name == "GET_MAX_MEM_SLOTS":
            return struct.pack("<Q", 32)
        if name == "GET_VRING_BASE":
            return data[:4] + bytes(4)
        if name == "GET_CONFIG":
            space = struct.pack("<Q", GUEST_CID).ljust(256, b"\0")
            offset, size, _ = struct.unpack_from("<3I", data)
            return data[:12] + space[offset:offset + size]
        if name == "GET_INFLIGHT_FD":
            return struct.pack("<2Q2H4x", 4096, 0, *struct.unpack_from(
                "<2H", data, 16))
        return None

    def run(self):
        while True:
            message = receive(self.front)
            if message is None:
                return
            request, flags, data, fds = message
            name = REQUESTS.get(request, f"request {request}")
            log("FE>BE ", name, flags, data, fds)
            reply, give = self.answer(name, data), []
            if reply is None and flags & NEED_REPLY:
                reply = bytes(8)
            if name == "GET_INFLIGHT_FD":
                give = [os.memfd_create("inflight")]
                os.ftruncate(give[0], 4096)
            if reply is not None:
                log("FE<BE ", name, REPLY, reply, give)
                send(self.front, request, 1 | REPLY, reply, give)
            if name != "SET_BACKEND_REQ_FD":    # QEMU complains of its end
                close_all(fds + give)


def main():
    global device_bits
    if len(sys.argv) < 4 or sys.argv[1] not in ("proxy", "fake"):
        sys.exit(__doc__)
    mode, path, other = sys.argv[1:4]
    if sys.argv[-1] == "vsock":
        device_bits = VSOCK
    if os.path.exists(path):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(1)
    front, _ = listener.accept()
    if mode == "fake":
        Fake(front, other).run()
        return
    back = socket.socket(socket.AF_UNIX)
    try:
        back.connect(other)
    except OSError as error:
        sys.exit(f"record: {other}: {error.strerror}")
    Proxy(front, back).run()


if __name__ == "__main__":
    main()
