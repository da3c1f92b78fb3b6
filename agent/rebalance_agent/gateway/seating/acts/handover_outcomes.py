"""Reports whether the handovers of one group kept their promise, and stops the group after too many that did not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rebalance_agent.gateway.seating.act_report import ActReport
from rebalance_agent.gateway.seating.acts.vacancies import Vacancies
from rebalance_agent.gateway.seats.outcomes.handover_checks import ActCheck, HandoverChecks
from rebalance_agent.model.reported.seat_event import Act, ActOutcome

__all__ = ["HandoverOutcomes"]


class HandoverOutcomes:
    """The outcomes of a group's handovers; ``wrong``: too many were wrong, and ``stop`` has been called."""

    def __init__(
        self, group: str, checks: HandoverChecks, vacancies: Vacancies, report: ActReport, stop: Callable[[], None]
    ) -> None:
        """Start without handovers; ``checks`` are those of the group."""
        self._group, self._checks, self._vacancies = group, checks, vacancies
        self._report, self._stop = report, stop
        self.wrong = False

    def take(self, member_id: str, checks: list[ActCheck]) -> None:
        """Report the results of ``checks`` of handovers to ``member_id``."""
        for check in checks:
            facts: dict[str, Any] = {"member_id": member_id}
            if check is ActCheck.RIGHT:
                facts["rebalances_spared"] = 1
                self._report.counts.spared(1, predicted=False)
            elif check is ActCheck.WRONG:
                self._vacancies.handover_wrong(member_id)
            self._report.report(Act.HANDOVER, ActOutcome(check), self._group, **facts)
        if not (self._checks.trusted or self.wrong):
            self.wrong = True
            self._report.wrong(self._group)
            self._stop()
