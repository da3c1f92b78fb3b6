"""Why the stall of a rebalance has two bounds although members may report. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.events import Callback, MemberSnapshot
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.ui.sentences.explained.observed_rebalance import ObservedRebalance

__all__ = ["bound_reason"]

_STOPS = (Callback.REVOKED, Callback.LOST, Callback.LEFT)


def bound_reason(rebalance: ObservedRebalance) -> str:
    """Return why the stall of this rebalance is not exact, as the end of a sentence: ``not all members report``.

    The most frequent reason comes first. A member that kept its partitions without a stop need not report.
    """
    reporting = {report.member_id for report in rebalance.reports}
    measuring = {report.member_id for report in rebalance.reports if report.evidence is not Evidence.GATEWAY}
    concerned = {member.member_id for member in _concerned(rebalance)}
    if not concerned <= reporting:
        return "not all members report"
    if not concerned <= measuring:
        return "gateways measure bounds"
    first, before = rebalance.generations[0], rebalance.before
    was_empty = first.previous_generation is None if before is None else not before.members
    if was_empty and first.phases.started_evidence is not Evidence.RECORD:
        return "nothing shows exactly when the first member joined"
    silent = [member for member in rebalance.gone if not rebalance.reports_of(member.member_id, _STOPS)]
    if silent:
        name = rebalance.name(silent[0]) if len(silent) == 1 else f"{len(silent)} departed members"
        return f"no report shows when {name} stopped"
    return "the reports do not show all times"


def _concerned(rebalance: ObservedRebalance) -> Iterator[MemberSnapshot]:
    """Yield the members of the last generation whose partitions stopped or are new."""
    closing, before = rebalance.closing, rebalance.before
    had = {member.member_id: member.assigned for member in before.members} if before else {}
    for member in closing.members:
        owned = had.get(member.member_id, {})
        kept = owned == member.assigned and closing.protocol is RebalanceProtocol.COOPERATIVE
        if (owned or member.assigned) and not kept:
            yield member
