"""Reads the metrics of each group from the text of the observer's ``/metrics``. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rebalance_agent.metrics.export.parsed_text import ParsedSample, parsed_samples

__all__ = ["GroupNow", "read_groups"]

_PREFIX = "kafka_rebalance_"


@dataclass(frozen=True, slots=True)
class GroupNow:
    """One group's metrics; None where the observer has no sample. ``owned``: client id -> number of partitions."""

    state: str | None = None
    group_type: str | None = None
    assignor: str | None = None
    source: str | None = None
    generation: int | None = None
    members: int | None = None
    idle_members: int | None = None
    skew: float | None = None
    rebalancing_seconds: float = 0.0
    completed: int = 0
    moved: int = 0
    owned: Mapping[str, int] = field(default_factory=dict)

    @property
    def stable(self) -> bool:
        """Whether the group is Stable and no rebalance is in progress."""
        return self.state == "Stable" and not self.rebalancing_seconds


_COUNTS = {
    "generation": "generation",
    "members": "members",
    "idle_members": "idle_members",
    "completed_total": "completed",
    "partitions_moved_total": "moved",
}
_NUMBERS = {"assignment_skew_ratio": "skew", "in_progress_seconds": "rebalancing_seconds"}
_INFO = ("group_type", "assignor", "source")


def read_groups(text: str) -> dict[str, GroupNow]:
    """Return the groups by name from the text of a scrape.

    Raises:
        ValueError: the text is not in Prometheus' exposition format.
    """
    samples: dict[str, list[ParsedSample]] = {}
    for sample in parsed_samples(text):
        if sample.name.startswith(_PREFIX) and (group := sample.labels.get("consumergroup")):
            samples.setdefault(group, []).append(sample)
    return {group: _group(some) for group, some in samples.items()}


def _group(samples: Iterable[ParsedSample]) -> GroupNow:
    fields: dict[str, Any] = {"owned": {}}
    for sample in samples:
        labels, value = sample.labels, sample.value
        match sample.name.removeprefix(_PREFIX):
            case "group_state" if value:
                fields["state"] = labels["state"]
            case "group_info":
                fields |= {name: labels[name] for name in _INFO if name in labels}
            case "owner_partitions":
                fields["owned"][labels["client_id"]] = int(value)
            case name if name in _COUNTS:  # rebalances are counted by trigger
                fields[_COUNTS[name]] = fields.get(_COUNTS[name], 0) + int(value)
            case name if name in _NUMBERS and labels.get("weight", "partitions") == "partitions":
                fields[_NUMBERS[name]] = value
    return GroupNow(**fields)
