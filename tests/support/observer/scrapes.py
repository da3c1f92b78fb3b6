"""Parses a text of /metrics as a scraper does, with the same errors."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter

from prometheus_client.parser import text_string_to_metric_families

PROMTOOL = os.environ.get("REBALANCE_AGENT_PROMTOOL") or shutil.which("promtool")


def families(text: bytes):
    """Families by name in the order of the page; asserts that no family and no series is duplicated."""
    assert text.endswith(b"\n") or not text, "the last line has no end"
    decoded = text.decode()
    headers = [line.split(" ")[2] for line in decoded.split("\n") if line.startswith("# TYPE ")]
    assert len(headers) == len(set(headers)), "a family is duplicated"
    found = list(text_string_to_metric_families(decoded))
    series = Counter((each.name, tuple(sorted(each.labels.items()))) for family in found for each in family.samples)
    assert not [key for key, number in series.items() if number > 1], "a series is duplicated"
    return dict(zip(headers, found, strict=True))


def values(text: bytes):
    """(sample name, label values in the order written) -> value."""
    return {
        (each.name, *each.labels.values()): each.value for family in families(text).values() for each in family.samples
    }


def promtool_says(text: bytes) -> str:
    """The output of ``promtool check metrics``; empty without promtool."""
    if PROMTOOL is None:
        return ""
    done = subprocess.run([PROMTOOL, "check", "metrics"], input=text, capture_output=True, check=False)
    return (done.stdout + done.stderr).decode()
