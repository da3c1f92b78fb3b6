"""One sentence of advice for the last rebalances of a group. Pure; `advice.observed_advice` decides what is said."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_agent.advice.observed_advice import (
    EagerStop,
    ExcessMoves,
    ShortRestart,
    SlowCallback,
    observed_advice,
)
from rebalance_agent.advice.observed_rebalance import ObservedRebalance
from rebalance_agent.ui.words import duration, plural

__all__ = ["advice"]


def advice(rebalances: Sequence[ObservedRebalance]) -> str:
    """The change that would have helped most, where ``rebalances`` (oldest first) prove it; else empty."""
    match observed_advice(rebalances):
        case SlowCallback(member, callback, callback_seconds, stall_seconds):
            return (
                f"make the {callback} callback of {member} quicker: it ran {duration(callback_seconds)} "
                f"of the {duration(stall_seconds)} that partitions stood still."
            )
        case ShortRestart(member, away_seconds, session_seconds):
            when = f"within {duration(max(1.0, away_seconds))}" if away_seconds else "at once"
            return (
                f"{member} restarted ({when}): with a group.instance.id of its own the group would not "
                f"rebalance for a restart that is shorter than its session timeout ({duration(session_seconds)})."
            )
        case EagerStop(kept, owned, cooperative):
            return (
                f"use a cooperative assignor such as {cooperative}: work would have gone on where "
                f"members kept what they had, {plural(kept, 'partition')} of {owned}."
            )
        case ExcessMoves(partitions):
            return f"a sticky assignor would have moved {plural(partitions, 'partition')} fewer for the same balance."
        case None:
            return ""
