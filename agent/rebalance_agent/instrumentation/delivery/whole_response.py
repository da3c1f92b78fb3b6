"""Defines an HTTP response whose head must be complete, which ``http.client`` does not check."""

from __future__ import annotations

import http.client
import io
from typing import Any

__all__ = ["WholeResponse"]


class WholeResponse(http.client.HTTPResponse):
    """A response whose head ends with an empty line. Without it, a status may be that of a cut or garbled answer."""

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401 - passed on as they are
        """Start to read from the socket; see the base class."""
        super().__init__(*arguments, **named)
        self.fp = self._lines = _LastLine(self.fp.detach())

    def begin(self) -> None:
        """Read the head.

        Raises:
            HTTPException: it is malformed, or not complete.
        """
        super().begin()
        if self._lines.last_line not in (b"\r\n", b"\n"):
            raise http.client.HTTPException("the head of the response is not complete")


class _LastLine(io.BufferedReader):
    """A reader that keeps the last line that was read."""

    last_line = b""

    def readline(self, size: int | None = -1, /) -> bytes:
        self.last_line = super().readline(size)
        return self.last_line
