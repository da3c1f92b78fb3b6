"""Two different names never look the same in a label or on a page."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rebalance_agent.metrics.export.text import TextFormat
from rebalance_agent.ui.words import escaped
from rebalance_agent.visible_names import visible

PIECES = ["\\", "\ud800", "\udfff", "ud800", "udfff", "u", "d800", "a", "n", '"', "\n", "\U00010000", "\\\\ud800"]
NAMES = st.lists(st.sampled_from(PIECES), max_size=6).map("".join) | st.text(st.characters(), max_size=8)


def names_back(text):
    """The name from which `visible` made this text."""
    found = re.compile(r"(\\+)(ud[89a-f][0-9a-f]{2})")

    def read(match):
        number, rest = len(match[1]), match[2]
        return "\\" * (number // 2) + (chr(int(rest[1:], 16)) if number % 2 else rest)

    return found.sub(read, text)


@given(NAMES)
@example("a\ud800")
@example("a\\ud800")
@example("\\\ud800")
@example("\\\\ud800")
def test_the_name_follows_from_its_text_so_no_two_names_have_the_same(name):
    text = visible(name)
    text.encode()
    assert names_back(text) == name


WAYS = {
    "label": lambda name: TextFormat(name).lines([("a", (("l", name),), 1.0)]),
    "page": escaped,
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("one", ["a\ud800", "\\\ud800"])
def test_a_name_and_its_literal_escape_differ(way, one):
    other = one.replace("\ud800", "\\ud800")
    assert way(one) != way(other)


@given(NAMES, NAMES)
def test_two_names_are_two_label_values(one, other):
    def label(name):
        return TextFormat().lines([("a", (("l", name),), 1.0)])

    assert (label(one) == label(other)) == (one == other)


def test_usual_names_are_unchanged():
    for name in ("orders", "b\xfccher", "C:\\users\\ud", "a\\b", "\\\\host", "\U0001f600"):
        assert visible(name) == name
