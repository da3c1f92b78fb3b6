"""A hand-written decoder of the records of `__consumer_offsets` that the judge needs.

Source: the public description of Kafka's protocol (integers big-endian, strings with a length in two bytes, KIP-482's
compact forms with a length plus one as a varint, and tagged fields).
"""

from __future__ import annotations

import base64


class Bytes:
    """A cursor over bytes; ``flexible`` chooses KIP-482's compact forms."""

    def __init__(self, data, *, flexible=False):
        self.data, self.at, self.flexible = data, 0, flexible

    def integer(self, size):
        """Read a signed big-endian integer of ``size`` bytes."""
        if self.at + size > len(self.data):
            raise ValueError("the record is too short")
        self.at += size
        return int.from_bytes(self.data[self.at - size : self.at], "big", signed=True)

    def varint(self):
        """Read an unsigned varint."""
        value, shift = 0, 0
        while True:
            byte = self.integer(1) & 0xFF
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def take(self, size):
        """Read ``size`` bytes."""
        if size < 0 or self.at + size > len(self.data):
            raise ValueError("the record is too short")
        self.at += size
        return self.data[self.at - size : self.at]

    def length(self, size):
        """Read the length of the following bytes; None for null."""
        value = self.varint() - 1 if self.flexible else self.integer(size)
        return None if value < 0 else value

    def text(self):
        """Read a string, or None."""
        size = self.length(2)
        return None if size is None else self.take(size).decode()

    def blob(self):
        """Read bytes with their length, or None."""
        size = self.length(4)
        return None if size is None else self.take(size)

    def array(self, read):
        """Read a list of the results of ``read()``; empty for null."""
        return [read() for _ in range(self.length(4) or 0)]

    def uuid(self):
        """Read a topic id, in Kafka's text form."""
        return base64.urlsafe_b64encode(self.take(16)).rstrip(b"=").decode()

    def tags(self):
        """Skip the tagged fields of a flexible struct."""
        if self.flexible:
            for _ in range(self.varint()):
                self.varint()
                self.take(self.varint())
