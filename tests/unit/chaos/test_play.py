"""How long the end of a run waits for the ledger."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from chaos import play as whole
from chaos.verdict import oracle
from rebalance_agent.audit.audit_report import AuditReport, Difference

CLEAN, PENDING = AuditReport(), AuditReport(pending=1)
WRONG = AuditReport()
WRONG.differ(Difference("g", 1, "has no event"))


class RunContext:
    """Time passes only during a wait."""

    def __init__(self):
        self.now, self.clock = 0.0, self
        self.kafka = SimpleNamespace(bootstrap_servers="")

    def monotonic(self):
        return self.now

    def wait(self, seconds):
        self.now += seconds


@pytest.fixture
def settled(monkeypatch):
    """The last report and when it was there (s), of reports by the time from which on (s) they are what is found."""

    def run(reports):
        context = RunContext()
        monkeypatch.setattr(
            oracle, "balance", lambda *_: reports[max(since for since in reports if since <= context.now)]
        )
        return whole._settled(context, 0, {"g"}), context.now

    return run


def test_the_end_comes_as_soon_as_nothing_is_wrong_or_pending(settled):
    assert settled({0: CLEAN}) == (CLEAN, 0)
    report, at_s = settled({0: WRONG, 10: PENDING, 20: CLEAN})
    assert report is CLEAN
    assert 20 <= at_s <= 20 + whole.LOOKS_S


@pytest.mark.parametrize(("left", "patience_s"), [(WRONG, whole.BALANCED_S), (PENDING, oracle.SETTLED_S)])
def test_what_stays_wrong_or_pending_is_left(settled, left, patience_s):
    report, at_s = settled({0: left})
    assert report is left
    assert patience_s < at_s <= patience_s + whole.LOOKS_S
