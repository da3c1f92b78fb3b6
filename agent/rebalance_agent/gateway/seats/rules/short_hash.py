"""Short hashes of names and subscriptions from clients, which may have 32 KiB each."""

from __future__ import annotations

import hashlib

__all__ = ["short_hash"]

_BYTES = 16


def short_hash(text: str) -> str:
    """Return a hash of 32 hexadecimal digits, the same in all processes; collisions are improbable."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_BYTES).hexdigest()
