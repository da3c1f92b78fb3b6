"""``copartitioned-sticky``: assigns co-partitioned topics together, with standbys for their state.

Topics with equal partition counts and equal subscribers belong together. Partition ``n`` of all these topics is one
unit and goes to one member, as in Faust's assignor. ``unit_assignment`` lists the criteria in order.
"""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.assignors.replay_limits import ReplayLimits
from rebalance_agent.assignors.roster import Roster
from rebalance_agent.assignors.strategy_settings import Setting
from rebalance_agent.assignors.units.standbys import STATE_FACTOR_MAX, state_factor, topic_name
from rebalance_agent.assignors.units.unit_strategy import unit_strategy
from rebalance_agent.assignors.units.units import UnitKind

__all__ = ["CHANGELOG_TOPICS", "COPARTITIONED_STICKY"]


def _changelogs(text: str) -> dict[str, str]:
    changelogs: dict[str, str] = {}
    for entry in text.split(",") if text.strip() else ():
        source, equals, changelog = entry.partition("=")
        name = topic_name(changelog if equals else source)
        if name in changelogs:
            raise ValueError(f"{name} appears twice")
        changelogs[name] = topic_name(source)
    return changelogs


CHANGELOG_TOPICS: Setting[Mapping[str, str]] = Setting(
    name="assignment.changelog.topics",
    default={},
    meaning="the topics that standbys copy; a changelog without subscribers is given with its topic: topic=changelog; "
    "without this setting, standbys copy all topics",
    values="topics separated by commas, each as changelog or topic=changelog",
    read=_changelogs,
    shared=True,
)
"""The setting's value: changelog -> the topic whose state it holds; a topic that is its own changelog maps to
itself."""


def _wanted_changelogs(roster: Roster) -> dict[str, int]:
    """Return separate changelog topic -> number of partitions: that of the topic whose state the changelog holds.

    The number is 0 if it is unknown because the topic has no metadata.
    """
    counts = dict(zip(roster.topics, roster.partitions, strict=True))
    changelogs = roster.shared_by_all(CHANGELOG_TOPICS)
    return {changelog: counts.get(source, 0) for changelog, source in changelogs.items() if changelog != source}


def _kinds(roster: Roster) -> list[UnitKind]:
    changelogs = roster.shared_by_all(CHANGELOG_TOPICS)
    subscribed = set(roster.topics)
    kinds = []
    for topics in roster.copartitions():
        names = {roster.topics[topic] for topic in topics}
        count = roster.metadata[topics[0]].partitions
        copied = sorted(names)
        if changelogs:
            # A topic with partitions assigned to other members as active is not a copy.
            elsewhere = subscribed - names
            copied = [name for name, source in changelogs.items() if source in names and name not in elsewhere]
        kinds.append(UnitKind(topics, roster.subscribers[topics[0]], count, dict.fromkeys(copied, count)))
    return kinds


COPARTITIONED_STICKY = unit_strategy(
    "copartitioned-sticky",
    "assigns the same partition number of all topics with equal partition counts to one member, balanced and with the "
    "fewest moves; standbys are on other members, which take over",
    _kinds,
    lambda roster: range(len(roster.members)),
    state_factor=state_factor(STATE_FACTOR_MAX),
    config=(CHANGELOG_TOPICS,),
    internal_topics=_wanted_changelogs,
    replay_limits=ReplayLimits(
        unrecorded="with standbys it needs settings of the leader, which events do not contain",
        unrecorded_with_user_data=True,
        equal_counts=True,
    ),
)
