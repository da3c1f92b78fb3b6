"""Reads, from the text of the observer's ``/metrics``, the values of each group that the check compares. Pure."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from rebalance_agent.metrics.export.parsed_text import parsed_samples

__all__ = ["GroupGauges", "read_gauges"]


@dataclass(slots=True)
class GroupGauges:
    """One group's gauges; None if there is no sample. ``owned``: client id -> number of partitions of one member."""

    generation: int | None = None
    members: int | None = None
    owned: dict[str, int] = field(default_factory=dict)


def read_gauges(text: str) -> defaultdict[str, GroupGauges]:
    """Return the gauges of each group from the text of a scrape, and empty gauges for every other name.

    Raises:
        ValueError: the text is not in Prometheus' exposition format.
    """
    groups: defaultdict[str, GroupGauges] = defaultdict(GroupGauges)
    for sample in parsed_samples(text):
        group, value = sample.labels.get("consumergroup", ""), sample.value
        match sample.name:
            case "kafka_rebalance_generation":
                groups[group].generation = int(value)
            case "kafka_rebalance_members":
                groups[group].members = int(value)
            case "kafka_rebalance_owner_partitions":
                groups[group].owned[sample.labels["client_id"]] = int(value)
    return groups
