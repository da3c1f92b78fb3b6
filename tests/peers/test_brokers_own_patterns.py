"""The statements about RE2 hold for re2j, the library by which brokers match topic patterns."""

from __future__ import annotations

import pytest

from rebalance_agent.advice.migration.re2_patterns import not_in_re2
from support.migration.patterns import REFUSED, TAKEN

jpype = pytest.importorskip("jpype", reason="runs Java in this process")
from support.kafka.kafkas_java import start_java  # noqa: E402 - needs jpype

pytestmark = pytest.mark.integration


def test_the_brokers_library_agrees_on_each_pattern():
    start_java()
    compile_pattern = jpype.JClass("com.google.re2j.Pattern").compile
    refused = set()
    for pattern in (*REFUSED, *TAKEN):
        try:
            compile_pattern(pattern)
        except jpype.JException:
            refused.add(pattern)
    assert refused == {pattern for pattern in (*REFUSED, *TAKEN) if not_in_re2(pattern)}
