"""Configures structured logs on stderr: JSON lines, or coloured text on a terminal."""

from __future__ import annotations

import io
import logging
import sys
from typing import Any, TextIO

import structlog

from rebalance_agent.ui.terminal import has_colors
from rebalance_agent.ui.words import printable

__all__ = ["VALUE_MAX", "configure_logs"]

VALUE_MAX = 2_000
"""Maximum number of characters of a message or value in the log: ids of clients and members may have 32,000."""


def configure_logs(level: str, form: str, stream: TextIO | None = None) -> None:
    """Log at ``level`` (debug, info, warning, error) in ``form`` (auto, json, console) to ``stream`` (stderr).

    Records that libraries write with ``logging`` get the same form; kafka-python's are written only at debug.
    """
    stream = stream or sys.stderr
    console = form == "console" or (form == "auto" and stream.isatty())
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    # structlog's tracebacks show local variables by default, and some of these contain passwords.
    render: list[structlog.typing.Processor] = (
        [
            _on_one_line,
            structlog.dev.ConsoleRenderer(colors=has_colors(stream), exception_formatter=_traceback),
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
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _bounded, *render],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    # kafka-python writes lines for each attempt to connect; the code that uses the connections reports failures.
    logging.getLogger("kafka").setLevel(logging.NOTSET if level == "debug" else logging.CRITICAL)
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


def _bounded(_logger: Any, _method: str, record: structlog.typing.EventDict) -> structlog.typing.EventDict:  # noqa: ANN401 - as structlog has it
    """Cut long values: names of members and topics come from outside."""
    for key, value in record.items():
        if isinstance(value, str) and len(value) > VALUE_MAX:
            record[key] = f"{value[:VALUE_MAX]}... ({len(value)} characters)"
    return record


def _on_one_line(_logger: Any, _method: str, record: structlog.typing.EventDict) -> structlog.typing.EventDict:  # noqa: ANN401 - as structlog has it
    """Escape line ends and control characters in values: names of members and topics come from outside.

    The console renderer escapes only values that contain spaces or quotes. JSON is safe without this function.
    """
    for key, value in record.items():
        if isinstance(value, str) and not value.isprintable():
            record[key] = printable(value)
    return record


def _traceback(lines: TextIO, error: structlog.typing.ExcInfo) -> None:
    """Write a traceback without local variables, indented so that no line of it looks like a line of the log."""
    text = io.StringIO()
    structlog.dev.plain_traceback(text, error)
    lines.writelines(f"\n  {printable(line)}".rstrip(" ") for line in text.getvalue().strip("\n").split("\n"))
