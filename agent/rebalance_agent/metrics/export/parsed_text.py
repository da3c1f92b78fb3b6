"""Reads the text of /metrics back into samples: the agents' own pages, scraped by `verify` and the demo. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families

__all__ = ["ParsedSample", "parsed_samples"]


class ParsedSample(NamedTuple):
    """One line of the text: the sample's name (with ``_total``, ``_bucket`` and so on), labels and value."""

    name: str
    labels: Mapping[str, str]
    value: float


def parsed_samples(text: str) -> Iterator[ParsedSample]:
    """Samples in the order of the text, in Prometheus' exposition format.

    Raises:
        ValueError: the text is not in that format; samples before the wrong line have been returned by then.
    """
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            yield ParsedSample(sample.name, sample.labels, sample.value)
