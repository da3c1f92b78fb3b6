"""Replays the attacks of a security review whose effect is a quantity, one after the other.

The figures *before* are those of the review of commit 9e4b9f0, on a machine with two cores, and are not measured
here. Memory does not depend on the machine's load; times do. The tests of the other findings are in the threat model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bench.measure import table
from bench.replayed.endless_answers import endless_answers
from bench.replayed.http_attacks import fifo_tokens, large_posts, missing_bodies
from bench.replayed.kafka_attacks import huge_assignments, long_names, member_claims
from bench.replayed.long_line import long_lines
from bench.replayed.replayed_row import ReplayedRow

ATTACKS: tuple[Callable[[float], Iterator[ReplayedRow]], ...] = (
    member_claims,
    huge_assignments,
    missing_bodies,
    large_posts,
    long_names,
    endless_answers,
    long_lines,
    fifo_tokens,
)


def main(scale: float = 1.0) -> None:
    """Print the table."""
    header = ("finding", "attack", "figure", "before, at 9e4b9f0", "now")
    table(header, (row for attack in ATTACKS for row in attack(scale)))
