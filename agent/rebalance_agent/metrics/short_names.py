"""Names that come from outside, bounded in bytes wherever they are repeated: in every label of /metrics, and in links.

Kafka bounds a topic's name (249 characters) but not those of groups, clients, instances and racks (32,767 bytes in a
record), and a page of /metrics repeats a group's name in each of its series.
"""

from __future__ import annotations

import hashlib

__all__ = ["NAME_BYTES_MAX", "SHORT_NAME_BYTES_MAX", "is_long", "short_name"]

NAME_BYTES_MAX = 249
"""UTF-8 bytes of a name that stays as it is: Kafka's own limit for topics, so that no topic's name is shortened."""

_MARK, _HASH_BYTES = "…", 16

SHORT_NAME_BYTES_MAX = NAME_BYTES_MAX + len(_MARK.encode()) + 2 * _HASH_BYTES
"""The most UTF-8 bytes that `short_name` returns."""

_CONTINUING = range(0x80, 0xC0)  # bytes of UTF-8 that begin no character
_SURELY_SHORT = NAME_BYTES_MAX // 4  # characters; UTF-8 has at most four bytes for one


def is_long(name: str) -> bool:
    """Whether `short_name` changes this name."""
    return len(name) > _SURELY_SHORT and len(name.encode("utf-8", "surrogatepass")) > NAME_BYTES_MAX


def short_name(name: str) -> str:
    """``name`` itself up to `NAME_BYTES_MAX` bytes of UTF-8, else its beginning, ``…`` and 128 bits of its BLAKE2b.

    Different names stay different: a shortened one has more than `NAME_BYTES_MAX` bytes, so it equals no name that is
    left as it is, and nobody finds two names with the same hash. It is the same in every process. Apply it once.
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
