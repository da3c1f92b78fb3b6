"""A group's totals as the API returns them; see ``shapes``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

__all__ = ["GroupCounters"]


@dataclass(frozen=True, slots=True)
class GroupCounters:
    """Totals since this process detected the group."""

    completed: Annotated[Mapping[str, int], "rebalances by trigger"]
    followups: Annotated[int, "follow-up generations of cooperative rebalances"]
    aborted: Annotated[int, "generations that began but never completed"]
    assign_errors: Annotated[int | None, "failed `assign()` calls, if members report"]
    noop: Annotated[int, "rebalances that did not change the assignment"]
    revoked: Annotated[int, "revoked partitions"]
    assigned: Annotated[int, "assigned partitions"]
    lost: Annotated[int, "partitions of members that certainly failed"]
    moved: Annotated[int, "partitions that changed owner"]
    moved_excess: Annotated[int, "moves that the balance did not require, included in `moved`"]
    polled_changes: Annotated[int, "changes between two polls, if the observer only polls the group"]
    stalled_partition_seconds: Annotated[float, "stalled partition-seconds, up to `counted_until_ms`"]
    partition_seconds: Annotated[float, "all partition-seconds, up to `counted_until_ms`"]
    doubly_owned_partition_seconds: Annotated[
        float | None, "partition-seconds for which removed members kept partitions of new owners, if members report"
    ]
