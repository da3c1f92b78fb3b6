"""Faults that are planted among a quiet fleet: each in a group of its own, one after the other."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from support.replay.fault import FROM, Fault
from support.replay.faults import FAULTS

__all__ = ["PLANTED", "Planted"]

FIRST, APART = 6 * 3600, 1200
"""The first fault begins at 06:00, the others 20 minutes after each other: up to four run at the same time."""

LONGEST = 4 * 3600
"""Longer faults are in ``tests/slow/alerts/test_long_replays.py``."""


@dataclass(frozen=True)
class Planted:
    """A fault that begins at ``at``, in seconds since the start of the fleet's replay."""

    fault: Fault
    at: int

    @property
    def group(self):
        return f"planted-{self.fault.alert}"

    def series(self, scrape):
        """The series of the fault's group, which exists from some minutes before the fault until some after it."""
        later = (self.at - FROM) // scrape
        return {
            re.sub(r'consumergroup="[^"]*"', f'consumergroup="{self.group}"', name): {
                number + later: value for number, value in values.items()
            }
            for name, values in self.fault.series(self.fault.until, scrape).items()
            if "consumergroup=" in name
        }

    def spans(self, spans):
        """The spans of this group, with times as in a replay of the fault alone."""
        return [
            replace(span, began=span.began - self.at + FROM, ended=span.ended - self.at + FROM)
            for span in spans
            if span["consumergroup"] == self.group
        ]


PLANTED = tuple(
    Planted(fault, FIRST + APART * number)
    for number, fault in enumerate(
        fault for fault in FAULTS if fault.alert.startswith("KafkaGroup") and fault.until <= LONGEST
    )
)
"""One for each alert on groups."""
