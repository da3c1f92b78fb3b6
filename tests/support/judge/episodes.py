"""Events and stalls as the judge reads them, for tests of its verdicts."""

from __future__ import annotations

from judge.evidence.reported import Reported
from judge.evidence.spans import Span

AT = 100_000
"""End of an episode (epoch ms)."""


def reported(number=1, at_ms=AT, lower=1.0, upper=3.0, **more):
    """An event of group ``g`` that closes an episode, with these bounds (seconds)."""
    values = {
        "id": f"{number}-{at_ms}",
        "revision": 0,
        "kind": "generation",
        "group": "g",
        "closes": True,
        "members": 1,
    }
    return Reported(number=number, at_ms=at_ms, lower_s=lower, upper_s=upper, **{**values, **more})


def span(longest=2.0, *, shortest=None, until=AT, given=None, reason="revoked", **more):
    """A stall of a partition of group ``g`` for ``longest`` seconds until ``until``."""
    first = until - longest * 1000
    last = until - (longest if shortest is None else shortest) * 1000
    given = until if given is None else given
    return Span("t-0", first, last, until, reason, "a", "b", "b", given=given, idle_since=first, **more)
