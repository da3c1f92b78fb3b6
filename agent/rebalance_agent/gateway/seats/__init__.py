"""Decides which consumers take over the seats of others; the package ``seating`` carries out the decisions.

A *seat* is a static membership (KIP-345) that the gateway gives to a consumer without its own instance id, by adding
an instance id to the JoinGroup. When the consumer restarts, its successor's JoinGroup is sent with the same id. In a
stable group the successor gets its predecessor's assignment at once, and the group does not rebalance.

Everything here is pure: it uses no sockets, threads, clock (times are arguments) or messages of ``kafka``. `GroupSeats`
processes the events of one group and returns acts as values; the package ``seating`` carries them out.

The inputs, and the decision for each input:

| input | decision |
| --- | --- |
| JoinGroup with a member id or its own instance id, below v5, from Streams, unreadable, ... | forward unchanged |
| JoinGroup of a newcomer: a seat of an equal consumer is free | claim its lock; join with its instance id |
| ... the last consumer of the free seat differs | give up that seat; join with a new seat |
| ... no seat is free | hold until a seat is free; join with a new seat after the hold and the next admission time |
| ... that client does not wait until the next admission time | join after the hold |
| ... the group is empty or rebalancing, or the consumer only lost its membership | join with a new seat at once |
| ... the lock request has no answer, the lock is unconfirmed, or the client waits no longer | forward unchanged |
| ... a client with the same id recently closed its connection while it was held | forward unchanged |
| response to a JoinGroup with our instance id: an error | send the client's own JoinGroup instead |
| ... the coordinator moved or is loading (14, 15, 16) | return it: the client's own JoinGroup would get the same |
| response with FENCED_INSTANCE_ID to a seated client's own frame | return UNKNOWN_MEMBER_ID to the client |
| LeaveGroup; an equal newcomer waits, or a restart costs less than two rebalances | answer it; keep the seat |
| ... the group was not described recently | describe it first: its protocol may have changed |
| ... sent in a rebalance, or because of the poll limit or unsubscribe() | forward unchanged |
| ... otherwise | describe the group; keep the seat if a newcomer waits at another gateway, else forward unchanged |
| REBALANCE_IN_PROGRESS in any response | give up all vacant seats; let held newcomers join this rebalance |
| no member took a vacant seat in time, or the seat's consumer is still alive | give up the seat |
| heartbeat for a vacant member: UNKNOWN_MEMBER_ID | a successor has the seat: drop it |
| a process closed all its connections | a second later a newcomer may take its seats |
| ... and no newcomer took them within the crash window | give up the seats |
| ... and opens a connection again | nothing: the process was alive |
| ... and its client joins as a newcomer | this is the successor: it may take the seats at once |
| a newcomer's client has disconnected when it gets a seat | the next newcomer takes the seat; otherwise give it up |
| a request that the coordinator did not accept | ignore it: any client may name any member |
| the lock of a seat is lost | the seat's member continues; no newcomer joins with the seat |
| topics changed, and the leader returned with a JoinGroup below v9 | return REBALANCE_IN_PROGRESS to it once |
| restart of the gateway | vacant seats are kept for their remaining time; other seats are left unchanged |
| ... and a member's request, or a heartbeat for a vacant seat, is accepted | the seat is known again |
| ... and no request is accepted until the session ends | drop the seat |
| seats are switched off | forward held JoinGroups, and give up vacant seats; members continue |

In KIP-848 groups, a member's first heartbeat counts as its JoinGroup, and a heartbeat with epoch -1 as its LeaveGroup:
*answer it* means that the coordinator gets epoch -2 instead. A vacant seat needs no heartbeats in such a group, and is
kept when the group rebalances. A successor joins once its predecessor has left with epoch -2. For a killed member, the
gateway sends this epoch.

A returning member joins only in a stable or preparing group: in a completing group it would cause one more rebalance.
A kept seat's lock is released, so that a newcomer of any gateway may take the seat (`locks`).

*Give up* is a LeaveGroup with member id and instance id. The coordinator refuses it once a successor has the seat, so
it can be sent at any time. The lock only prevents two newcomers from taking the same seat one after the other. It does
not protect commits: the coordinator does this, by refusing the id of the seat's former member.

- ``group_seats``: the state machine for one group's seats; ``gateway_seats``: the seats of all groups of a gateway.
- ``locks``: the locks for seats that pass between gateways, in a helper group; ``SeatLocks`` decides about locks.
- ``rules``: which consumers may have a seat or take one over, waiting times, errors that clients get, limits.
- ``held_joins``: the newcomers that wait; ``impatient_clients``: the clients that do not wait; ``free_seats``: the free
  seats that newcomers may take; ``seated_joins``: the JoinGroups that were sent with an instance id.
- ``member_leaves``: decides about the LeaveGroups of members with a seat; ``seat_keeper``: keeps vacant seats by
  heartbeats, and gives them up.
- ``outcomes``: checks whether acts had the intended effect, and counts what the acts avoided.
- ``predicted_seats``: mode ``observe``, in which acts are counted but not carried out.
- ``seat``: a seat's state; ``saved_seats``: the seats that survive a restart; ``seat_list``: saved seats as JSON.
- ``group_facts``: the group's phase, the locks, and other gateways' seats; ``seat_acts``: the acts as values.
"""

from __future__ import annotations

from rebalance_agent.gateway.seats.gateway_seats import GatewaySeats
from rebalance_agent.gateway.seats.group_seats import GroupSeats
from rebalance_agent.gateway.seats.rules.seat_settings import SeatMode, SeatSettings

__all__ = ["GatewaySeats", "GroupSeats", "SeatMode", "SeatSettings"]
