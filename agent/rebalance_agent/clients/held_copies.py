"""Which copies a consumer says it has: what its application reports, or else what it was last asked to keep."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Iterable, Mapping

from rebalance_agent.assignors.units.standbys import topic_name
from rebalance_agent.model.partitions import PARTITION_MAX, TopicPartitions

__all__ = ["REPORT_MAX", "HeldCopies", "HeldStandbys"]

_logger = logging.getLogger(__name__)

REPORT_MAX = 100_000
"""Partitions of one report: 400 kB on the wire. What all members say has to fit into one record of the coordinator's,
which takes 1 MB by default."""

HeldStandbys = Callable[[], Mapping[str, Iterable[int]]]
"""Topic -> the partitions that the application has a copy of, good enough to take over with.

The consumer asks before each join, while the group waits: the application answers from what it knows already.
"""


class HeldCopies:
    """What one consumer says of its copies. A report that is none is logged once, until there is a good one again."""

    def __init__(self, report: HeldStandbys | None, group: str) -> None:
        """Ask ``report``, if there is one, for a member of ``group``."""
        self._report = report
        self._group = group
        self._complained = False

    def held(self, assigned: TopicPartitions) -> TopicPartitions:
        """The copies that are reported; ``assigned`` where nobody reports, or nothing that can be used."""
        if self._report is None:
            return assigned
        try:
            held = _checked(self._report())
        except Exception as error:
            if not self._complained:
                text = "group %s: held_standbys is not used, what was last assigned is said instead"
                _logger.warning(text, self._group, exc_info=error)
            self._complained = True
            return assigned
        self._complained = False
        return held


def _checked(report: Mapping[str, Iterable[int]]) -> TopicPartitions:
    room = REPORT_MAX
    held: dict[str, tuple[int, ...]] = {}
    for topic, numbers in report.items():
        checked: set[int] = set()
        for number in numbers:
            room -= 1
            if room < 0:
                raise ValueError(f"more than {REPORT_MAX} partitions")
            if not 0 <= operator.index(number) < PARTITION_MAX:
                raise ValueError(f"{topic}: {number} is no number of a partition")
            checked.add(operator.index(number))
        if checked:
            held[topic_name(topic)] = tuple(sorted(checked))
    return dict(sorted(held.items()))
