"""The locks of seats: a compare-and-set with expiry between the gateways of one group, in a KIP-848 helper group.

The helper group of the group orders is named rebalance-agent.seats.orders, a dot, and a few letters. The letters are
chosen so that both groups have the same coordinator. The gateway can therefore reach the helper group on clients'
connections to that coordinator, with the clients' permissions (Read on the helper group). A lock is a static member of
the helper group, without a subscription, with the seat's instance id: the coordinator lets only one member at a time
have this id. This needs ``group.version`` >= 1.

| heartbeat of the helper group | answer | meaning |
| --- | --- | --- |
| epoch 0, new member id, instance id | NONE | the lock is granted, until the member's session ends (45 s) |
| ... | UNRELEASED_INSTANCE_ID | another gateway has the lock, or this gateway has it from an unanswered claim |
| the member's epoch | NONE | the lock is confirmed: the session restarts |
| ... | UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, GROUP_ID_NOT_FOUND | another member has it, or its session ended |
| ... | FENCED_MEMBER_EPOCH | the epoch is not the coordinator's: the lock ends with the session |
| epoch -2, member id and instance id | NONE | the next claim gets the lock; it is still described, with epoch -2 |
| ... by a member without the lock | FENCED_INSTANCE_ID, UNKNOWN_MEMBER_ID | no effect on the lock's holder |

If a claim was granted but its answer was lost, the release gets NONE, which shows that this gateway had the lock.

Epoch -1 would also free a lock, but the member would no longer be described, and the group would get a new epoch.

A lock has a *note* for other gateways: its member's rack id, which has no other use for a member without a
subscription.

| what a gateway does | locks |
| --- | --- |
| it keeps a vacant seat | it *offers* the seat: claims the lock with a note of the last member, and releases the lock |
| it has waiting newcomers | it has a lock of its own, whose note contains their number by kind |
| its newcomer takes an offered seat | it claims the lock, checks that the seat is free, joins, and releases the lock |

Only an offered seat may be taken by another gateway, and only while the member that the note names is in the group. An
expired lock offers no seat: its gateway may be gone, and the member may be alive. No lock is needed for a seat that was
never offered, so a gateway whose locks fail behaves like one without locks.

It is guaranteed that at most one gateway counts a lock as its own. A gateway does so for
`SeatSettings.lock_fresh_seconds` (10 s) after it *sent* a confirmed heartbeat, but the coordinator for 45 s after this
heartbeat arrived.

It is not guaranteed that a JoinGroup sent with a lock arrives before the lock ends (the gateway may be suspended, or
the network slow). There is no guarantee if the helper group's session timeout is below 10 s, if clock rates differ by
this much, or if another client with Read permission on the helper group removes the member. A lock only
saves attempts; safety comes from the coordinator's check of member ids.

Like all of `gateway.seats`, this is pure: requests are values to be sent, answers are values that are passed back.

- ``seat_locks``: decides about claims, offers and notes for one group's seats; ``lock_notes``: the text of notes.
- ``group_locks``: the state machine for one group's locks; ``lock_acts``: requests, answers and changes as values.
- ``lock_errors``: maps error codes to the loss of a lock.
- ``leases``: the alternative with Kubernetes' ``Lease`` objects as locks, with the same answers.
- ``lock_frames``: encodes requests, and decodes answers and descriptions of all gateways' locks.
"""

from __future__ import annotations

from rebalance_agent.gateway.seats.locks.group_locks import GroupLocks
from rebalance_agent.gateway.seats.locks.lock_acts import LockAnswer, LockBeat, LockChange, MemberCheck
from rebalance_agent.gateway.seats.locks.seat_locks import SeatLocks

__all__ = ["GroupLocks", "LockAnswer", "LockBeat", "LockChange", "MemberCheck", "SeatLocks"]
