"""Defines a span as a value, and derives the ids of traces and spans.

Attributes have the names of OpenTelemetry's semantic conventions for messaging (1.43: ``messaging.*``, ``k8s.*``) if
there are such names; the names of all other attributes begin with ``kafka.``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_agent.model.group_event import digest
from rebalance_agent.model.reported.workload import Workload

__all__ = [
    "ROOT",
    "TIME_MS_MAX",
    "Attributes",
    "Link",
    "Span",
    "group_attributes",
    "known_attributes",
    "representable",
    "span_id",
    "trace_id",
]

Attributes = Mapping[str, str | int | float | bool | tuple[str, ...]]

TIME_MS_MAX = (2**63 - 1) // 1_000_000
"""Latest time in epoch milliseconds that fits into OTLP's nanoseconds."""

ROOT = "rebalance"
"""Name of the span of a whole generation, the root of its trace."""

_SPAN_ID_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Link:
    """A reference to a span of another trace; the ids are those of that `Span`."""

    trace_id: str
    span_id: str


@dataclass(frozen=True, slots=True)
class Span:
    """One span. Times are epoch milliseconds; ``trace_id`` has 32 hexadecimal digits, span ids have 16.

    ``parent_id``: None for the root of a trace. ``error``: why the operation failed; None if it succeeded.
    """

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    start_ms: int
    end_ms: int
    attributes: Attributes = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    error: str | None = None


def representable(start_ms: int, end_ms: int) -> bool:
    """Return whether the times are in order and fit into OTLP; members may report invalid times."""
    return 0 <= start_ms <= end_ms <= TIME_MS_MAX


def trace_id(cluster_id: str, group: str, generation: int) -> str:
    """Return the trace id of one generation or group epoch.

    A group that was deleted and created again repeats its generations, and therefore also these ids; the times differ.
    """
    return digest("trace", cluster_id, group, generation)


def span_id(trace: str, name: str, *parts: str | int) -> str:
    """Return the id of the span ``name`` in ``trace``; ``parts`` distinguish spans with the same name."""
    return digest(trace, name, *parts)[:_SPAN_ID_DIGITS]


def group_attributes(cluster_id: str, group: str, generation: int, where: Workload | None = None) -> Attributes:
    """Return the attributes that all spans of a generation have; ``where``: the workload of a member."""
    place = {
        "k8s.pod.name": where.pod,
        "k8s.node.name": where.node,
        "kafka.member.workload": where.workload,
        "container.image.name": where.image,
    } if where else {}  # fmt: skip
    texts = {
        "messaging.system": "kafka",
        "messaging.consumer.group.name": group,
        "kafka.cluster.id": cluster_id,
        **place,
    }
    return {name: text for name, text in texts.items() if text} | {"kafka.rebalance.generation": generation}


def known_attributes(facts: Mapping[str, str | int | float | bool | tuple[str, ...] | None]) -> Attributes:
    """Return ``facts`` without those that are None."""
    return {name: value for name, value in facts.items() if value is not None}
