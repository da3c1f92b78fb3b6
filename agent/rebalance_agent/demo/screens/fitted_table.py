"""Lays out a table as lines of text that fit the terminal; no cell is cut. Pure."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence

from rebalance_agent.ui.words import UNKNOWN, table_text

__all__ = ["fitted_lines"]

GAP = "  "
"""Text between two columns of `table_text`."""

INDENT = "    "
"""Beginning of lines with the values of columns that do not fit."""


def fitted_lines(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return the heading, a rule and the rows, at most ``width`` characters wide.

    The last columns that do not fit follow below each row, as ``heading: value``, without unknown values. A line breaks
    only between words, so one word may be longer than ``width``.
    """
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    ends = itertools.accumulate(size + len(GAP) for size in widths)
    fitting = max(1, sum(end <= width + len(GAP) for end in ends))
    total = sum(widths[:fitting]) + len(GAP) * (fitting - 1)
    heading, *table = table_text(headings[:fitting], [row[:fitting] for row in rows]).split("\n")
    lines = [heading, "─" * min(total, width)]
    for line, row in zip(table, rows, strict=True):
        lines += [line, *_below(headings[fitting:], row[fitting:], width)]
    return lines


def _below(headings: Sequence[str], cells: Sequence[str], width: int) -> list[str]:
    """Return lines, each with as many values as fit; a value that needs several lines shares no line with others."""
    lines: list[str] = []
    joins = False
    for heading, cell in zip(headings, cells, strict=True):
        if cell == UNKNOWN:
            continue
        value = f"{heading}: {cell}"
        if joins and len(lines[-1]) + len("; ") + len(value) <= width:
            lines[-1] += f"; {value}"
        else:
            wrapped = textwrap.wrap(
                value,
                width,
                initial_indent=INDENT,
                subsequent_indent=2 * INDENT,
                break_long_words=False,
                break_on_hyphens=False,
            )
            joins = len(wrapped) == 1
            lines += wrapped
    return lines
