"""Records of classic groups as bytes, encoded for tests of the judge without the package's code."""

from __future__ import annotations

import struct


def group_key(group):
    """The key of a group's record."""
    return struct.pack(">h", 2) + _text(group)


def _text(value):
    return struct.pack(">h", len(value)) + value.encode()


def generation(number, joined_ms=0, **members):
    """The value of a group's record, version 3; ``members``: client id -> numbers of its partitions of topic ``t``."""
    rows = b"".join(
        _text(f"{client}-id")
        + struct.pack(">h", -1)
        + _text(client)
        + _text("/h")
        + struct.pack(">ii", 300, 6000)
        + _blob(struct.pack(">hi", 0, 1) + _text("t"))
        + _blob(struct.pack(">hi", 0, 1) + _text("t") + struct.pack(f">i{len(has)}i", len(has), *has))
        for client, has in members.items()
    )
    head = struct.pack(">h", 3) + _text("consumer") + struct.pack(">i", number) + _text("range") + _text("leader")
    return head + struct.pack(">qi", joined_ms, len(members)) + rows


def _blob(value):
    return struct.pack(">i", len(value)) + value
