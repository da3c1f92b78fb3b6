"""Standby copies of a consumer: those that its application reports, or by default those it was last assigned."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Iterable, Mapping

from rebalance_agent.assignors.units.standbys import topic_name
from rebalance_agent.model.partitions import PARTITION_MAX, TopicPartitions

__all__ = ["REPORT_MAX", "HeldCopies", "HeldStandbys"]

_logger = logging.getLogger(__name__)

REPORT_MAX = 100_000
"""Maximum number of partitions in one report: 400 kB on the wire. The subscriptions of all members have to fit into one
record of the coordinator, which takes 1 MB by default."""

HeldStandbys = Callable[[], Mapping[str, Iterable[int]]]
"""Function that returns topic -> the partitions of which the application has a sufficiently recent copy to take over.

The consumer calls it before each join, while the group waits, so it must not block.
"""


class HeldCopies:
    """The standby copies of one consumer. An invalid report is logged once, until a valid one follows."""

    def __init__(self, report: HeldStandbys | None, group: str) -> None:
        """``report`` returns the copies of a member of ``group``; None if the application does not report them."""
        self._report = report
        self._group = group
        self._warned = False

    def held(self, assigned: TopicPartitions) -> TopicPartitions:
        """Return the reported copies; ``assigned`` without a report, or if the report is invalid."""
        if self._report is None:
            return assigned
        try:
            held = _checked(self._report())
        except Exception as error:
            if not self._warned:
                text = "group %s: held_standbys is not used, the last assignment is reported instead"
                _logger.warning(text, self._group, exc_info=error)
            self._warned = True
            return assigned
        self._warned = False
        return held


def _checked(report: Mapping[str, Iterable[int]]) -> TopicPartitions:
    remaining = REPORT_MAX
    held: dict[str, tuple[int, ...]] = {}
    for topic, numbers in report.items():
        checked: set[int] = set()
        for number in numbers:
            remaining -= 1
            if remaining < 0:
                raise ValueError(f"more than {REPORT_MAX} partitions")
            if not 0 <= operator.index(number) < PARTITION_MAX:
                raise ValueError(f"{topic}: {number} is not a partition number")
            checked.add(operator.index(number))
        if checked:
            held[topic_name(topic)] = tuple(sorted(checked))
    return dict(sorted(held.items()))
