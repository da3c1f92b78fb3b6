"""What a part of the listener answers with."""

from __future__ import annotations

__all__ = ["Answer"]

Answer = tuple[str, str, bytes]
"""Status line without the version, content type, body."""
