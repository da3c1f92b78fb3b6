"""Reports whether acts on one group's seats had the intended effect; stops the acts if too many were wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rebalance_agent.gateway.seating.act_report import ActReport
from rebalance_agent.gateway.seating.acts.vacancies import Vacancies
from rebalance_agent.gateway.seats.outcomes.act_trust import ActCheck, ActTrust
from rebalance_agent.gateway.seats.outcomes.handover_checks import HandoverChecks
from rebalance_agent.gateway.seats.outcomes.joint_admissions import JointAdmissions
from rebalance_agent.gateway.seats.rules.wait_times import Admission
from rebalance_agent.groupprotocol.wire.error_codes import NO_ERROR
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.reported.seat_event import Act, ActOutcome

__all__ = ["ActOutcomes"]


class ActOutcomes:
    """The outcomes of a group's handovers and joint admissions.

    ``wrong``: too many acts of one kind were wrong, and ``stop`` has been called. Times: seconds of the caller's clock.
    """

    def __init__(
        self, group: str, group_type: GroupType, vacancies: Vacancies, report: ActReport, stop: Callable[[], None]
    ) -> None:
        """Start without acts."""
        self._group, self._vacancies, self._report, self._stop = group, vacancies, report, stop
        self._handovers, self._admissions = HandoverChecks(), JointAdmissions(group_type)
        self._trust = ActTrust()
        self.wrong = False

    # -- handovers: see `HandoverChecks` -------------------------------------------------------------------------

    def handed_over(self, member_id: str, before: int, generation: int, now: float) -> None:
        """Process a handover in a stable group."""
        self._handed_over(member_id, self._handovers.begun(member_id, before, generation, now))

    def answered(self, member_id: str, error: int, now: float, epoch: int | None = None) -> None:
        """Process the answer to a SyncGroup or heartbeat of a member."""
        self._handed_over(member_id, self._handovers.answered(member_id, error, now, epoch))

    def rejoined(self, member_id: str) -> None:
        """Record that the coordinator accepted a JoinGroup of a member."""
        self._handed_over(member_id, self._handovers.rejoined(member_id))

    def left(self, member_id: str) -> None:
        """Record that a member leaves."""
        self._handed_over(member_id, self._handovers.left(member_id))

    # -- joint admissions: see `JointAdmissions` -----------------------------------------------------------------

    def admitted(self, join: int, admission: Admission | None, now: float) -> None:
        """Record that a newcomer's JoinGroup is sent; ``admission`` is None unless the newcomer joins with others."""
        if admission is not None:
            self._admissions.sent(join, admission, now)

    def joined(
        self, join: int, admission: Admission | None, error: int, now: float, held_seconds: float, facts: dict[str, Any]
    ) -> None:
        """Process the answer to the JoinGroup of a newcomer, and report its admission with ``facts``."""
        if admission is None:
            return
        together = self._admissions.together(admission.multiple)
        if error == NO_ERROR:
            self._admissions.joined(join, facts["member_id"], facts["generation"], now)
            self._report.counts.waited(max(0.0, admission.at - admission.alone_at), predicted=False)
        else:
            self._admissions.withdrawn(join)
        outcome = ActOutcome.DONE if error == NO_ERROR else ActOutcome.REFUSED
        facts = {**facts, "held_seconds": held_seconds, "together": together}
        self._report.report(Act.ADMIT, outcome, self._group, error=error, **facts)
        self._admitted(now)

    def withdrawn(self, join: int) -> None:
        """Record that a newcomer's client disconnected before the answer."""
        self._admissions.withdrawn(join)

    # -- time ----------------------------------------------------------------------------------------------------

    def due(self, now: float) -> None:
        """Report the outcomes that are known by ``now``, and those that will stay unknown."""
        for member_id in self._handovers.overdue(now):
            self.left(member_id)
        self._admitted(now)

    def next_due(self) -> float | None:
        """Return when to call `due` next; None if no act is to be checked."""
        times = self._handovers.next_due(), self._admissions.next_due()
        return min((time for time in times if time is not None), default=None)

    # -- inside --------------------------------------------------------------------------------------------------

    def _handed_over(self, member_id: str, checks: Iterable[ActCheck]) -> None:
        for check in checks:
            if check is ActCheck.WRONG:
                self._vacancies.handover_wrong(member_id)
            self._report_outcome(Act.HANDOVER, check, {member_id: int(check is ActCheck.RIGHT)})

    def _admitted(self, now: float) -> None:
        for result in self._admissions.known(now):
            self._report_outcome(Act.ADMIT, result.check, result.spared)

    def _report_outcome(self, act: Act, check: ActCheck, spared: dict[str, int]) -> None:
        """Report one result; ``spared``: the number of rebalances that the act avoided, by member id."""
        for member_id, rebalances in spared.items():
            facts = {"rebalances_spared": rebalances} if check is ActCheck.RIGHT else {}
            self._report.report(act, ActOutcome(check), self._group, member_id=member_id, **facts)
        if any(spared.values()):
            self._report.counts.spared(sum(spared.values()), predicted=False)
        self._trust.note(act, check)
        if not (self._trust.trusted or self.wrong):
            self.wrong = True
            self._report.wrong(self._group, act)
            self._stop()
