"""What the engine and its trusted Python children share: messages (a 32-bit
little-endian length, then JSON; file descriptors come with the first byte) and
files of tensors."""

import ctypes
import json
import mmap
import os
import select
import socket
import struct
import sys
import threading

from judge_task import ProtocolError, store


MAX_POPULATED_BYTES = 32 << 20


class Channel:
    def __init__(self, fd):
        self.socket = socket.socket(fileno=fd)

    def receive(self):
        """(message, fds), or None when the engine is gone."""
        head, fds = b"", []
        while len(head) < 4:
            try:
                data, more, _, _ = socket.recv_fds(
                    self.socket, 4 - len(head), 16
                )
            except ConnectionResetError:
                return None
            fds += more
            if not data:
                return None
            head += data
        size = struct.unpack("<I", head)[0]
        body = bytearray()
        while len(body) < size:
            data = self.socket.recv(min(size - len(body), 1 << 20))
            if not data:
                return None
            body += data
        return json.loads(body), fds

    def send(self, message):
        body = json.dumps(message).encode()
        try:
            self.socket.sendall(struct.pack("<I", len(body)) + body)
        except (BrokenPipeError, ConnectionResetError):
            sys.exit(0)  # The engine is gone; nobody is left to be told.

    def end_with_engine(self):
        """Ends this process when the engine does, whatever it is doing: a
        task's own code may never come back to `receive`."""
        gone = select.poll()
        gone.register(self.socket, select.POLLRDHUP)

        def wait():
            gone.poll()
            os._exit(0)

        threading.Thread(target=wait, daemon=True).start()


class Mapping:
    """A file of the engine's, writable."""

    def __init__(self, fd, size):
        self.size = size
        # All pages at once: one by one they cost more than what is put there.
        # Large files may have parts that nobody touches.
        populate = mmap.MAP_POPULATE if size <= MAX_POPULATED_BYTES else 0
        self.map = mmap.mmap(fd, size, mmap.MAP_SHARED | populate)
        self.view = (ctypes.c_char * size).from_buffer(self.map)
        self.address = ctypes.addressof(self.view)

    def put(self, tensors, base, offsets):
        if len(tensors) != len(offsets):
            raise ProtocolError(
                f"{len(tensors)} tensors, but {len(offsets)} offsets"
            )
        for tensor, offset in zip(tensors, offsets):
            at = base + offset
            if not 0 <= at <= self.size:
                raise ProtocolError(f"offset {at} is not in 0..{self.size}")
            store(tensor, self.address + at, self.size - at)

    def close(self):
        del self.view
        self.map.close()
