"""``python -m docs.developers.writers.kafkas_sticky``: writes a table into ``docs/strategies/sticky.md``.

It compares our sticky assignors with Kafka's own Java classes, which it downloads, and needs the test support
(``PYTHONPATH=agent:tests``).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docs.developers.writers.tables import replace_tables

__all__ = ["PAGE", "sticky_table"]

PAGE = Path(__file__).parents[2] / "strategies" / "sticky.md"


def sticky_table(comparisons: Mapping[str, Any]) -> str:
    """Return the table: a column for each strategy, whose value has the counts of groups and partitions."""
    lines = [
        ("random groups", "groups"),
        ("the same assignment", "same"),
        ("another assignment, with equal loads and equally many moves", "as_good"),
        ("Kafka's class balances the loads worse", "less_balanced"),
        ("additional partitions of the most loaded members with Kafka's class, in total", "above"),
        ("Kafka's class has equal loads but moves more partitions", "more_moves"),
        ("unnecessary moves of Kafka's class, in total", "needless"),
        ("Kafka's class needs more rebalances", "more_rounds"),
        ("our class has worse loads, or more moves for equal loads", "ours_worse"),
    ]
    head = f"| groups | {' | '.join(f'`{name}`' for name in comparisons)} |\n|{' --- |' * (1 + len(comparisons))}\n"
    rows = (
        f"| {text} | {' | '.join(f'{getattr(each, field):,}' for each in comparisons.values())} |\n"
        for text, field in lines
    )
    return head + "".join(rows)


if __name__ == "__main__":
    from support.assignors.kafkas_sticky import KAFKAS_CLASS, compare  # type: ignore[import-not-found] # not installed

    found = {name: compare(name) for name in KAFKAS_CLASS}
    PAGE.write_text(replace_tables(PAGE.read_text(encoding="utf-8"), (sticky_table(found),)), encoding="utf-8")
