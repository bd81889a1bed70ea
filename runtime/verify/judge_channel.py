"""Messages between the engine and its trusted Python children: a 32-bit
little-endian length, then JSON; file descriptors come with the first byte."""

import json
import socket
import struct


class Channel:
    def __init__(self, fd):
        self.socket = socket.socket(fileno=fd)

    def receive(self):
        """(message, fds), or None when the engine is gone."""
        head, fds = b"", []
        while len(head) < 4:
            data, more, _, _ = socket.recv_fds(self.socket, 4 - len(head), 16)
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
        self.socket.sendall(struct.pack("<I", len(body)) + body)
