"""Short hashes of names and subscriptions from clients, which may have 32 KiB each."""

from __future__ import annotations

import hashlib

__all__ = ["short_hash"]

_BYTES = 16


def short_hash(text: str) -> str:
    """Return 32 hexadecimal digits of a hash, the same in all processes; equal hashes of two texts are improbable."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_BYTES).hexdigest()
