"""Writes the tasks of a streams group's members (KIP-1071) as text. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from rebalance_agent.api.shapes import GroupMember
from rebalance_agent.model.group import StreamsMember, TaskKind
from rebalance_agent.model.member_changes import identity
from rebalance_agent.model.partitions import TopicPartitions, count_partitions
from rebalance_agent.ui.sentences.named_members import member_names
from rebalance_agent.ui.words import UNKNOWN, listed, plural, printable, shortened

__all__ = ["STREAMS_HEADINGS", "group_tasks_text", "member_cells", "tasks_text"]

STREAMS_HEADINGS = ("tasks", "endpoint", "process")
"""Headings of the cells that `member_cells` returns."""

TASKS_LISTED_MAX = 8
"""Maximum number of tasks of a kind that are listed; further tasks are only counted."""

MEMBERS_LISTED_MAX = 8
"""Maximum number of members in `group_tasks_text`; further members are only counted."""

_KINDS = {TaskKind.ACTIVE: "active", TaskKind.STANDBY: "standby", TaskKind.WARMUP: "warm-up"}


def member_cells(streams: StreamsMember | None) -> tuple[str, str, str]:
    """Return the cells of one member under `STREAMS_HEADINGS`."""
    if streams is None:
        return (UNKNOWN, UNKNOWN, UNKNOWN)
    tasks = tasks_text(streams, tuple(TaskKind)) or UNKNOWN
    return (tasks, printable(streams.endpoint or UNKNOWN), printable(streams.process_id or UNKNOWN))


def tasks_text(streams: StreamsMember, kinds: Iterable[TaskKind]) -> str:
    """Return ``active 0_0, 0_1; standby 1_0``: the tasks of ``kinds``, with Kafka Streams' ids; empty without tasks."""
    return "; ".join(f"{_KINDS[kind]} {_ids(streams.tasks[kind])}" for kind in kinds if streams.tasks[kind])


def group_tasks_text(members: Sequence[GroupMember]) -> str:
    """Return the number of tasks of each kind, and the copies and endpoint of each member; empty for other groups."""
    streams = [(member, member.streams) for member in members if member.streams]
    if not streams:
        return ""
    counts = (
        f"{sum(count_partitions(each.tasks[kind]) for _, each in streams)} {text}" for kind, text in _KINDS.items()
    )
    names = member_names(members)
    texts = [
        f"{names[identity(member)]}: {'; '.join(parts)}"
        for member, each in sorted(streams, key=lambda pair: names[identity(pair[0])])
        if (parts := list(_copies(each)))
    ]
    if len(texts) > MEMBERS_LISTED_MAX:
        further = len(texts) - MEMBERS_LISTED_MAX
        texts = [*texts[:MEMBERS_LISTED_MAX], f"and {plural(further, 'more member')}"]
    return ". ".join([f"Tasks: {listed(list(counts))}", *texts])


def _copies(streams: StreamsMember) -> Iterator[str]:
    if text := tasks_text(streams, (TaskKind.STANDBY, TaskKind.WARMUP)):
        yield text
    if streams.endpoint:
        yield f"endpoint {shortened(printable(streams.endpoint))}"


def _ids(tasks: TopicPartitions) -> str:
    ids = (f"{printable(subtopology)}_{number}" for subtopology, numbers in tasks.items() for number in numbers)
    text = ", ".join(islice(ids, TASKS_LISTED_MAX))
    further = count_partitions(tasks) - TASKS_LISTED_MAX
    return f"{text} and {further} more" if further > 0 else text
