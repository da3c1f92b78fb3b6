"""Shortens names of clients and groups to a maximum number of bytes in every label of /metrics and in links.

Kafka limits topic names to 249 characters. Names of groups, clients, instances and racks can have 32,767 bytes in a
record, and a page of /metrics repeats a group's name in each of the group's series.
"""

from __future__ import annotations

import hashlib

__all__ = ["NAME_BYTES_MAX", "SHORT_NAME_BYTES_MAX", "is_long", "short_name"]

NAME_BYTES_MAX = 249
"""Maximum number of UTF-8 bytes of a name that is not shortened: Kafka's limit for topics, so topic names are never
shortened."""

_MARK, _HASH_BYTES = "…", 16

SHORT_NAME_BYTES_MAX = NAME_BYTES_MAX + len(_MARK.encode()) + 2 * _HASH_BYTES
"""Maximum number of UTF-8 bytes that `short_name` returns."""

_CONTINUING = range(0x80, 0xC0)  # UTF-8 bytes that do not begin a character
_SURELY_SHORT = NAME_BYTES_MAX // 4  # characters; a character has at most four bytes in UTF-8


def is_long(name: str) -> bool:
    """Return whether `short_name` changes this name."""
    return len(name) > _SURELY_SHORT and len(name.encode("utf-8", "surrogatepass")) > NAME_BYTES_MAX


def short_name(name: str) -> str:
    """Return ``name`` if it has at most `NAME_BYTES_MAX` UTF-8 bytes, else its beginning, ``…`` and a 128-bit BLAKE2b.

    Different names stay different: a shortened name has more than `NAME_BYTES_MAX` bytes, so it differs from every name
    that is not shortened, and two names with the same hash cannot be found. The result is the same in every process.
    Apply the function only once.
    """
    if len(name) <= _SURELY_SHORT:
        return name
    data = name.encode("utf-8", "surrogatepass")
    end = NAME_BYTES_MAX
    if len(data) <= end:
        return name
    while data[end] in _CONTINUING:
        end -= 1
    digest = hashlib.blake2b(data, digest_size=_HASH_BYTES).hexdigest()
    return f"{data[:end].decode('utf-8', 'surrogatepass')}{_MARK}{digest}"
