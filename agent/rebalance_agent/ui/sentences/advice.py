"""One sentence of advice, where the events leave no doubt. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.model.episode import Basis
from rebalance_agent.model.events import Callback, MemberSnapshot
from rebalance_agent.model.group import GroupType, RebalanceProtocol
from rebalance_agent.model.partitions import pairs
from rebalance_agent.ui.sentences.members import identity
from rebalance_agent.ui.sentences.scene import Scene
from rebalance_agent.ui.words import duration, plural

__all__ = ["advice"]

SLOW_CALLBACK_S = 1.0
"""A callback that takes longer holds the others up noticeably."""

SLOW_SHARE = 0.5
"""Share of the stall that a callback must have for it to be the reason."""


def advice(scenes: Sequence[Scene]) -> str:
    """What would have helped most, of what is certain; empty where nothing is. ``scenes`` are oldest first."""
    for find in (_slow_callback, _restart, _eager, _needless):
        if told := find(scenes):
            return told
    return ""


def _slow_callback(scenes: Sequence[Scene]) -> str:
    """The stall is exact, and most of it was one callback."""
    worst: tuple[float, str] | None = None
    for scene in scenes:
        stall = scene.closing.stall
        if stall is None or stall.basis is not Basis.EXACT:
            continue
        for report in scene.reports:
            seconds = (report.timestamp_ms - report.started_ms) / 1000
            member = scene.by_id.get(report.member_id)
            if report.callback is Callback.LEFT or member is None:
                continue
            if seconds >= SLOW_CALLBACK_S and seconds >= SLOW_SHARE * stall.seconds:
                text = (
                    f"make the {report.callback} callback of {scene.name(member)} quicker: it ran {duration(seconds)} "
                    f"of the {duration(stall.seconds)} that partitions stood still."
                )
                worst = max(worst, (seconds, text)) if worst else (seconds, text)
    return worst[1] if worst else ""


def _restart(scenes: Sequence[Scene]) -> str:
    """A client went and came back within its session: static membership needs no rebalance for that (KIP-345)."""
    for index, scene in enumerate(scenes):
        for gone in scene.gone:
            if gone.instance_id is not None or scene.closing.group_type not in (GroupType.CLASSIC, GroupType.CONSUMER):
                continue
            back = _return_of(gone, scenes[index:])
            if back is not None:
                seconds = max(0, back.closing.timestamp_ms - scene.closing.timestamp_ms) / 1000
                when = f"within {duration(max(1.0, seconds))}" if seconds else "at once"
                return (
                    f"{scene.name(gone)} restarted ({when}): with a group.instance.id of its own the group would not "
                    f"rebalance for a restart that is shorter than its session timeout ({_session(gone)})."
                )
    return ""


def _return_of(gone: MemberSnapshot, later: Sequence[Scene]) -> Scene | None:
    """The rebalance in which the only member with that client id came back, if its session would have lasted."""
    session_ms = gone.session_timeout_ms or 0
    for scene in later:
        if scene.closing.timestamp_ms - later[0].closing.timestamp_ms > session_ms:
            return None
        same = [each for each in scene.closing.members if each.client_id == gone.client_id]
        before = [each for each in scene.before.members if each.client_id == gone.client_id] if scene.before else []
        if len(same) == 1 and len(before) <= 1 and same[0].member_id in {each.member_id for each in scene.joined}:
            return scene
    return None


def _session(member: MemberSnapshot) -> str:
    return duration((member.session_timeout_ms or 0) / 1000)


def _eager(scenes: Sequence[Scene]) -> str:
    """Under an eager protocol everything stopped, though most of it stayed where it was."""
    worst: tuple[int, str] | None = None
    for scene in scenes:
        closing, before = scene.closing, scene.before
        if before is None or closing.protocol is not RebalanceProtocol.EAGER:
            continue
        has = {identity(each): pairs(each.assigned) for each in closing.members}
        owners = {each for member in before.members for each in pairs(member.assigned)}
        kept = sum(len(pairs(each.assigned) & has.get(identity(each), set())) for each in before.members)
        if kept:
            text = (
                f"use a cooperative assignor such as {_cooperative(closing.assignor)}: work would have gone on where "
                f"members kept what they had, {plural(kept, 'partition')} of {len(owners)}."
            )
            worst = max(worst, (kept, text)) if worst else (kept, text)
    return worst[1] if worst else ""


def _cooperative(assignor: str | None) -> str:
    """The same strategy's cooperative form, where there is one; else Kafka's own."""
    name = f"cooperative-{assignor}"
    return name if name in STRATEGIES else "cooperative-sticky"


def _needless(scenes: Sequence[Scene]) -> str:
    excess = sum(max(0, each.closing.moved - each.closing.needed) for each in scenes if each.closing.needed is not None)
    if not excess:
        return ""
    return f"a sticky assignor would have moved {plural(excess, 'partition')} fewer for the same balance."
