"""Parts of the API's answers about a rebalance: its generations, its slowest member, and its summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from rebalance_agent.model.episode import Stall, Trigger

__all__ = ["GenerationStep", "LastRebalance", "SlowestMember"]


@dataclass(frozen=True, slots=True)
class LastRebalance:
    """A summary of a group's last settled rebalance."""

    timestamp_ms: Annotated[int, "when the rebalance ended"]
    trigger: Annotated[Trigger, "the most serious cause"]
    stall: Annotated[Stall | None, "the stall of the rebalance"]
    moved: Annotated[int | None, "partitions that changed owner, if the previous generation is known"]


@dataclass(frozen=True, slots=True)
class SlowestMember:
    """The member that the other members waited for."""

    client_id: Annotated[str, "the member's client id (`client.id`)"]
    host: Annotated[str, "the member's address"]
    member_id: Annotated[str | None, "the member id that the coordinator assigned"]
    seconds: Annotated[float | None, "longest possible wait"]
    lower_seconds: Annotated[float | None, "shortest possible wait"]


@dataclass(frozen=True, slots=True)
class GenerationStep:
    """One generation of a rebalance."""

    event_id: Annotated[str, "id of the generation's event"]
    generation: Annotated[int, "the generation's number"]
    timestamp_ms: Annotated[int, "when the generation completed"]
    trigger: Annotated[Trigger, "the most serious cause"]
    moved: Annotated[int | None, "partitions that changed owner, if the previous generation is known"]
    join_seconds: Annotated[float | None, "length of the join phase"]
    sync_seconds: Annotated[float | None, "length of the sync phase"]
    assignor_wait_seconds: Annotated[float | None, "time for which the assignment was older than the group's epoch"]
    reconcile_seconds: Annotated[float | None, "time from the assignment until all members reached it"]
