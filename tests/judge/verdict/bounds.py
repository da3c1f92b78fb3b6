"""Compares bounds with the truth, and returns which are false, and by how much.

Tolerances: a real stall may be 25 ms above the upper bound (150 ms if a broker's timer removed the member, because the
stall includes the timer's step), 5 ms below the lower one; an exact one may differ by 50 ms.
"""

from __future__ import annotations

from dataclasses import dataclass

ABOVE_S, ABOVE_TIMER_S, BELOW_S, EXACT_S = 0.025, 0.150, 0.005, 0.050
TIMED = ("killed", "stopped")
UPPER, LOWER, EXACT, RECORD = "upper too low", "lower too high", "exact is wrong", "holds to the record only"
SECONDS_LOW, SECONDS_HIGH = "partition-seconds' lower too high", "partition-seconds' upper too low"


@dataclass
class Judged:
    """The verdict on one event's bounds: ``wrong`` is empty if they hold; ``off_s``: the error in seconds."""

    episode: object
    wrong: tuple = ()
    off_s: float = 0.0
    unsure: bool = False


def judged(episode, *, static=False, slack_s=0.0):
    """Return the verdict on one episode; None if it reports no stall and there was none.

    ``static``: members close without leaving. ``slack_s`` is added to each tolerance: processes may not be scheduled
    for that long.
    """
    reported = episode.reported
    if not reported.bounded:
        return None if not episode.spans or not reported.members else Judged(episode)
    wrong, off = [], 0.0
    timed = episode.longest is not None and episode.longest.reason in TIMED + (("closing",) if static else ())
    above = (ABOVE_TIMER_S if timed else ABOVE_S) + slack_s
    below, exact = BELOW_S + slack_s, EXACT_S + slack_s
    least, most = episode.real_least_s, max(episode.real_most_s, episode.ever_s)
    if reported.exact and (least > reported.upper_s + exact or most < reported.lower_s - exact):
        wrong, off = [EXACT], max(least - reported.upper_s, reported.lower_s - most)
    elif least > reported.upper_s + above and not reported.exact:
        holds = episode.to_the_record_s <= reported.upper_s + above
        wrong, off = [RECORD if holds else UPPER], least - reported.upper_s
    if most < reported.lower_s - below and not reported.exact:
        wrong, off = [*wrong, LOWER], max(off, reported.lower_s - most)
    wrong += _partition_seconds(episode, slack_s)
    if episode.unsure or (episode.stale and wrong and UPPER not in wrong and RECORD not in wrong):
        return Judged(episode, (), 0.0, unsure=True)
    return Judged(episode, tuple(wrong), off)


def _partition_seconds(episode, slack_s):
    """Compare the bounds of partition-seconds, if an event has both; the tolerance counts for each partition."""
    reported, count = episode.reported, len(episode.spans) + len(episode.open)
    if reported.stalled_s is None or reported.stalled_upper_s is None:
        return []
    wrong = []
    least, most = (sum(getattr(span, name) for span in episode.spans) for name in ("shortest_s", "longest_s"))
    most += sum(max(0.0, episode.reported.at_ms - span.earliest) / 1000 for span in episode.open)
    if least > reported.stalled_upper_s + (ABOVE_TIMER_S + slack_s) * count:
        wrong.append(SECONDS_HIGH)
    if most < reported.stalled_s - (BELOW_S + slack_s) * max(1, count) - 0.001:
        wrong.append(SECONDS_LOW)
    return wrong
