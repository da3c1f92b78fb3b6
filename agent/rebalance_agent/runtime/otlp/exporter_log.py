"""Captures the log messages of an SDK exporter, which logs each failed attempt, so that the agent logs one line."""

from __future__ import annotations

import logging
from typing import Self

__all__ = ["ExporterLog"]

REASON_MAX = 300
"""Maximum number of characters kept of a message, which may quote a collector's answer."""


class ExporterLog(logging.Handler):
    """A context manager for one export attempt; it keeps the first message that the exporter's module logs."""

    def __init__(self, module: str) -> None:
        """``module``: the name of the exporter's logger, whose messages no other handler gets from now on."""
        super().__init__()
        self.reason = ""
        self._logger = logging.getLogger(module)
        self._logger.propagate = False

    def __enter__(self) -> Self:
        """Drop the message of the previous attempt, and start capturing."""
        self.reason = ""
        self._logger.addHandler(self)
        return self

    def __exit__(self, *_error: object) -> None:
        """Stop capturing."""
        self._logger.removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the first message."""
        self.reason = self.reason or record.getMessage()[:REASON_MAX]
