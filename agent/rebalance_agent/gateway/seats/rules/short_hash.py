"""Short hashes, for what clients name and send: names and subscriptions from outside may have 32 KiB each."""

from __future__ import annotations

import hashlib

__all__ = ["short_hash"]

_BYTES = 16


def short_hash(text: str) -> str:
    """32 hexadecimal digits, equal for equal texts in all processes; two other texts have equal ones by no chance."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_BYTES).hexdigest()
