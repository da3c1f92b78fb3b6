"""The locks of seats: a compare-and-set with expiry between the gateways of one group, in a helper group of KIP-848.

The helper group of the group orders is named rebalance-agent.seats.orders, a dot, and a few letters. The letters are
chosen so that both groups have the same coordinator. So the helper group can be reached on clients' connections to that
coordinator, with the clients' permissions (Read on the helper group). A lock is a static
member of the helper group, without a subscription, with the seat's instance id: the coordinator lets only
one member at a time have it. This needs ``group.version`` >= 1.

| heartbeat of the helper group | answer | meaning |
| --- | --- | --- |
| epoch 0, new member id, instance id | NONE | the lock is granted, until the member's session ends (45 s) |
| ... | UNRELEASED_INSTANCE_ID | a member has it: another's, or this gateway's from an unanswered claim |
| the member's epoch | NONE | the lock is confirmed: the session restarts |
| ... | UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, GROUP_ID_NOT_FOUND | another member has it, or the session ended |
| ... | FENCED_MEMBER_EPOCH | the epoch is not the coordinator's: the lock ends with the session |
| epoch -2, member id and instance id | NONE | free for the next claim at once; still described, with epoch -2 |
| ... by a member that no longer has it | FENCED_INSTANCE_ID, UNKNOWN_MEMBER_ID | no effect on the holder |

So the release after a claim that was granted but not answered gets NONE, which shows that the lock was ours.

Epoch -1 would also free a lock, but the member would no longer be described, and the group would get a new epoch.

A lock has a *note* for other gateways, its member's rack id: rack ids mean nothing to a member without a subscription.

| what a gateway does | locks |
| --- | --- |
| it keeps a vacant seat | it *offers* it: claims the lock with a note of the seat's last member, and releases it |
| it has waiting newcomers | it has a lock of its own, whose note contains their number by kind |
| its newcomer takes an offered seat | it claims the lock, asks whether the seat is still free, joins, and releases it |

Only an offered seat may be taken by another gateway, and only while the member that the note names is in the group.
An expired lock offers nothing: its gateway may be gone, and the member alive. No lock is needed for a seat that was
never offered, so a gateway whose locks fail behaves like one without locks.

Guaranteed: at most one gateway counts a lock as its own, since it does so for `SeatSettings.lock_fresh_seconds` (10 s)
after it *sent* a confirmed heartbeat, and the coordinator for 45 s after this heartbeat arrived.

Not guaranteed: that a JoinGroup sent under a lock arrives while the lock lasts (the gateway may be suspended, the
network slow). Nothing is guaranteed if the helper group's session timeout is set below 10 s, if clock rates differ by
this much, or if another client with Read on the helper group removes the member. A lock only saves attempts; safety
comes from the coordinator's check of member ids.

Like all of `gateway.seats`, this is pure: requests are values to be sent, answers are values that are passed back.

- ``seat_locks``: the claims, offers and waiting newcomers of one group; ``lock_notes``: the text of notes.
- ``group_locks``: the state machine of one group's locks; ``lock_acts``: requests, answers, changes.
- ``lock_errors``: the meaning of errors.
- ``leases``: locks as ``Lease`` objects of Kubernetes instead, with the same answers.
- ``lock_frames``: the bytes of requests and answers, and the locks of all gateways from a description.
"""

from __future__ import annotations

from rebalance_agent.gateway.seats.locks.group_locks import GroupLocks
from rebalance_agent.gateway.seats.locks.lock_acts import LockAnswer, LockBeat, LockChange, MemberCheck
from rebalance_agent.gateway.seats.locks.seat_locks import SeatLocks

__all__ = ["GroupLocks", "LockAnswer", "LockBeat", "LockChange", "MemberCheck", "SeatLocks"]
