"""Defines a request and its answer, both complete and in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

__all__ = ["CHUNK_BYTES", "Answer", "Application", "Request", "Response", "chunks"]

CHUNK_BYTES = 1 << 18
"""Number of bytes compressed or sent at a time, as many as fit into a socket's buffer. Each step releases the
interpreter's lock. To acquire it again takes milliseconds while other threads compute, and tens of milliseconds on a
busy machine."""

Answer = tuple[str, str, bytes]
"""Status line without the HTTP version (``200 OK``), content type and body."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request. ``target``: path and query as sent; ``headers``: name in lower case -> value.

    ``body`` is shorter than the header ``content-length`` if the client ended it early.
    """

    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def path(self) -> str:
        """The decoded path."""
        return unquote(self.target.partition("?")[0])

    @property
    def query(self) -> str:
        """The query string as sent; empty if there is no query."""
        return self.target.partition("?")[2]


@dataclass(frozen=True, slots=True)
class Response:
    """An `Answer` with additional headers. The body may be in pieces, which are never joined."""

    status: str
    content_type: str
    body: bytes | list[bytes]
    headers: Sequence[tuple[str, str]] = ()


Application = Callable[[Request], Response]
"""Answers the requests of a listener, in several threads. An exception becomes the answer 500."""


def chunks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the pieces in chunks of `CHUNK_BYTES`; the last chunk may be smaller."""
    waiting, size = [], 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= CHUNK_BYTES:
            whole = b"".join(waiting)
            yield from (whole[at : at + CHUNK_BYTES] for at in range(0, size - CHUNK_BYTES + 1, CHUNK_BYTES))
            waiting = [whole[size - size % CHUNK_BYTES :]]
            size %= CHUNK_BYTES
    if size:
        yield b"".join(waiting)
