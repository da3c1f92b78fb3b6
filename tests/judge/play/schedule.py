"""The order of faults: each lane plays its faults in rounds, in an order that follows from the seed."""

from __future__ import annotations

import math

LANES = (("coordinator killed", "leaders moved", "outage"), ("observer killed", "open transactions"))
"""The lanes: the faults of brokers, and those that happen at the same time."""

FAULTS = tuple(name for lane in LANES for name in lane)
REST_S = (14.0, 30.0)
"""Seconds between two faults of a lane (from, to): members need quiet times, too."""

ENOUGH, ENOUGH_MINUTES = 7, 15
"""Least plays of each fault in a run of this many minutes: three such runs have each fault at least 20 times."""


def lanes(only=None):
    """Return the lanes of the faults ``only``, or of all."""
    chosen = FAULTS if only is None else only
    found = (tuple(name for name in lane if name in chosen) for lane in LANES)
    return [lane for lane in found if lane]


def rounds(lane, chance):
    """Yield the faults of a lane without end: each comes once in a round, so that none is rare."""
    while True:
        yield from chance.sample(lane, len(lane))


def enough(minutes):
    """Return how often a run of this length plays each fault at least, even if the run takes longer then."""
    return math.ceil(ENOUGH * minutes / ENOUGH_MINUTES)
