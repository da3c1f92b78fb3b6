"""Reads the metrics of each group from the text of the observer's ``/metrics``. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_agent.metrics.export.parsed_text import parsed_samples

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


class _Reading:
    """Collects the samples of one group."""

    def __init__(self) -> None:
        self.labels: dict[str, str] = {}
        self.values: dict[str, float] = {}
        self.owned: dict[str, int] = {}

    def add(self, name: str, labels: Mapping[str, str], value: float) -> None:
        match name:
            case "group_state":
                if value:
                    self.labels["state"] = labels["state"]
            case "group_info":
                self.labels |= {key: labels[key] for key in labels if key != "consumergroup"}
            case "completed_total":
                self.values[name] = self.values.get(name, 0) + value
            case "owner_partitions":
                self.owned[labels["client_id"]] = int(value)
            case "assignment_skew_ratio":
                if labels.get("weight", "partitions") == "partitions":
                    self.values[name] = value
            case _:
                self.values[name] = value

    def whole(self, name: str) -> int | None:
        value = self.values.get(name)
        return None if value is None else int(value)

    def group(self) -> GroupNow:
        return GroupNow(
            state=self.labels.get("state"),
            group_type=self.labels.get("group_type"),
            assignor=self.labels.get("assignor"),
            source=self.labels.get("source"),
            generation=self.whole("generation"),
            members=self.whole("members"),
            idle_members=self.whole("idle_members"),
            skew=self.values.get("assignment_skew_ratio"),
            rebalancing_seconds=self.values.get("in_progress_seconds", 0.0),
            completed=int(self.values.get("completed_total", 0)),
            moved=int(self.values.get("partitions_moved_total", 0)),
            owned=self.owned,
        )


def read_groups(text: str) -> dict[str, GroupNow]:
    """Return the groups by name from the text of a scrape.

    Raises:
        ValueError: the text is not in Prometheus' exposition format.
    """
    readings: dict[str, _Reading] = {}
    for sample in parsed_samples(text):
        if sample.name.startswith(_PREFIX) and (group := sample.labels.get("consumergroup")):
            name = sample.name.removeprefix(_PREFIX)
            readings.setdefault(group, _Reading()).add(name, sample.labels, sample.value)
    return {group: reading.group() for group, reading in readings.items()}
