"""Computes which rebalances of a group's recorded past joint admission would certainly have merged. Pure.

Rebalances count as merged if they consist only of newcomers that would have joined at the same multiple of the
admission period, without another rebalance in between, which the newcomers would have joined.
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
    """``merged``: rebalances that would not have happened; ``waited_seconds``: the sum over all newcomers, at most.

    ``stalled_partition_seconds``: a lower bound for the merged rebalances. Where several rebalances become
    one, the longest of their stalls does not count.
    """

    merged: int = 0
    waited_seconds: float = 0.0
    stalled_partition_seconds: float = 0.0


def past_admissions(
    changes: Sequence[RecordedChange], spared: Collection[int], rule: SeatRule, admission_seconds: float
) -> PastAdmissions:
    """Return what joint admission would have merged, without the rebalances that handovers ``spared`` (indexes).

    In groups of KIP-848 the result is empty: there a newcomer adds a group epoch even if it joins with others.
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
    """When the newcomers of a rebalance would have joined; `Admission.multiple` is 0 if not together with others."""
    newcomers_only = change.deploys and change.joined and not change.gone
    dynamic = all(member.instance_id is None for member in change.joined)
    classic = change.rebalance.closing.group_type is GroupType.CLASSIC
    if not (newcomers_only and dynamic and classic) or change.started_ms is None:
        return Admission(0.0)
    patience = min((member.rebalance_timeout_ms or 0) / 1_000 * WAITING_SHARE for member in change.joined)
    return join_wait(settings, patience, 0.0, change.started_ms / 1_000).admission
