"""Decides whether the seat of a consumer that leaves is kept for a successor."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.gateway.seats.rules.act_reasons import GiveUpReason

__all__ = ["LeaveForecast", "leave_refusal"]

NOT_ENDING_REASONS = ("poll timeout", "unsubscribe")
"""Texts in the reasons (KIP-800) that consumers give if they leave the group while their process continues."""

REBALANCES_SPARED = 2
"""The number of rebalances of a restart without seats: one when the consumer leaves, one when it joins."""


@dataclass(frozen=True, slots=True)
class LeaveForecast:
    """The expected cost of a restart of this consumer, in partition-seconds of stall.

    ``kept``: the cost if its seat is kept until the restart is complete; ``rebalance``: the cost of one rebalance of
    the group. If either is None (unknown), the seat is kept only for a newcomer that already waits.
    """

    kept: float | None = None
    rebalance: float | None = None

    @property
    def worth_keeping(self) -> bool:
        """Whether keeping the seat is expected to cost less than the rebalances that it avoids."""
        return self.kept is not None and self.rebalance is not None and self.kept < REBALANCES_SPARED * self.rebalance


def leave_refusal(reason: str | None, forecast: LeaveForecast, *, stable: bool, successor: bool) -> GiveUpReason | None:
    """Return the reason why the LeaveGroup must be forwarded; None if the seat is kept.

    ``reason``: the client's reason (KIP-800); ``stable``: the member has its seat in a stable group; ``successor``: an
    equal newcomer waits.
    """
    if not stable:
        return GiveUpReason.REBALANCE
    if any(part in (reason or "") for part in NOT_ENDING_REASONS):
        return GiveUpReason.NOT_ENDING
    return None if successor or forecast.worth_keeping else GiveUpReason.NO_SUCCESSOR
