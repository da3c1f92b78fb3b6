"""``task-sticky``: partitions in tasks, tasks to processes in proportion to their threads, near existing state.

The idea is that of Kafka Streams' assignor. A task is one partition number of a sub-topology's source topics; members
with one process id are the threads of a process. A task goes to the process that ran it, or else to one that has a copy
of its state, as far as balance allows (see ``unit_assignment``), and there to the thread that had it.
"""

from __future__ import annotations

from rebalance_agent.assignors.balance.promise import Promise
from rebalance_agent.assignors.replay_limits import ReplayLimits
from rebalance_agent.assignors.roster import Plan, Roster
from rebalance_agent.assignors.strategy import Strategy
from rebalance_agent.assignors.units.standbys import (
    NUM_STANDBYS,
    PROCESS_ID,
    answer_standbys,
    copies_in_answer,
    read_standby_user_data,
    write_standby_user_data,
)
from rebalance_agent.assignors.units.subtopologies import SUBTOPOLOGIES, SubTopology, wanted_partitions
from rebalance_agent.assignors.units.unit_promise import promise_units
from rebalance_agent.assignors.units.units import UnitKind, copartitions, plan_standbys, plan_units
from rebalance_agent.model.group import RebalanceProtocol

__all__ = ["TASK_STICKY", "promise_tasks", "task_standbys", "tasks", "wanted_internal_topics"]


def tasks(roster: Roster) -> Plan:
    """Return the plan of tasks: balanced by sub-topology, then over all, then with the fewest moves."""
    return plan_units(roster, _kinds(roster), _processes(roster))


def task_standbys(roster: Roster, plan: Plan) -> Plan:
    """Return the standby copies beside ``plan``, in other processes than the task's."""
    return plan_standbys(roster, _kinds(roster), _processes(roster), roster.shared_by_all(NUM_STANDBYS), plan)


def promise_tasks(roster: Roster) -> Promise:
    """Return each thread's share of every sub-topology's tasks, rounded up as far as all of them together allow."""
    return promise_units(roster, _kinds(roster))


def wanted_internal_topics(roster: Roster) -> dict[str, int]:
    """Return repartition and changelog topics -> partitions that they must have; 0: not known."""
    found = dict(zip(roster.topics, roster.partitions, strict=True))
    subtopologies = roster.shared_by_all(SUBTOPOLOGIES)
    return wanted_partitions(subtopologies, found)


def _processes(roster: Roster) -> list[int]:
    """Return each member's process as a number, in member order."""
    numbers: dict[tuple[str, str], int] = {}
    return [
        # A process id that equals another member's id is still not that member's process.
        numbers.setdefault((text, "" if text else member.member_id), len(numbers))
        for member, text in zip(roster.members, roster.of(PROCESS_ID), strict=True)
    ]


def _kinds(roster: Roster) -> list[UnitKind]:
    topic_index = {name: topic for topic, name in enumerate(roster.topics)}
    left = set(topic_index.values())
    kinds = []
    for subtopology in roster.shared_by_all(SUBTOPOLOGIES):
        sources = [topic_index[name] for name in subtopology.sources if name in topic_index]
        left.difference_update(sources)
        kinds += _kinds_of(roster, subtopology, sources)
    for topics in copartitions(roster):
        rest = tuple(topic for topic in topics if topic in left)
        if rest:
            count = roster.metadata[rest[0]].partitions
            copied = dict.fromkeys((roster.topics[topic] for topic in rest), count)
            kinds.append(UnitKind(rest, roster.subscribers[rest[0]], count, copied))
    return kinds


def _kinds_of(roster: Roster, subtopology: SubTopology, sources: list[int]) -> list[UnitKind]:
    """Return one kind of task, or one per set of subscribers while members subscribe to different sources."""
    parts: dict[int, list[int]] = {}
    for topic in sources:
        parts.setdefault(id(roster.subscribers[topic]), []).append(topic)
    kinds = []
    state = None
    partitions = roster.partitions
    for topics in sorted(parts.values(), key=lambda topics: -max(partitions[topic] for topic in topics)):
        units = max(partitions[topic] for topic in topics)
        copied = {roster.topics[topic]: partitions[topic] for topic in topics}
        if subtopology.changelogs is not None:
            # The part with all task numbers has the state. A topic that other members are active for is no copy.
            own = set(copied)
            names = subtopology.changelogs if state is None else ()
            copied = {name: units for name in names if name in own or name not in roster.topics}
        state = True
        kinds.append(UnitKind(tuple(topics), roster.subscribers[topics[0]], units, copied))
    return kinds


TASK_STICKY = Strategy(
    name="task-sticky",
    protocol=RebalanceProtocol.EAGER,
    summary="partitions in tasks, tasks to processes in proportion to their threads, where they ran or their state is; "
    "standbys in other processes",
    plan=tasks,
    promise=promise_tasks,
    config=(NUM_STANDBYS, PROCESS_ID, SUBTOPOLOGIES),
    reader=read_standby_user_data,
    writer=write_standby_user_data,
    standbys=task_standbys,
    answer=answer_standbys,
    copies_in=copies_in_answer,
    internal_topics=wanted_internal_topics,
    cooperative_form=True,
    replay_limits=ReplayLimits(
        unrecorded="it goes by settings of the leader, which events do not record",
        refusal=f"it needs the application's sub-topologies, setting {SUBTOPOLOGIES.name}",
        setting=SUBTOPOLOGIES,
    ),
)
