"""Carries out what `gateway.seats` decides, on the connections of clients, in groups of consumers.

A gateway has one `SeatingGroups`, and a connection one `SeatFrames`, which gets each frame after the handlers of
`gateway.groups`. For a group without a rule it does nothing, and no frame of it is changed.

The gateway has no login of its own for this: its requests for a seat use clients' connections, and so with their
permissions. When a client ends whose seat is kept, the broker's side of its connection stays open for the heartbeats.
A held JoinGroup costs one suspended coroutine; one task (`SeatingGroups.run`) keeps the time of all.

- ``seat_frames``: the frames of one connection, of classic groups, ``frames``: also of groups of KIP-848;
  ``newcomers``: the consumer as its JoinGroup or first heartbeat describes it.
- ``seating_groups``: all groups of the gateway; ``shared_parts``: what they share;
  ``group_names``: those that have no seats any more.
- ``acting_group``: a group with mode ``on``; ``observed_group``: one with mode ``observe``; ``seated_group``: what both
  can do. ``act_carrier``: carries out the acts of one group.
- ``seat_sharing``: the seats of one group that other gateways offer, and those offered to them, by locks.
- ``connections``: clients' connections, by which coordinators are asked.
- ``leases``: Kubernetes' API server, which has the locks if the rule chooses it.
- ``switch_file``: a file that switches all groups off; ``seats_file``: one with the seats, for the next gateway.
- ``act_report``: a log line and a metric for each act; ``acts``: their events, and what they cost and spare.
"""

from __future__ import annotations

from rebalance_agent.gateway.seating.seat_frames import SeatFrames
from rebalance_agent.gateway.seating.seating_groups import SeatingGroups

__all__ = ["SeatFrames", "SeatingGroups"]
