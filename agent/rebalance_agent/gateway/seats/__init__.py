"""Decides which consumers take over the seats of others; the decisions are carried out elsewhere.

A *seat* is a static membership (KIP-345) that the gateway gives to a consumer without its own instance id, by adding
an instance id to the JoinGroup. When the consumer restarts, its successor's JoinGroup is sent with the same id. In a
stable group the successor gets its predecessor's assignment at once, and the group does not rebalance.

Everything here is pure: it uses no sockets, threads, clock (times are arguments) or messages of ``kafka``. `GroupSeats`
processes the events of one group and returns acts as values; the package ``seating`` carries them out.

The inputs, and the decision about each:

| input | decision |
| --- | --- |
| JoinGroup with a member id or its own instance id, below v5, of Streams, unreadable, ... | forward unchanged |
| JoinGroup of a newcomer: a seat of an equal consumer is free | claim its lock; join with its instance id |
| ... the last consumer of the free seat differs | give that seat up; join with a new one |
| ... no seat is free | hold: until one is, or the hold and the next admission time are over; then join with a new one |
| ... that client does not wait until the next admission time | join after the hold |
| ... the group is empty or rebalancing, or the consumer only lost its membership | join with a new seat at once |
| ... the lock does not answer, was not confirmed recently, or the client waits no longer | forward unchanged |
| ... a client with its id recently closed its connection while held | forward unchanged |
| response to a JoinGroup with our instance id: an error | send the client's own JoinGroup instead |
| ... the coordinator moved or is loading (14, 15, 16) | return it: the client's own would have got the same |
| response with FENCED_INSTANCE_ID to a seated client's own frame | return UNKNOWN_MEMBER_ID to the client |
| LeaveGroup, an equal newcomer waits, or a restart costs less than two rebalances | answer it; keep the seat |
| ... the group was not described recently | describe it first: its protocol may have changed |
| ... in a rebalance, or because of the poll limit or unsubscribe() | forward unchanged |
| ... otherwise | describe the group; keep the seat if a newcomer waits at another gateway, else forward unchanged |
| REBALANCE_IN_PROGRESS in any response | give up all vacant seats; let held newcomers join this rebalance |
| no member took the vacant seat in time, or its consumer is still alive | give it up |
| heartbeat for a vacant member: UNKNOWN_MEMBER_ID | a successor has the seat: forget it |
| a process closed all its connections | a second later a newcomer may take its seats |
| ... and none did within the crash window | give them up |
| ... and opens one again | it was alive: nothing |
| ... and joins as a newcomer | it is the successor: it may take the seats at once |
| a newcomer's client has disconnected when it gets a seat | the next newcomer takes it, or give it up |
| a request that the coordinator did not accept | ignore it: any client may name any member |
| the lock is lost | its member continues; no newcomer joins with it |
| topics changed, and the leader returned with a JoinGroup below v9 | return REBALANCE_IN_PROGRESS to it once |
| restart of the gateway | vacant seats are kept for their remaining time; others are not touched |
| ... and a request of a member is accepted, or a heartbeat for a vacant one | its seat is known again |
| ... and none is accepted until the session ends | forget the seat |
| seats are switched off | held JoinGroups are forwarded, vacant seats given up; members continue |

In groups of KIP-848 a member's first heartbeat stands for its JoinGroup, and a heartbeat with epoch -1 for its
LeaveGroup: *answer it* means that the coordinator gets epoch -2 instead. There a vacant seat needs no heartbeats, and
stays when the group rebalances. A successor joins once its predecessor has left with epoch -2, which the gateway sends
for a killed member.

A returning member joins only in a stable or preparing group: in a completing group it would cause one more rebalance.
A kept seat's lock is released, so that a newcomer of any gateway may take the seat (`locks`).

*Give up* is a LeaveGroup with member id and instance id: the coordinator refuses it once a successor has the seat, so
it can be sent at any time. The lock only prevents two newcomers from taking one seat in turn. It does not protect
commits; the coordinator does, by refusing the id of the seat's former member.

- ``group_seats``: the state machine of one group's seats; ``gateway_seats``: the seats of all groups of a gateway.
- ``locks``: the locks of seats between gateways, in a helper group; ``SeatLocks`` carries out the acts about locks.
- ``rules``: which consumers may have a seat or take one over, waiting times, errors that clients get, limits.
- ``held_joins``: newcomers that wait; ``impatient_clients``: clients that do not wait; ``free_seats``: the seats for
  newcomers; ``seated_joins``: JoinGroups that were sent with an instance id.
- ``member_leaves``: the LeaveGroups of seated members; ``seat_keeper``: vacant seats, kept by heartbeats, and given up.
- ``outcomes``: checks whether acts had the intended effect, and counts what they spared.
- ``predicted_seats``: mode ``observe``, in which acts are counted and not carried out.
- ``seat``: a seat's state; ``saved_seats``: the seats kept over a restart; ``seat_list``: all seats as JSON.
- ``group_facts``: phase, locks, other gateways' seats; ``seat_acts``: the acts.
"""

from __future__ import annotations

from rebalance_agent.gateway.seats.gateway_seats import GatewaySeats
from rebalance_agent.gateway.seats.group_seats import GroupSeats
from rebalance_agent.gateway.seats.rules.seat_settings import SeatMode, SeatSettings

__all__ = ["GatewaySeats", "GroupSeats", "SeatMode", "SeatSettings"]
