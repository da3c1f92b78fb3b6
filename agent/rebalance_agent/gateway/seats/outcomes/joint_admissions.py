"""Checks whether jointly admitted newcomers caused only one rebalance, and counts the rebalances that this avoided.

In a classic group, one rebalance means one generation: the coordinator answers all JoinGroups of a rebalance with the
same generation. The second generation, in which members of a cooperative group revoke partitions, has no newcomers. In
a KIP-848 group each newcomer adds a group epoch, even if all join at once. Other members learn only of the last epoch,
at their next heartbeat.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from rebalance_agent.gateway.seats.outcomes.act_trust import ActCheck
from rebalance_agent.gateway.seats.rules.wait_times import EPOCH_HEARTBEAT_SECONDS, Admission
from rebalance_agent.model.group import GroupType

__all__ = ["AdmissionResult", "JointAdmissions"]

CLOSED_SECONDS = 5.0
"""Seconds after the first newcomer joined by which the JoinGroups of all other newcomers with the same multiple have
been sent: the wait for a lock takes a few seconds at most."""

REJOIN_SECONDS = 3.0
"""Shortest time (seconds) between newcomers that would have caused two rebalances: members detect the first
rebalance at a heartbeat, by default every 3 s."""


@dataclass(slots=True)
class _Newcomer:
    """A newcomer. ``alone_at``: when it would have joined without admission. ``generation``: None until the answer."""

    alone_at: float
    sent_at: float
    member_id: str = ""
    generation: int | None = None
    answered_at: float = 0.0


@dataclass(slots=True)
class _Batch:
    begun_at: float
    newcomers: dict[int, _Newcomer] = field(default_factory=dict)

    @property
    def answered(self) -> bool:
        return all(one.generation is not None for one in self.newcomers.values())


@dataclass(frozen=True, slots=True)
class AdmissionResult:
    """The result for all newcomers at one gateway that joined at the same multiple.

    ``spared``: member id -> 1 if joining with others avoided the member's own rebalance, else 0.
    """

    check: ActCheck
    spared: dict[str, int]


class JointAdmissions:
    """The newcomers of one group that joined together at one gateway, until their result is known.

    Times are in seconds of the caller's clock.
    """

    def __init__(self, group_type: GroupType) -> None:
        """Start without newcomers."""
        self._epochs = group_type is GroupType.CONSUMER
        self._batches: dict[int, _Batch] = {}

    def sent(self, join: int, admission: Admission, now: float) -> None:
        """Record that a newcomer's JoinGroup is sent at a multiple of the admission period."""
        batch = self._batches.setdefault(admission.multiple, _Batch(now))
        batch.newcomers[join] = _Newcomer(admission.alone_at, now)

    def together(self, multiple: int) -> int:
        """Return the number of newcomers at a multiple; the avoided rebalances are at most this number minus one."""
        batch = self._batches.get(multiple)
        return 0 if batch is None else len(batch.newcomers)

    def joined(self, join: int, member_id: str, generation: int, now: float) -> None:
        """Process the answer to a newcomer's JoinGroup: it is a member from this ``generation`` (or group epoch) on."""
        for batch in self._batches.values():
            if join in batch.newcomers:
                one = batch.newcomers[join]
                one.member_id, one.generation, one.answered_at = member_id, generation, now

    def withdrawn(self, join: int) -> None:
        """Drop a newcomer whose JoinGroup did not make it a member."""
        for batch in self._batches.values():
            batch.newcomers.pop(join, None)

    def known(self, now: float) -> list[AdmissionResult]:
        """Return the results that are known by ``now``; call this at `next_due`."""
        ended = [name for name, one in self._batches.items() if one.answered and now >= one.begun_at + CLOSED_SECONDS]
        batches = [self._batches.pop(name) for name in ended]
        return [self._result([*batch.newcomers.values()]) for batch in batches if batch.newcomers]

    def next_due(self) -> float | None:
        """Return when to call `known` next; None if no call is needed before another input."""
        times = [batch.begun_at + CLOSED_SECONDS for batch in self._batches.values() if batch.answered]
        return min(times, default=None)

    def _result(self, newcomers: list[_Newcomer]) -> AdmissionResult:
        newcomers.sort(key=lambda one: one.alone_at)
        spared = {one.member_id: 0 for one in newcomers}
        if len(newcomers) == 1:
            return AdmissionResult(ActCheck.UNKNOWN, spared)  # others may have joined with it behind other gateways
        last_at = max(one.answered_at for one in newcomers)
        if self._epochs:
            together = last_at - min(one.answered_at for one in newcomers) <= EPOCH_HEARTBEAT_SECONDS
            return AdmissionResult(ActCheck.RIGHT if together else ActCheck.WRONG, spared)
        if len({one.generation for one in newcomers}) > 1:
            return AdmissionResult(ActCheck.WRONG, spared)
        lasted = max(REJOIN_SECONDS, last_at - min(one.sent_at for one in newcomers))
        spared |= {later.member_id: 1 for one, later in pairwise(newcomers) if later.alone_at - one.alone_at > lasted}
        return AdmissionResult(ActCheck.RIGHT, spared)
