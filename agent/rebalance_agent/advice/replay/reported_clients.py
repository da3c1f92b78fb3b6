"""Reads from members' reports which client library each member uses, and whether the member is behind a gateway."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.events import Event, MemberEvent
from rebalance_agent.model.reported.member_software import ClientSoftware

__all__ = ["ReportedClient", "reported_clients"]


@dataclass(frozen=True, slots=True)
class ReportedClient:
    """The client of one member, according to the member's reports.

    ``software``: the library of the newest report that names one. ``instrumented``: the client reports its own
    callbacks. ``behind_gateway``: a gateway derived reports from the member's frames.
    """

    software: ClientSoftware | None = None
    instrumented: bool = False
    behind_gateway: bool = False

    def after(self, report: MemberEvent) -> ReportedClient:
        """Return what is known after one more report of the member."""
        by_gateway = report.evidence is Evidence.GATEWAY
        return ReportedClient(
            report.software or self.software, self.instrumented or not by_gateway, self.behind_gateway or by_gateway
        )


def reported_clients(events: Iterable[Event]) -> Mapping[str, ReportedClient]:
    """Return member id -> client, from one group's member events, oldest first; other events are ignored."""
    clients: dict[str, ReportedClient] = {}
    for event in events:
        if isinstance(event, MemberEvent) and event.member_id:
            clients[event.member_id] = clients.get(event.member_id, ReportedClient()).after(event)
    return clients
