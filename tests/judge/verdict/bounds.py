"""Compares bounds with the truth: which are false, and by how much.

Tolerances: a real stall may be 25 ms above the upper bound (150 ms where a broker's timer expelled the member, so that
the timer's step is in it), 5 ms below the lower one; an exact one may differ by 50 ms.
"""

from __future__ import annotations

from dataclasses import dataclass

ABOVE_S, ABOVE_TIMER_S, BELOW_S, EXACT_S = 0.025, 0.150, 0.005, 0.050
TIMED = ("killed", "stopped")
UPPER, LOWER, EXACT, RECORD = "upper too low", "lower too high", "exact is wrong", "holds to the record only"
SECONDS_LOW, SECONDS_HIGH = "partition-seconds' lower too high", "partition-seconds' upper too low"


@dataclass
class Judged:
    """``wrong`` is empty if the bounds hold; ``off_s``: the error in seconds."""

    episode: object
    wrong: tuple = ()
    off_s: float = 0.0
    unsure: bool = False


def judged(episode, *, static=False, slack_s=0.0):
    """The verdict on one episode; None if it tells no stall and none was. ``static``: members close without leaving.

    ``slack_s`` is added to each tolerance, where processes are not scheduled for so long.
    """
    told = episode.told
    if not told.bounded:
        return None if not episode.spans or not told.members else Judged(episode)
    wrong, off = [], 0.0
    timed = episode.longest is not None and episode.longest.reason in TIMED + (("closing",) if static else ())
    above = (ABOVE_TIMER_S if timed else ABOVE_S) + slack_s
    below, exact = BELOW_S + slack_s, EXACT_S + slack_s
    least, most = episode.real_least_s, max(episode.real_most_s, episode.ever_s)
    if told.exact and (least > told.upper_s + exact or most < told.lower_s - exact):
        wrong, off = [EXACT], max(least - told.upper_s, told.lower_s - most)
    elif least > told.upper_s + above and not told.exact:
        holds = episode.to_the_record_s <= told.upper_s + above
        wrong, off = [RECORD if holds else UPPER], least - told.upper_s
    if most < told.lower_s - below and not told.exact:
        wrong, off = [*wrong, LOWER], max(off, told.lower_s - most)
    wrong += _partition_seconds(episode, slack_s)
    if episode.unsure or (episode.stale and wrong and UPPER not in wrong and RECORD not in wrong):
        return Judged(episode, (), 0.0, unsure=True)
    return Judged(episode, tuple(wrong), off)


def _partition_seconds(episode, slack_s):
    """Bounds of partition-seconds, where an event has both; each partition has the tolerance."""
    told, count = episode.told, len(episode.spans) + len(episode.open)
    if told.stalled_s is None or told.stalled_upper_s is None:
        return []
    wrong = []
    least, most = (sum(getattr(span, name) for span in episode.spans) for name in ("shortest_s", "longest_s"))
    most += sum(max(0.0, episode.told.at_ms - span.earliest) / 1000 for span in episode.open)
    if least > told.stalled_upper_s + (ABOVE_TIMER_S + slack_s) * count:
        wrong.append(SECONDS_HIGH)
    if most < told.stalled_s - (BELOW_S + slack_s) * max(1, count) - 0.001:
        wrong.append(SECONDS_LOW)
    return wrong
