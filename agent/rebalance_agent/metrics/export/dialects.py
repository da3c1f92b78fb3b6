"""Defines the text formats of /metrics, and selects format and compression from a scraper's HTTP headers.

Sources: https://prometheus.io/docs/instrumenting/exposition_formats/ and the OpenMetrics 1.0 specification.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from enum import Enum

__all__ = ["Dialect", "Page", "accepts_gzip", "choose_dialect"]

_QUALITY = re.compile(r"(0(\.\d{0,3})?|1(\.0{0,3})?)")
_OPENMETRICS_VERSIONS = ("", "1.0.0")
_TEXT_RANGES = ("text/plain", "text/*", "*/*")
"""Media ranges that include Prometheus' text format, the most specific range first; it decides (RFC 9110, 12.5.1)."""


class Dialect(Enum):
    """A text format; the value is its content type. Formats differ in headers and exemplars, but not in samples.

    ``PUSHED`` is Prometheus' format for the metrics that the process itself pushes over OTLP. It counts as a separate
    reader: a new series is 0 in its first push (`Instruments`), whether or not scrapers have seen it. No scraper can
    request it.
    """

    PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
    OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
    PUSHED = "text/plain; version=0.0.4; charset=utf-8; pushed"

    @property
    def end(self) -> bytes:
        """Return the last line of the text; empty if the format has no last line."""
        return b"# EOF\n" if self is Dialect.OPENMETRICS else b""


Page = Callable[[Dialect], bytes | list[bytes]]
"""Writes complete metric families with headers; families of thousands of groups come in pieces, never joined."""


def choose_dialect(accept: str) -> Dialect:
    """Return the format for an ``Accept`` header; OpenMetrics only if its quality is at least that of plain text."""
    openmetrics, text = 0.0, dict.fromkeys(_TEXT_RANGES, math.nan)
    for name, parameters, quality in _ranges(accept):
        if name == "application/openmetrics-text" and parameters.get("version", "") in _OPENMETRICS_VERSIONS:
            openmetrics = max(openmetrics, quality)
        elif name in text:
            text[name] = max(quality, text[name]) if text[name] >= 0 else quality
    plain = next((quality for quality in text.values() if quality >= 0), 0.0)
    return Dialect.OPENMETRICS if openmetrics > 0 and openmetrics >= plain else Dialect.PROMETHEUS


def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether ``Accept-Encoding`` names gzip with a quality above 0."""
    return any(name == "gzip" and quality > 0 for name, _, quality in _ranges(accept_encoding))


def _ranges(header: str) -> Iterator[tuple[str, dict[str, str], float]]:
    """Yield name, parameters without q, and q of each part of a header; q is 1 if missing, 0 if malformed."""
    for part in header.split(","):
        name, *rest = (piece.strip() for piece in part.lower().split(";"))
        parameters = {
            key.strip(): value.strip().strip('"')
            for key, equals, value in (parameter.partition("=") for parameter in rest)
            if equals
        }
        quality = parameters.pop("q", "1")
        yield name, parameters, float(quality) if _QUALITY.fullmatch(quality) else 0.0
