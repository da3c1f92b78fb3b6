"""Structured logs on stderr: JSON lines for machines, colours for a person at a terminal."""

from __future__ import annotations

import io
import logging
import sys
from typing import Any, TextIO

import structlog

from rebalance_agent.ui.words import printable

__all__ = ["configure_logs"]


def configure_logs(level: str, form: str, stream: TextIO | None = None) -> None:
    """Log at ``level`` (debug, info, warning, error) in ``form`` (auto, json, console) to ``stream`` (stderr).

    Records of ``logging`` come out the same way, so that a library's trouble is no stray line among JSON.
    """
    stream = stream or sys.stderr
    console = form == "console" or (form == "auto" and stream.isatty())
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    # Tracebacks without local variables, which structlog would show: passwords are among them.
    render: list[structlog.typing.Processor] = (
        [
            _on_one_line,
            structlog.dev.ConsoleRenderer(colors=stream.isatty(), exception_formatter=_traceback),
        ]
        if console
        else [
            structlog.processors.ExceptionRenderer(structlog.tracebacks.ExceptionDictTransformer(show_locals=False)),
            structlog.processors.JSONRenderer(),
        ]
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *render],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def _on_one_line(_logger: Any, _method: str, record: structlog.typing.EventDict) -> structlog.typing.EventDict:  # noqa: ANN401 - as structlog has it
    """Names from outside (members, topics) begin no line of the log and give a terminal no orders.

    Whether in the text or as a value: the renderer escapes only values with spaces or quotes in them. JSON is safe.
    """
    for key, value in record.items():
        if isinstance(value, str) and not value.isprintable():
            record[key] = printable(value)
    return record


def _traceback(lines: TextIO, error: structlog.typing.ExcInfo) -> None:
    """A traceback without local variables, indented: no line of an error's message begins as a line of the log does."""
    told = io.StringIO()
    structlog.dev.plain_traceback(told, error)
    lines.writelines(f"\n  {printable(line)}".rstrip(" ") for line in told.getvalue().strip("\n").split("\n"))
