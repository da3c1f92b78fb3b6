"""Parses the text of /metrics into samples, for reading agents' metrics and for pushing metrics over OTLP. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from rebalance_agent.metrics.catalogue import BY_NAME
from rebalance_agent.metrics.metric import Metric

__all__ = ["ParsedSample", "parsed_families", "parsed_samples"]

_HELP = b"# HELP "

_SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")


class ParsedSample(NamedTuple):
    """One line of the text: the sample's name (with its suffix: ``_total``, ``_bucket``, ...), labels and value."""

    name: str
    labels: Mapping[str, str]
    value: float


def parsed_samples(text: str) -> Iterator[ParsedSample]:
    """Yield the samples of ``text`` (Prometheus' exposition format) in the order of the text.

    Raises:
        ValueError: the text does not have that format; samples before the malformed line were already yielded.
    """
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            yield ParsedSample(sample.name, sample.labels, sample.value)


def parsed_families(pieces: Iterable[bytes]) -> Iterator[tuple[Metric, Iterator[ParsedSample]]]:
    """Yield the samples of each metric in the text of `TextFormat` that ``pieces`` form, with its row.

    A piece ends at the end of a line. Only one metric's text is joined and parsed at a time, because the whole text of
    thousands of groups has tens of megabytes. The agent's own text has no timestamps and a fixed form, so it is parsed
    three times as fast as other text of the format.
    """
    family: list[bytes] = []
    for piece in pieces:
        for part in _parts(piece):
            if part.startswith(_HELP) and family:
                yield _family(family)
                family = []
            family.append(part)
    if family:
        yield _family(family)


def _parts(piece: bytes) -> Iterator[bytes]:
    """Yield the piece, split before each header."""
    begin = 0
    while (end := piece.find(b"\n" + _HELP, begin) + 1) > 0:
        yield piece[begin:end]
        begin = end
    if begin < len(piece):
        yield piece[begin:]


def _family(parts: list[bytes]) -> tuple[Metric, Iterator[ParsedSample]]:
    name = parts[0].removeprefix(_HELP).partition(b" ")[0].decode()
    return BY_NAME[name], map(_sample, _SAMPLE.finditer(b"".join(parts).decode()))


def _sample(line: re.Match[str]) -> ParsedSample:
    name, labels, value = line.groups()
    pairs = _LABEL.findall(labels or "")
    if "\\" in (labels or ""):
        pairs = [(label, _ESCAPED.sub(_unescaped, text)) for label, text in pairs]
    return ParsedSample(name, dict(pairs), float(value))


def _unescaped(escape: re.Match[str]) -> str:
    return "\n" if escape[1] == "n" else escape[1]
