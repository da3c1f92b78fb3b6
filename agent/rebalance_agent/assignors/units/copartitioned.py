"""``copartitioned-sticky``: topics that belong together are consumed together, with standbys for their state.

Topics with equal partition counts and equal subscribers form a group; partition ``n`` of all of them is one unit and
goes to one member, as in Faust's assignor. ``unit_assignment`` has the order of what is optimised.
"""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.assignors.balance.promise import Promise
from rebalance_agent.assignors.replay_limits import ReplayLimits
from rebalance_agent.assignors.roster import Plan, Roster
from rebalance_agent.assignors.strategy import Strategy
from rebalance_agent.assignors.strategy_settings import Setting
from rebalance_agent.assignors.units.standbys import (
    NUM_STANDBYS,
    answer_standbys,
    copies_in_answer,
    read_standby_user_data,
    topic_name,
    write_standby_user_data,
)
from rebalance_agent.assignors.units.unit_promise import promise_units
from rebalance_agent.assignors.units.units import UnitKind, copartitions, plan_standbys, plan_units
from rebalance_agent.model.group import RebalanceProtocol

__all__ = [
    "CHANGELOG_TOPICS",
    "COPARTITIONED_STICKY",
    "copartitioned",
    "copartitioned_standbys",
    "promise_copartitioned",
    "wanted_changelogs",
]


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
    meaning="the topics that standbys copy; a changelog that nobody subscribes to is given with a topic whose state it "
    "holds, as topic=changelog; without this, standbys copy all topics",
    values="topics separated by commas, each as changelog or topic=changelog",
    read=_changelogs,
    shared=True,
)
"""Its value: changelog -> the topic whose state it holds, or the same topic if it is its own changelog."""


def copartitioned(roster: Roster) -> Plan:
    """Return the plan of units: balanced by group, then over all groups, then with the fewest moves."""
    return plan_units(roster, _kinds(roster), range(len(roster.members)))


def copartitioned_standbys(roster: Roster, plan: Plan) -> Plan:
    """Return the standby copies beside ``plan``."""
    count = roster.shared_by_all(NUM_STANDBYS)
    return plan_standbys(roster, _kinds(roster), range(len(roster.members)), count, plan)


def promise_copartitioned(roster: Roster) -> Promise:
    """Return each member's share of every group, rounded up as far as all groups together allow."""
    return promise_units(roster, _kinds(roster))


def wanted_changelogs(roster: Roster) -> dict[str, int]:
    """Return the changelogs that are topics of their own -> partitions: as many as the topic has whose state they hold.

    0: not known, because that topic has no metadata.
    """
    counts = dict(zip(roster.topics, roster.partitions, strict=True))
    changelogs = roster.shared_by_all(CHANGELOG_TOPICS)
    return {changelog: counts.get(source, 0) for changelog, source in changelogs.items() if changelog != source}


def _kinds(roster: Roster) -> list[UnitKind]:
    changelogs = roster.shared_by_all(CHANGELOG_TOPICS)
    subscribed = set(roster.topics)
    kinds = []
    for topics in copartitions(roster):
        names = {roster.topics[topic] for topic in topics}
        count = roster.metadata[topics[0]].partitions
        copied = sorted(names)
        if changelogs:
            # A topic that other members are active for is no copy.
            elsewhere = subscribed - names
            copied = [name for name, source in changelogs.items() if source in names and name not in elsewhere]
        kinds.append(UnitKind(topics, roster.subscribers[topics[0]], count, dict.fromkeys(copied, count)))
    return kinds


COPARTITIONED_STICKY = Strategy(
    name="copartitioned-sticky",
    protocol=RebalanceProtocol.EAGER,
    summary="the same partition number of all topics of equal partition count to one member, balanced and with the "
    "fewest moves; standbys on other members, who take over",
    plan=copartitioned,
    promise=promise_copartitioned,
    config=(NUM_STANDBYS, CHANGELOG_TOPICS),
    reader=read_standby_user_data,
    writer=write_standby_user_data,
    standbys=copartitioned_standbys,
    answer=answer_standbys,
    copies_in=copies_in_answer,
    internal_topics=wanted_changelogs,
    cooperative_form=True,
    replay_limits=ReplayLimits(
        unrecorded="with standbys it goes by settings of the leader, which events do not record",
        unrecorded_with_user_data=True,
        equal_counts=True,
    ),
)
