"""Parses the text of /metrics into samples, for `verify` and the demo, which scrape agents. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families

__all__ = ["ParsedSample", "parsed_samples"]


class ParsedSample(NamedTuple):
    """One line of the text: the sample's name (with its suffix: ``_total``, ``_bucket``, ...), labels and value."""

    name: str
    labels: Mapping[str, str]
    value: float


def parsed_samples(text: str) -> Iterator[ParsedSample]:
    """The samples of ``text`` (Prometheus' exposition format), in its order.

    Raises:
        ValueError: the text is not in that format; samples before the malformed line were returned already.
    """
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            yield ParsedSample(sample.name, sample.labels, sample.value)
