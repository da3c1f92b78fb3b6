"""The causes of a rebalance as one sentence, with the names of members and topics. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.events import Callback, MemberSnapshot
from rebalance_agent.ui.sentences.scene import Scene
from rebalance_agent.ui.words import listed, plural, printable

__all__ = ["why"]


def why(scene: Scene) -> str:
    """One sentence with every cause of the rebalance."""
    parts = [_CAUSES[cause](scene) for cause in scene.closing.causes]
    return f"Why: {'; '.join(dict.fromkeys(parts))}."


def _started(scene: Scene) -> str:
    return f"the group started with {_all(scene, scene.joined)}"


def _failed(scene: Scene) -> str:
    return f"{_all(scene, [each for each in scene.gone if not _reported_leaving(scene, each)])} failed, without a word"


def _left(scene: Scene) -> str:
    leavers = [each for each in scene.gone if _reported_leaving(scene, each)]
    return f"{_all(scene, leavers or scene.gone)} left{_reasons(scene, leavers)}"


def _gone(scene: Scene) -> str:
    return f"{_all(scene, scene.gone)} went (left or failed: members that do not report look the same)"


def _replaced(scene: Scene) -> str:
    if not scene.replaced:
        return "a static member came back"
    return f"{_all(scene, scene.replaced)} came back under {'its' if len(scene.replaced) == 1 else 'their'} instance id"


def _joined(scene: Scene) -> str:
    if scene.before is None:
        return "a member joined (nobody watched the generation before, so nobody can say which)"
    return f"{_all(scene, scene.joined)} joined" if scene.joined else "a member joined and went again"


def _resubscribed(scene: Scene) -> str:
    changed = [new for old, new in scene.changes.stayed if set(new.topics) != set(old.topics)]
    added = sorted({topic for old, new in scene.changes.stayed for topic in set(new.topics) - set(old.topics)})
    dropped = sorted({topic for old, new in scene.changes.stayed for topic in set(old.topics) - set(new.topics)})
    what = [f"now with {_topics(added)}"] * bool(added) + [f"no longer with {_topics(dropped)}"] * bool(dropped)
    who = _all(scene, changed) if changed else "a member"
    return f"{who} changed {'its' if len(changed) <= 1 else 'their'} subscription" + (
        f", {' and '.join(what)}" if what else ""
    )


def _assignor(scene: Scene) -> str:
    before = scene.before.assignor if scene.before else None
    return f"the assignor changed from {before or 'another'} to {scene.closing.assignor or 'none'}"


def _topics_changed(scene: Scene) -> str:
    before = scene.before.topics if scene.before else {}
    added = sorted(scene.closing.topics.keys() - before.keys()) if scene.before else []
    return f"topics appeared: {_topics(added)}" if added else "topics appeared or went"


def _partitions_changed(scene: Scene) -> str:
    before, after = scene.before.topics if scene.before else {}, scene.closing.topics
    grown = [
        f"{printable(topic)} grew from {plural(before[topic], 'partition')} to {after[topic]}"
        for topic in sorted(before.keys() & after.keys())
        if before[topic] != after[topic]
    ]
    return listed(grown) if grown else "a topic's partitions changed"


def _rejoined(scene: Scene) -> str:
    joined = (
        event for member in scene.closing.members for event in scene.reports_of(member.member_id, [Callback.ASSIGNED])
    )
    reasons = {event.reason for event in joined if event.generation == scene.closing.generation}
    return f"members rejoined although nothing had changed{_in_brackets(reasons)}"


_CAUSES: Mapping[Trigger, Callable[[Scene], str]] = {
    Trigger.GROUP_STARTED: _started,
    Trigger.MEMBER_FAILED: _failed,
    Trigger.MEMBER_LEFT: _left,
    Trigger.MEMBER_GONE: _gone,
    Trigger.MEMBER_REPLACED: _replaced,
    Trigger.MEMBER_JOINED: _joined,
    Trigger.SUBSCRIPTION_CHANGED: _resubscribed,
    Trigger.ASSIGNOR_CHANGED: _assignor,
    Trigger.TOPICS_CHANGED: _topics_changed,
    Trigger.PARTITIONS_CHANGED: _partitions_changed,
    Trigger.REJOIN: _rejoined,
    Trigger.UNKNOWN: lambda _scene: "unknown, since nobody watched the generation before",
}


def _reported_leaving(scene: Scene, member: MemberSnapshot) -> bool:
    return bool(scene.reports_of(member.member_id, [Callback.LEFT, Callback.REVOKED]))


def _reasons(scene: Scene, leavers: Sequence[MemberSnapshot]) -> str:
    # The reason in an assigned report is why the member joined, not why it left.
    ended = frozenset(Callback) - {Callback.ASSIGNED}
    return _in_brackets({report.reason for member in leavers for report in scene.reports_of(member.member_id, ended)})


def _in_brackets(reasons: Iterable[str | None]) -> str:
    texts = sorted(printable(reason) for reason in reasons if reason)
    return f" ({listed(texts, 3)})" if texts else ""


def _all(scene: Scene, members: Sequence[MemberSnapshot]) -> str:
    if not members:
        return "a member"
    few = len(members) <= 3  # noqa: PLR2004 - with their hosts, more would be no readable sentence
    names = sorted(scene.described(each) if few else scene.name(each) for each in members)
    return listed(names)


def _topics(topics: list[str]) -> str:
    return listed([printable(topic) for topic in topics])
