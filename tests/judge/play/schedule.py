"""Which fault comes when: each lane plays its faults in rounds, in an order that follows from the seed."""

from __future__ import annotations

import math

LANES = (("coordinator killed", "leaders moved", "outage"), ("observer killed", "open transactions"))
"""What happens to brokers, and what happens beside it."""

FAULTS = tuple(name for lane in LANES for name in lane)
REST_S = (14.0, 30.0)
"""Between two faults of a lane (from and to): members need quiet times, too."""

ENOUGH, ENOUGH_MINUTES = 7, 15
"""Three runs of so many minutes have each fault 20 times."""


def lanes(only=None):
    """The lanes of the faults ``only``, or of all."""
    chosen = FAULTS if only is None else only
    found = (tuple(name for name in lane if name in chosen) for lane in LANES)
    return [lane for lane in found if lane]


def rounds(lane, chance):
    """The faults of a lane without end: each comes once in a round, so that none is rare."""
    while True:
        yield from chance.sample(lane, len(lane))


def enough(minutes):
    """How often a run of this length plays each fault at least, though it takes longer then."""
    return math.ceil(ENOUGH * minutes / ENOUGH_MINUTES)
