"""The parts of the API's answers that describe single members; see ``shapes``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from rebalance_agent.model.group import StreamsMember
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.reported.member_software import ClientSoftware
from rebalance_agent.model.reported.seat_event import SeatOccupant
from rebalance_agent.model.reported.workload import Workload

__all__ = ["GroupMember", "SlowestMember"]


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One member and its partitions."""

    member_id: Annotated[str, "the member id that the coordinator assigned"]
    instance_id: Annotated[str | None, "`group.instance.id` of a static member"]
    client_id: Annotated[str, "the client's own name"]
    host: Annotated[str, "its address"]
    assigned: Annotated[TopicPartitions | None, "the member's partitions by topic, as ranges such as `0-4,7`"]
    partitions: Annotated[int | None, "number of these partitions"]
    target: Annotated[float | None, "number of partitions that the strategy promises the member"]
    where: Annotated[Workload | None, "pod, node, workload and image, if the member reports them"]
    occupant: Annotated[
        SeatOccupant | None,
        "the consumer that now has the member's seat, if a gateway handed it over; `client_id` and `host` remain "
        "those of the seat's first consumer, as the coordinator has them",
    ]
    software: Annotated[ClientSoftware | None, "name and version of the client library, if a gateway reports it"]
    streams: Annotated[StreamsMember | None, "process and tasks, in streams groups (KIP-1071)"]


@dataclass(frozen=True, slots=True)
class SlowestMember:
    """The member that the other members waited for."""

    client_id: Annotated[str, "its own name"]
    host: Annotated[str, "its address"]
    member_id: Annotated[str | None, "the member id that the coordinator assigned"]
    seconds: Annotated[float | None, "longest possible wait"]
    lower_seconds: Annotated[float | None, "shortest possible wait"]
