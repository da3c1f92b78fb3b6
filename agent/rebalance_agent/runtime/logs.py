"""Structured logs on stderr: JSON lines for machines, colours for a person at a terminal."""

from __future__ import annotations

import logging
import sys
from typing import Any, TextIO

import structlog

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
            structlog.dev.ConsoleRenderer(colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback),
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

    Of the text itself only: values the renderer escapes, and so does JSON.
    """
    text = str(record["event"])
    if not text.isprintable():
        record["event"] = "".join(
            each if each.isprintable() else each.encode("unicode_escape", "surrogatepass").decode("ascii")
            for each in text
        )
    return record
