"""Computes which of a group's recorded rebalances joint admission would certainly have merged. Pure.

Rebalances count as merged if only newcomers caused them, and these would have joined at the same multiple of the
admission period. There must be no other rebalance in between, since the newcomers would have joined it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from rebalance_agent.gateway.past.past_changes import RecordedChange
from rebalance_agent.gateway.seat_rules import SeatRule
from rebalance_agent.gateway.seats.rules.seat_settings import SeatSettings
from rebalance_agent.gateway.seats.rules.wait_times import WAITING_SHARE, Admission, join_wait
from rebalance_agent.model.group import GroupType

__all__ = ["PastAdmissions", "past_admissions"]


@dataclass(frozen=True, slots=True)
class PastAdmissions:
    """What joint admission would have saved and cost. ``merged``: the number of rebalances that it would have avoided.

    ``waited_seconds``: an upper bound on the newcomers' total wait. ``stalled_partition_seconds``: a lower bound on the
    stall of the merged rebalances. If several rebalances become one, their longest stall does not count.
    """

    merged: int = 0
    waited_seconds: float = 0.0
    stalled_partition_seconds: float = 0.0


def past_admissions(
    changes: Sequence[RecordedChange], spared: Collection[int], rule: SeatRule, admission_seconds: float
) -> PastAdmissions:
    """Return what joint admission would have merged; ``spared``: indexes of the rebalances that handovers avoided.

    For KIP-848 groups the result is empty: each newcomer adds a group epoch there, even if it joins with others.
    """
    settings = replace(rule.settings, admission_seconds=admission_seconds)
    left = [(change, _admission(change, settings)) for index, change in enumerate(changes) if index not in spared]
    merged, waited_seconds, stalled_seconds = 0, 0.0, 0.0
    for multiple, group in groupby(left, key=lambda one: one[1].multiple):
        if not multiple:
            continue
        batch = list(group)
        found = [change.rebalance.closing.stall for change, _ in batch]
        stalls = [0.0 if stall is None else stall.partition_seconds for stall in found]
        merged += len(batch) - 1
        stalled_seconds += sum(stalls) - max(stalls)
        waited_seconds += sum((one.at - one.alone_at) * len(change.joined) for change, one in batch)
    return PastAdmissions(merged, waited_seconds, stalled_seconds)


def _admission(change: RecordedChange, settings: SeatSettings) -> Admission:
    """Return when a rebalance's newcomers would have joined; `Admission.multiple` is 0 unless they join with others."""
    newcomers_only = change.deploys and change.joined and not change.gone
    dynamic = all(member.instance_id is None for member in change.joined)
    classic = change.rebalance.closing.group_type is GroupType.CLASSIC
    if not (newcomers_only and dynamic and classic) or change.started_ms is None:
        return Admission(0.0)
    patience = min((member.rebalance_timeout_ms or 0) / 1_000 * WAITING_SHARE for member in change.joined)
    return join_wait(settings, patience, 0.0, change.started_ms / 1_000).admission
