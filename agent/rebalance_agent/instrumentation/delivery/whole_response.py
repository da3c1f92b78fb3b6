"""Defines an HTTP response whose head must be complete and short, which ``http.client`` does not check."""

from __future__ import annotations

import http.client
import io
from typing import Any

__all__ = ["LINES_MAX", "WholeResponse"]

LINES_MAX = 200
"""Maximum number of lines that are read of a response: twice the headers that ``http.client`` accepts. It skips interim
responses such as 100 Continue without a limit, so a sidecar that sends these as fast as it can would use a core."""


class WholeResponse(http.client.HTTPResponse):
    """A response whose head ends with an empty line. Without it, a status may be that of a cut or garbled answer."""

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401 - passed on as they are
        """Start to read from the socket; see the base class."""
        super().__init__(*arguments, **named)
        self.fp = self._lines = _LastLine(self.fp.detach())

    def begin(self) -> None:
        """Read the head.

        Raises:
            HTTPException: it is malformed, not complete, or has more than `LINES_MAX` lines with its interim responses.
        """
        super().begin()
        if self._lines.last_line not in (b"\r\n", b"\n"):
            raise http.client.HTTPException("the head of the response is not complete")


class _LastLine(io.BufferedReader):
    """A reader that keeps the last line that was read, and reads at most `LINES_MAX` lines."""

    last_line = b""
    lines_left = LINES_MAX

    def readline(self, size: int | None = -1, /) -> bytes:
        if not self.lines_left:
            raise http.client.HTTPException(f"the response has more than {LINES_MAX} lines")
        self.lines_left -= 1
        self.last_line = super().readline(size)
        return self.last_line
