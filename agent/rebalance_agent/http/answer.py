"""The answer to a request, complete and in memory."""

from __future__ import annotations

__all__ = ["Answer"]

Answer = tuple[str, str, bytes]
"""Status line without the HTTP version (``200 OK``), content type, body."""
